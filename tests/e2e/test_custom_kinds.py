"""Custom kinds in an outage: those made to train are closed, those made to serve or to be sat at only by what they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from . import outage
from .custom_kinds import custom, define
from .kubectl import Kubectl
from .objects import QUEUE, Manifest, template
from .webhook import Webhook

SERVING = ("serving.kserve.io", "v1beta1", "InferenceService")
NOTEBOOK = ("kubeflow.org", "v1", "Notebook")
SPARK = ("sparkoperator.k8s.io", "v1beta2", "SparkApplication")
TRAINING = ("kubeflow.org", "v1", "PyTorchJob")
KINDS = (SERVING, NOTEBOOK, SPARK, TRAINING)

MODEL = {"predictor": {"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://bucket/iris"}}}
DRIVER = {"mainApplicationFile": "local:///etl.py", "driver": {"cores": 1}, "executor": {"instances": 2}}
WORKERS = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template()}}}
OURS = {"workload.ai/type": "inference"}

Cases = dict[str, Callable[[str], Manifest]]
OPEN: Cases = {
    "inference-service": lambda ns: custom(SERVING, ns, MODEL),
    "notebook": lambda ns: custom(NOTEBOOK, ns, {"template": template()}),
    "spark-application": lambda ns: custom(SPARK, ns, DRIVER),
}
CLOSED: Cases = {
    "training": lambda ns: custom(TRAINING, ns, WORKERS),
    "serving-with-a-label-of-ours": lambda ns: custom(SERVING, ns, MODEL, labels=OURS),
    "serving-with-a-queue": lambda ns: custom(SERVING, ns, MODEL, labels={QUEUE: "training-large"}),
    "serving-with-another-schedulers-queue": lambda ns: custom(SERVING, ns, MODEL, labels={"kai.scheduler/queue": "team"}),
    "serving-with-a-fraction-of-a-gpu": lambda ns: custom(SERVING, ns, MODEL, annotations={"gpu-fraction": "0.5"}),
    "spark-with-a-label-of-ours": lambda ns: custom(SPARK, ns, DRIVER, labels=OURS),
    "notebook-with-a-gpu": lambda ns: custom(NOTEBOOK, ns, {"template": template(1)}),
    "notebook-with-a-labelled-template": lambda ns: custom(
        NOTEBOOK, ns, {"template": {**template(), "metadata": {"labels": OURS}}}
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _defined(webhook: Webhook) -> None:
    define(webhook.cluster, *KINDS)


@pytest.fixture
def stopped(webhook: Webhook, namespace: str) -> Iterator[str]:
    """A namespace, while nobody answers."""
    with outage.stopped(webhook):
        yield namespace


def test_what_is_served_or_sat_at_waits_only_for_what_it_carries(kubectl: Kubectl, stopped: str) -> None:
    for case, make in CLOSED.items():
        printed = kubectl.apply(make(stopped), arguments=("--dry-run=server",))
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err, f"{case}: {printed.text}"
    for case, make in OPEN.items():
        printed = kubectl.apply(make(stopped), arguments=("--dry-run=server",))
        assert printed.code == 0, f"{case}: {printed.text}"


def test_every_custom_kind_is_judged_while_we_answer(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    for case, make in {**OPEN, **CLOSED}.items():
        obj = make(namespace)
        kind = f"{obj['kind']}.{obj['apiVersion'].partition('/')[0]}"
        before = {endpoint: webhook.reviews(endpoint=endpoint, kind=kind) for endpoint in ("mutate", "validate")}
        printed = kubectl.apply(obj, arguments=("--dry-run=server",))
        assert "failed calling webhook" not in printed.err, f"{case}: {printed.text}"
        for endpoint, count in before.items():
            assert webhook.reviews(endpoint=endpoint, kind=kind) > count, f"{case}: {endpoint}"


def test_a_label_that_was_there_keeps_a_change_waiting(webhook: Webhook, kubectl: Kubectl, namespace: str) -> None:
    """Taking the label off in an outage is no way in."""
    assert kubectl.apply(custom(SERVING, namespace, MODEL, labels=OURS)).code == 0
    with outage.stopped(webhook):
        printed = kubectl.run("label", "inferenceservice", "x", "workload.ai/type-", "-n", namespace)
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err
    kubectl("delete", "inferenceservice", "x", "-n", namespace)


def _containers(*containers: object) -> Manifest:
    return {"template": {"spec": {"containers": list(containers)}}}


ODD: tuple[object, ...] = (
    "text",
    None,
    [],
    7,
    {"template": "x"},
    {"template": []},
    {"template": {"metadata": {"labels": 7}}},
    {"template": {"spec": {"containers": 7}}},
    _containers(7, None, []),
    _containers({"resources": [1]}),
    _containers({"resources": {"limits": [1], "requests": "1"}}),
    {"jobTemplate": []},
    {"jobTemplate": {"spec": [{"template": 1}]}},
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[2])
@pytest.mark.parametrize("spec", ODD, ids=repr)
def test_any_json_type_anywhere_gets_an_answer(
    kubectl: Kubectl, namespace: str, kind: tuple[str, str, str], spec: object
) -> None:
    printed = kubectl.apply(custom(kind, namespace, spec), arguments=("--validate=false", "--dry-run=server"), verb="create")
    assert printed.code == 0, printed.text
