"""manifests/ as it stands: generated parts are current, and what the design promises about them holds. No cluster here."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from signalbox.cli.controller import command as controller
from signalbox.cli.serve import command as serve
from signalbox.controller.certificates.state import AUTHORITY_SECRET, SERVING_SECRET
from signalbox.controller.options import LEASE
from signalbox.controller.webhooks.shipped import read_shipped
from signalbox.controllers import default_controllers
from signalbox.policy.resources import GROUP, PLURALS, VERSION
from signalbox.signs_loading import load_default_signs
from signalbox.workload.kinds.table import KINDS

ROOT = Path(__file__).parents[1]
MANIFESTS = ROOT / "manifests"


def _load(path: Path) -> list[Any]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


@pytest.fixture(scope="module")
def generator() -> Any:
    specification = importlib.util.spec_from_file_location("manifests_generate", MANIFESTS / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    return module


def every_webhook() -> list[Any]:
    return [webhook for document in _load(MANIFESTS / "base" / "webhooks.yaml") for webhook in document["webhooks"]]


def webhooks() -> list[Any]:
    """Those that workloads meet."""
    return [webhook for webhook in every_webhook() if webhook["clientConfig"]["service"]["path"] != "/policies"]


def test_the_webhook_configurations_are_those_of_the_signs_and_the_controllers(generator: Any) -> None:
    text = generator.page(load_default_signs(), default_controllers())
    assert text == (MANIFESTS / "base" / "webhooks.yaml").read_text(), "run: python manifests/generate.py"


def test_every_policy_file_is_in_the_config_map() -> None:
    listed = _load(ROOT / "policies" / "Kustomization")[0]["configMapGenerator"][0]["files"]
    assert listed == sorted(path.name for path in (ROOT / "policies").glob("*.yaml"))


def test_every_kind_we_judge_has_a_rule_in_every_entry() -> None:
    wanted = {(group, f"{kind.lower()}s") for group, kind in KINDS}
    for webhook in webhooks():
        found = {(rule["apiGroups"][0], name) for rule in webhook["rules"] for name in rule["resources"]}
        assert found == wanted


def test_an_outage_closes_only_what_the_first_validating_entry_takes() -> None:
    closed = [(webhook["name"], webhook["failurePolicy"]) for webhook in webhooks()]
    assert closed == [
        ("mutate.policy.workload.ai", "Ignore"),
        ("validate.policy.workload.ai", "Fail"),
        ("validate-open.policy.workload.ai", "Ignore"),
    ]


def test_kinds_made_to_serve_or_to_be_sat_at_are_not_closed_by_their_kind(generator: Any) -> None:
    by_content = {f"{kind}.{group}" for group, kind in KINDS if generator._judged_by_content(group, kind)}
    assert by_content == {
        "CronWorkflow.argoproj.io",
        "DynamoGraphDeployment.nvidia.com",
        "InferenceService.serving.kserve.io",
        "InferenceService.serving.kubeflow.org",
        "InferenceSet.kaito.sh",
        "KaiwoService.kaiwo.silogen.ai",
        "LLMInferenceService.serving.kserve.io",
        "MarsJob.training.kubedl.io",
        "NIMService.apps.nvidia.com",
        "Notebook.kubeflow.org",
        "RayService.ray.io",
        "SeldonDeployment.machinelearning.seldon.io",
        "SparkApplication.sparkoperator.k8s.io",
        "Workflow.argoproj.io",
        "WorkflowTemplate.argoproj.io",
        "Workspace.kaito.sh",
    }
    assert all(generator._judged_by_content(group, kind) for (group, kind), one in KINDS.items() if one.type_decides)
    assert {f"{kind}.{group}" for group, kind in generator.PLACES} == by_content


def test_namespaces_are_exempt_by_their_name_alone() -> None:
    for webhook in webhooks():
        [expression] = webhook["namespaceSelector"]["matchExpressions"]
        assert (expression["key"], expression["operator"]) == ("kubernetes.io/metadata.name", "NotIn")
        assert "objectSelector" not in webhook


def test_no_answer_is_waited_for_longer_than_five_seconds() -> None:
    assert all(webhook["timeoutSeconds"] <= 5 for webhook in every_webhook())


def test_our_own_policies_can_always_be_mended_and_never_be_deleted_unseen() -> None:
    first, last = (webhook for webhook in every_webhook() if webhook not in webhooks())
    for webhook in (first, last):
        [rule] = webhook["rules"]
        assert webhook["failurePolicy"] == "Ignore"
        assert webhook["sideEffects"] == "None"
        assert (rule["apiGroups"], rule["apiVersions"]) == ([GROUP], [VERSION])
        assert rule["resources"] == list(PLURALS.values())
    assert first["rules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert last["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]


def test_every_file_is_in_some_kustomization() -> None:
    listed = {ROOT / "manifests" / "kustomization.yaml"}
    for path in MANIFESTS.rglob("kustomization.yaml"):
        named = [*_load(path)[0].get("resources", ()), *(patch.get("path", "") for patch in _load(path)[0].get("patches", ()))]
        listed |= {path, *((path.parent / name).resolve() for name in named if name)}
    assert set(MANIFESTS.rglob("*.yaml")) <= listed


def test_a_glob_is_never_narrower_as_cel(generator: Any) -> None:
    assert generator._glob("*/gpu") == "k.endsWith('/gpu')"
    assert generator._glob("nvidia.com/mig-*") == "k.startsWith('nvidia.com/mig-')"
    assert generator._glob("nvidia.com/*GPU*") == "k.startsWith('nvidia.com/') && k.contains('GPU')"
    assert generator._glob("nvidia.com/[abh][0-9]*") == r"k.matches(r'^nvidia\.com/[abh][0-9].*$')"
    assert generator._glob("x/gpu-?[!0]") == r"k.matches(r'^x/gpu\-.[^0]$')"


DEPLOYMENTS = {"deployment.yaml": ("serve", serve), "controller.yaml": ("controller", controller)}


def pod_of(file: str) -> Any:
    """The Pod's spec of the Deployment in a file of the base."""
    deployment = next(one for one in _load(MANIFESTS / "base" / file) if one["kind"] == "Deployment")
    return deployment["spec"]["template"]["spec"]


