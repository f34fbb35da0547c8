"""What the ledger keeps of an object: enough to judge it again, and no secret."""

import copy
import json
import string
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from signalbox.audit.ledger.options import Redaction
from signalbox.audit.ledger.redaction import Redacted, redact
from signalbox.audit.ledger.secret_names import is_secret_name
from signalbox.audit.ledger.secret_text import mask_text
from signalbox.engine import mutate, validate
from signalbox.finding import Finding
from signalbox.workload.kinds.table import KINDS
from tests.manifests import gpu_job, job_set, pod_spec
from tests.test_engine_properties import WORLD, objects
from tests.world import NOW, SIGNS, mutated, request, yaml

RULES = Redaction()


def redacted(obj: dict[str, Any], rules: Redaction = RULES, old: dict[str, Any] | None = None) -> Redacted:
    before = copy.deepcopy((obj, old))
    kept = redact(obj, old, rules, SIGNS)
    assert (obj, old) == before, "the object that is judged must not be changed"
    return kept


def container(**fields: Any) -> dict[str, Any]:
    """The container of a Job after redaction."""
    job = gpu_job()
    pod_spec(job)["containers"][0].update(fields)
    kept = redacted(job)
    assert kept.object is not None
    found: dict[str, Any] = pod_spec(kept.object)["containers"][0]
    return found


def env(entries: str, **fields: Any) -> dict[str, Any]:
    """Variables after redaction, by name."""
    return {entry["name"]: entry.get("value", entry) for entry in container(env=yaml(entries), **fields)["env"]}


def test_the_value_of_a_variable_goes_unless_a_judgement_reads_it() -> None:
    kept = env(
        "[{name: CHECKPOINT_DIR, value: /ckpt}, {name: COLOUR, value: blue}, {name: NVIDIA_VISIBLE_DEVICES, value: all}]"
    )
    assert kept == {"CHECKPOINT_DIR": "/ckpt", "COLOUR": "<removed 1>", "NVIDIA_VISIBLE_DEVICES": "all"}


def test_a_variable_that_a_command_refers_to_stays_and_so_does_what_that_refers_to() -> None:
    entries = "[{name: BASE, value: s3://models}, {name: RUN, value: $(BASE)/run}, {name: OTHER, value: x}]"
    kept = env(entries, args=["train.py", "--output_dir=$(RUN)"])
    assert kept == {"BASE": "s3://models", "RUN": "$(BASE)/run", "OTHER": "<removed 1>"}


def test_a_variable_named_like_a_secret_goes_even_where_a_command_refers_to_it() -> None:
    kept = env("[{name: WANDB_API_KEY, value: abc}]", command=["sh", "-c", "echo $WANDB_API_KEY; python train.py"])
    assert kept == {"WANDB_API_KEY": "<removed 1>"}


def test_a_variable_handed_to_an_option_for_secrets_goes_whatever_it_is_called() -> None:
    for words in (["--token=$(MINE)"], ["--token", "$(MINE)"], ["sh", "-c", "x --token $MINE"]):
        assert "hunter2" not in json.dumps(container(env=yaml("[{name: MINE, value: hunter2}]"), args=words))


def test_where_a_value_comes_from_stays() -> None:
    entry = {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
    assert container(env=[entry])["env"] == [entry]


def test_variables_can_be_kept_by_name_but_not_what_looks_like_a_secret_in_them() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["env"] = yaml(
        "[{name: TEAM_MODE, value: fast}, {name: TEAM_URL, value: 'https://u:pw@h/x'}]"
    )
    kept = redacted(job, Redaction(keep_env=("TEAM_*",))).object
    assert kept is not None
    assert [entry["value"] for entry in pod_spec(kept)["containers"][0]["env"]] == ["fast", "https://u:<removed 1>@h/x"]


def test_managed_fields_and_annotations_with_whole_manifests_go() -> None:
    job = gpu_job()
    job["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    job["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"kind": "Job"}',
        "example.com/applied": '{"apiVersion": "v1", "kind": "Job", "spec": {}}',
        "example.com/yaml": "apiVersion: v1\nkind: Job\n",
        "example.com/long": "x" * 5000,
        "scheduling.k8s.io/group-name": "pretrain",
        "workload.ai/checkpoint-uri": "s3://bucket/run",
    }
    kept = redacted(job).object
    assert kept is not None
    assert "managedFields" not in kept["metadata"]
    assert kept["metadata"]["annotations"] == {
        "kubectl.kubernetes.io/last-applied-configuration": "<removed 1>",
        "example.com/applied": "<removed 2>",
        "example.com/yaml": "<removed 3>",
        "example.com/long": "<removed 4>",
        "scheduling.k8s.io/group-name": "pretrain",
        "workload.ai/checkpoint-uri": "s3://bucket/run",
    }


