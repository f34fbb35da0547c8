"""No JSON, wherever it stands in a manifest, makes a judgement fail."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalbox.workload.kinds.table import KINDS
from tests.judgement_cases import judge_everything, view_of
from tests.mangled import mangled

_WORDS = st.sampled_from(
    [
        "",
        "python",
        "train.py",
        "bash",
        "-c",
        "torchrun",
        "--output_dir",
        "--output_dir=$(A)",
        "-m",
        "--",
        "cd",
        "export A=",
        "\x1b[0m",
    ]
)
_TEXT = st.text(max_size=12) | _WORDS
_SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _TEXT
_KEYS = st.sampled_from(
    [
        "name", "value", "valueFrom", "command", "args", "env", "image", "ports", "containerPort", "resources",
        "limits", "requests", "nvidia.com/gpu", "claims", "volumeMounts", "mountPath", "readOnly", "volumes",
        "emptyDir", "csi", "driver", "containers", "initContainers", "restartPolicy", "nodeSelector",
        "affinity", "nodeAffinity", "tolerations", "key", "operator", "values",
        "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms", "matchExpressions", "preference", "readinessProbe", "httpGet", "workingDir",
        "spec", "template", "metadata", "labels", "annotations", "workload.ai/type",
        "workload.ai/checkpoint-uri", "replicas", "parallelism", "replicatedJobs", "subdomain",
        "cloud.google.com/gke-spot", "volumeClaimTemplates", "volumeClaimPolicies", "templates",
        "persistentVolumeClaim", "claimName", "resourceClaims", "resourceClaimTemplateName",
    ]
)  # fmt: skip
_JSON = st.recursive(
    _SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS | st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)


def judge(manifest: dict[str, Any]) -> None:
    judge_everything(view_of(manifest))


def wrapped(kind: str, pod: Any, top: Any = None) -> dict[str, Any]:
    template = {"metadata": top, "spec": pod}
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": top, "spec": pod}
    if kind == "JobSet":
        jobs = [{"name": top, "replicas": top, "template": {"spec": {"parallelism": top, "template": template}}}, top]
        return {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": top,
            "spec": {"replicatedJobs": jobs},
        }
    api = "batch/v1" if kind == "Job" else "apps/v1"
    spec = {"template": template, "replicas": top, "parallelism": top, "volumeClaimTemplates": top, "volumeClaimPolicies": top}
    return {"apiVersion": api, "kind": kind, "metadata": top, "spec": spec}


@pytest.mark.parametrize("kind", ["Pod", "Job", "JobSet", "StatefulSet"])
@settings(max_examples=45, deadline=None)
@given(data=st.data())
def test_any_json_in_the_pod_spec(kind: str, data: st.DataObject) -> None:
    judge(wrapped(kind, data.draw(_JSON), data.draw(_JSON)))


@pytest.mark.parametrize("kind", ["Pod", "Job", "JobSet"])
@settings(max_examples=35, deadline=None)
@given(data=st.data())
def test_any_json_in_every_field_of_a_container(kind: str, data: st.DataObject) -> None:
    fields = (
        "name",
        "image",
        "command",
        "args",
        "env",
        "ports",
        "resources",
        "volumeMounts",
        "workingDir",
        "readinessProbe",
    )
    container = {field: data.draw(_JSON) for field in fields}
    entry = data.draw(st.dictionaries(_KEYS, _JSON, max_size=4))
    container["command"] = data.draw(st.lists(_WORDS | _SCALAR, max_size=6)) or container["command"]
    pod = {key: data.draw(_JSON) for key in ("volumes", "nodeSelector", "affinity", "tolerations", "initContainers")}
    judge(wrapped(kind, {**pod, "containers": [container, {**container, "env": [entry], "volumeMounts": [entry]}]}))


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="ab$(){}'\"\\`<>&|;#\n =-", max_size=80))
def test_any_script(text: str) -> None:
    judge(wrapped("Job", {"containers": [{"command": ["bash", "-c", text]}]}))


@pytest.mark.parametrize("kind", sorted(KINDS), ids=lambda kind: ".".join(filter(None, kind[::-1])))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_anything_anywhere_in_a_manifest_of_each_kind(kind: tuple[str, str], data: st.DataObject) -> None:
    judge(data.draw(mangled(_JSON, kind)))