@pytest.mark.parametrize("file", DEPLOYMENTS)
def test_every_setting_of_the_deployments_is_an_option(file: str) -> None:
    name, command = DEPLOYMENTS[file]
    known = {parameter.envvar for parameter in command.params if isinstance(parameter, click.Option)}
    container = pod_of(file)["containers"][0]
    assert container["args"] == [name]
    assert {variable["name"] for variable in container["env"]} <= known


@pytest.mark.parametrize(
    ("overlay", "variable", "command"),
    [
        ("audit-only", "SIGNALBOX_MAX_MODE", serve),
        ("audit-only", "SIGNALBOX_AUDIT_ONLY", controller),
        ("cert-manager", "SIGNALBOX_CERTIFICATES", controller),
    ],
)
def test_every_setting_of_an_overlay_is_an_option(overlay: str, variable: str, command: click.Command) -> None:
    assert variable in {parameter.envvar for parameter in command.params if isinstance(parameter, click.Option)}
    assert f"name: {variable}," in (MANIFESTS / "overlays" / overlay / "kustomization.yaml").read_text()


def test_a_pod_that_ends_has_time_for_what_it_accepted() -> None:
    defaults = {parameter.name: parameter.default for parameter in serve.params}
    assert pod_of("deployment.yaml")["terminationGracePeriodSeconds"] > defaults["drain_seconds"] + defaults["stop_seconds"]
    defaults = {parameter.name: parameter.default for parameter in controller.params}
    assert pod_of("controller.yaml")["terminationGracePeriodSeconds"] > defaults["stop_seconds"]


def test_both_deployments_are_hardened_alike() -> None:
    first, second = pod_of("deployment.yaml"), pod_of("controller.yaml")
    assert first["securityContext"] == second["securityContext"]
    assert first["containers"][0]["securityContext"] == second["containers"][0]["securityContext"]


def test_the_controller_may_touch_exactly_its_secrets_and_our_configurations() -> None:
    rules = [rule for role in _load(MANIFESTS / "base" / "controller-access.yaml") for rule in role.get("rules", ())]
    assert not [rule for rule in rules if "*" in (*rule["verbs"], *rule["resources"], *rule["apiGroups"])]
    secrets = [rule for rule in rules if "secrets" in rule["resources"]]
    assert [(rule["verbs"], rule.get("resourceNames")) for rule in secrets] == [
        (["get", "update"], [AUTHORITY_SECRET, SERVING_SECRET]),
        (["create"], None),
    ]
    configurations = {(one.plural, one.name) for one in read_shipped()}
    for verb in ("get", "patch"):
        named = [rule for rule in rules if "admissionregistration.k8s.io" in rule["apiGroups"] and verb in rule["verbs"]]
        assert {(rule["resources"][0], name) for rule in named for name in rule["resourceNames"]} == configurations
    leases = [rule for rule in rules if "leases" in rule["resources"]]
    assert [rule.get("resourceNames") for rule in leases] == [[LEASE], None]


def test_the_secret_that_is_mounted_is_the_one_that_is_written() -> None:
    volumes = {volume["name"]: volume for volume in pod_of("deployment.yaml")["volumes"]}
    # Not optional: a Pod waits for its certificate instead of ending without one again and again.
    assert volumes["tls"]["secret"] == {"secretName": SERVING_SECRET, "defaultMode": 0o440}