def test_the_note_of_what_was_injected_stays_true_without_the_values_of_variables() -> None:
    job = mutated(WORLD, request(gpu_job()))
    kept = redact(job, None, RULES, WORLD.signs, WORLD.injected_names).object
    assert kept is not None
    assert json.loads(kept["metadata"]["annotations"]["workload.ai/injected"]) == json.loads(
        job["metadata"]["annotations"]["workload.ai/injected"]
    )
    without = redact(job, None, RULES, WORLD.signs).object
    assert without is not None
    assert "env[" not in without["metadata"]["annotations"]["workload.ai/injected"]


def test_what_an_update_changed_still_shows_though_the_values_are_gone() -> None:
    def with_value(value: str) -> dict[str, Any]:
        job = gpu_job()
        pod_spec(job)["containers"][0]["env"] = [{"name": "A", "value": value}, {"name": "B", "value": "same"}]
        return job

    kept = redacted(with_value("new"), old=with_value("old"))
    assert kept.object is not None
    assert kept.old_object is not None
    new, old = (pod_spec(obj)["containers"][0]["env"] for obj in (kept.object, kept.old_object))
    assert new[0] != old[0]
    assert new[1] == old[1]


def test_the_data_of_a_secret_that_is_wrapped_in_an_object_goes() -> None:
    wrapper = yaml("""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
spec:
  components:
    - template: {kind: Secret, apiVersion: v1, stringData: {a: hunter2}, data: {b: aHVudGVyMg==}}
    - template: {kind: ConfigMap, apiVersion: v1, data: {c: hunter2}}
""")
    assert "hunter2" not in json.dumps(redacted(wrapper).object)


def test_an_annotation_may_be_kept_by_name() -> None:
    job = gpu_job()
    job["metadata"]["annotations"] = {"example.com/note": '{"kind": "note"}'}
    kept = redacted(job, Redaction(keep_annotations=("example.com/*",))).object
    assert kept is not None
    assert kept["metadata"]["annotations"] == {"example.com/note": '{"kind": "note"}'}


def test_what_was_removed_though_a_judgement_reads_it_is_told() -> None:
    job = gpu_job()
    pod_spec(job)["containers"][0]["env"] = yaml("[{name: CHECKPOINT_SECRET_PATH_TOKEN, value: x}, {name: A_TOKEN, value: y}]")
    pod_spec(job)["containers"][0]["args"] = ["--out=s3://$(A_TOKEN)/x"]
    assert "the value of A_TOKEN" in redacted(job).doubts
    assert redacted(gpu_job()).doubts == ()


def test_levels_beyond_any_manifest_are_cut_and_told() -> None:
    deep: Any = "x"
    for _ in range(900):
        deep = {"a": deep}
    kept = redact({"spec": deep}, None, RULES, SIGNS)
    assert kept.doubts == ("what stands deeper than 200 levels",)
    assert json.dumps(kept.object)


SECRET_NAMES = """password dbPassword DB_PASSWORD MYSQL_PWD api-key apiKey AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID HF_TOKEN
    wandb_api_key token fs.s3a.secret.key redis-password GOOGLE_CREDENTIALS_JSON Authorization
    WANDB_KEY PASSWORD_1 sessionCookie"""
OTHER_NAMES = """name key secretName tokenizer max_tokens pad_token_id passwordFile imagePullPolicy checkpoint_dir output_dir
    secretProviderClass keep_checkpoint_max author monkey tokenExpirationSeconds passes"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://bob:hunter2@host/x", "https://bob:#@host/x"),
        ("git clone https://ghp_abcdefghijklmnop1234@github.com/a/b", "git clone https://#@github.com/a/b"),
        ("curl -H 'Authorization: Bearer abc.def.ghi' x", "curl -H 'Authorization: Bearer #' x"),
        ("note: PASSWORD=hunter2", "note: PASSWORD=#"),
        ("x --quiet --token abcdef", "x --quiet --token #"),
        ("curl -u bob:hunter2 https://x", "curl -u bob:# https://x"),
        ("export A=1 PASSWORD=hunter2; python train.py --lr 1", "export A=1 PASSWORD=#; python train.py --lr 1"),
        ("x --api-key hunter2 --lr 1", "x --api-key # --lr 1"),
        ('{"password": "hunter2", "lr": 1}', '{"password": "#", "lr": 1}'),
        ("huggingface-cli login --token hf_abcdefghijklmnopqrst", "huggingface-cli login --token #"),
        ("wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login #"),
        ("https://h/x?X-Amz-Signature=abc&a=b", "https://h/x?X-Amz-Signature=#&a=b"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "#"),
        ("s3://bucket/run --save-steps=500 --tokenizer=x", "s3://bucket/run --save-steps=500 --tokenizer=x"),
        ("/ckpt/0123456789abcdef0123456789abcdef/step", "/ckpt/0123456789abcdef0123456789abcdef/step"),
        ("image@sha256:0123456789abcdef0123456789abcdef01234567", "image@sha256:0123456789abcdef0123456789abcdef01234567"),
    ],
)
def test_secrets_in_text_are_masked_and_the_rest_stays(text: str, kept: str) -> None:
    assert mask_text(text, lambda _: "#") == kept


SECRETS = st.text(string.ascii_letters + string.digits, min_size=20, max_size=28).filter(lambda text: not text.isalpha())
PLANTS: list[Any] = [
    lambda s: {"env": [{"name": "ANY", "value": s}]},
    lambda s: {"env": [{"name": "ANY", "value": {"deep": s}}]},
    lambda s: {"env": {"ANY": s}},
    lambda s: {"envVars": {"ANY": s}},
    lambda s: {"env": [{"name": "A_TOKEN", "value": s}], "args": ["x/$(A_TOKEN)/y"]},
    lambda s: {"env": [{"name": "A", "value": s}], "args": ["--password=$(A)"]},
    lambda s: {"env": [{"name": "A", "value": s}, {"name": "B_SECRET", "value": "$(A)"}]},
    lambda s: {"args": ["--token", s]},
    lambda s: {"args": [f"--token={s}"]},
    lambda s: {"args": [f"--api_key='{s}'"]},
    lambda s: {"command": ["sh", "-c", f"X_TOKEN={s} python train.py"]},
    lambda s: {"command": ["sh", "-c", f"wandb login {s} && python train.py"]},
    lambda s: {"command": ["curl", "-u", f"bob:{s}", "x"]},
    lambda s: {"args": [f"s3://user:{s}@bucket/x"]},
    lambda s: {"args": [f"hf_{s}"]},
    lambda s: {"password": s},
    lambda s: {"rayStartParams": {"redis-password": s}},
    lambda s: {"sparkConf": {"spark.hadoop.fs.s3a.secret.key": s}},
    lambda s: {"httpHeaders": [{"name": "Authorization", "value": s}]},
    lambda s: {"runtimeEnvYAML": f"env_vars:\n  ANY: {s}\n"},
    lambda s: {"runtimeEnvYAML": f"other: {s}\n"},
    lambda s: {"kind": "Secret", "data": {"x": s}, "stringData": {"y": {"z": s}}},
    lambda s: {"kind": "ConfigMap", "data": {"x": s}},
    lambda s: {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": s}},
    lambda s: {"annotations": {"x/applied": json.dumps({"kind": "Job", "x": s})}},
    lambda s: {"annotations": {"x/api-token": s}},
    lambda s: {
        "annotations": {"workload.ai/injected": json.dumps({"spec.env[A]": {"set": {"name": "A", "value": s}, "was": None}})}
    },
    lambda s: {"managedFields": [s]},
    lambda s: {"text": f"-----BEGIN PRIVATE KEY-----\n{s}\n"},
    lambda s: {"text": f"Authorization: Bearer {s}"},
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(objects(), SECRETS, st.sampled_from(PLANTS), st.data())
def test_no_planted_secret_is_left_wherever_it_stands(obj: Any, secret: str, plant: Any, data: Any) -> None:
    mappings = list(_mappings(obj))
    planted = plant(secret)
    place = data.draw(st.sampled_from(mappings)) if mappings else obj
    place.update(planted)
    assume(secret in json.dumps(obj))
    kept = redact(obj, copy.deepcopy(obj), RULES, SIGNS)
    assert secret not in json.dumps([kept.object, kept.old_object, kept.doubts])


NAMES_OF_SOMEBODY = "annotations env data labels matchLabels nodeSelector selector limits requests".split()  # noqa: SIM905


def _mappings(value: Any) -> Any:
    if isinstance(value, dict):
        yield value
        # Below these there are no fields, only names that somebody chose.
        members = (item for key, item in value.items() if key not in NAMES_OF_SOMEBODY)
    else:
        members = iter(value) if isinstance(value, list) else iter(())
    for member in members:
        yield from _mappings(member)


def _told(findings: tuple[Finding, ...]) -> list[tuple[str, str, str, str]]:
    return [(finding.rule, finding.result.value, finding.mode.text, finding.key) for finding in findings]


@settings(max_examples=150, deadline=None)
@given(objects())
def test_what_is_kept_is_judged_as_the_whole_was(obj: Any) -> None:
    kept = redact(obj, None, RULES, WORLD.signs, WORLD.injected_names)
    asked, again = request(obj), request(kept.object)
    assert _told(validate(WORLD, again, NOW).findings) == _told(validate(WORLD, asked, NOW).findings)
    # The kind tells what would be patched: paths, not the values that were taken away.
    first, second = mutate(WORLD, asked, NOW).response, mutate(WORLD, again, NOW).response
    assert [operation["path"] for operation in second.patch] == [operation["path"] for operation in first.patch]


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: st.tuples(objects(kind), objects(kind))))
def test_what_is_kept_of_an_update_is_judged_as_the_whole_was(pair: Any) -> None:
    old, new = pair
    kept = redact(new, old, RULES, WORLD.signs, WORLD.injected_names)
    first = validate(WORLD, request(new, old), NOW).findings
    assert _told(validate(WORLD, request(kept.object, kept.old_object), NOW).findings) == _told(first)


def test_a_job_set_that_trains_from_variables_is_judged_the_same() -> None:
    obj = job_set()
    pod_spec(obj)["containers"][0]["env"] = yaml("[{name: OUTPUT_DIR, value: /tmp/x}, {name: DB_PASSWORD, value: hunter2}]")
    kept = redacted(obj).object
    assert kept is not None
    assert "hunter2" not in json.dumps(kept)
    assert _told(validate(WORLD, request(kept), NOW).findings) == _told(validate(WORLD, request(obj), NOW).findings)


def test_a_parameter_that_is_named_like_a_secret_leaves_a_doubt() -> None:
    arguments = {"parameters": [{"name": "auth", "value": "s3://b/x"}, {"name": "out", "value": "s3://b/y"}]}
    workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {}, "spec": {"arguments": arguments}}
    kept = redacted(workflow)
    assert kept.object is not None
    assert kept.object["spec"]["arguments"]["parameters"][1]["value"] == "s3://b/y"
    assert kept.doubts == ("the value of auth",)


def test_the_default_of_a_parameter_that_is_named_like_a_secret_is_not_kept() -> None:
    template = {"name": "t", "inputs": {"parameters": [{"name": "password", "default": "hunter2"}]}}
    kept = redacted(
        {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {}, "spec": {"templates": [template]}}
    )
    assert "hunter2" not in json.dumps(kept.object)


def test_a_header_of_a_probe_leaves_no_doubt() -> None:
    obj = gpu_job()
    header = {"name": "Authorization", "value": "Bearer x"}
    pod_spec(obj)["containers"][0]["livenessProbe"] = {"httpGet": {"port": 80, "httpHeaders": [header]}}
    assert redacted(obj).doubts == ()
