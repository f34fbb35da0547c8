"""Custom kinds in an outage: those made to train are closed, those made to serve or to be sat at only by what they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import yaml

from tests.judgement_cases import view_of

from . import outage
from .custom_kinds import custom, define
from .kubectl import Kubectl
from .objects import GPU, QUEUE, Manifest, template
from .webhook import ROOT, Webhook

ADAPTER_CASES = ROOT / "tests" / "cases" / "kinds" / "kinds.yaml"
SERVING = ("serving.kserve.io", "v1beta1", "InferenceService")
LLM = ("serving.kserve.io", "v1alpha1", "LLMInferenceService")
RAY = ("ray.io", "v1", "RayService")
NOTEBOOK = ("kubeflow.org", "v1", "Notebook")
SPARK = ("sparkoperator.k8s.io", "v1beta2", "SparkApplication")
KFSERVING = ("serving.kubeflow.org", "v1alpha2", "InferenceService")
SELDON = ("machinelearning.seldon.io", "v1", "SeldonDeployment")
MARS = ("training.kubedl.io", "v1alpha1", "MarsJob")
WORKFLOW = ("argoproj.io", "v1alpha1", "Workflow")
CRON_WORKFLOW = ("argoproj.io", "v1alpha1", "CronWorkflow")
WORKFLOW_TEMPLATE = ("argoproj.io", "v1alpha1", "WorkflowTemplate")
NIM = ("apps.nvidia.com", "v1alpha1", "NIMService")
DYNAMO = ("nvidia.com", "v1alpha1", "DynamoGraphDeployment")
WORKSPACE = ("kaito.sh", "v1beta1", "Workspace")
INFERENCE_SET = ("kaito.sh", "v1alpha1", "InferenceSet")
TRAINING = ("kubeflow.org", "v1", "PyTorchJob")
KINDS = (
    SERVING,
    LLM,
    RAY,
    NOTEBOOK,
    SPARK,
    KFSERVING,
    SELDON,
    MARS,
    WORKFLOW,
    CRON_WORKFLOW,
    WORKFLOW_TEMPLATE,
    NIM,
    DYNAMO,
    WORKSPACE,
    INFERENCE_SET,
    TRAINING,
)

MODEL = {"predictor": {"model": {"modelFormat": {"name": "sklearn"}, "storageUri": "s3://bucket/iris"}}}
DRIVER = {"mainApplicationFile": "local:///etl.py", "driver": {"cores": 1}, "executor": {"instances": 2}}
WORKERS = {"pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": template()}}}
OURS = {"workload.ai/type": "inference"}
GPUS = {"resources": {"limits": {GPU: 1}}}
WITH_GPU: Manifest = {"name": "main", **GPUS}
CLAIM = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}


def _ray(head: Manifest, *workers: Manifest) -> Manifest:
    groups = [{"groupName": f"g{number}", "template": worker} for number, worker in enumerate(workers)]
    return {"rayClusterConfig": {"headGroupSpec": {"template": head}, "workerGroupSpecs": groups}}


def _seldon(*components: Manifest, **predictor: object) -> Manifest:
    return {"predictors": [{"name": "main", "graph": {}, "componentSpecs": list(components), **predictor}]}


def _mars(*workers: Manifest) -> Manifest:
    return {"marsReplicaSpecs": {f"Role{number}": {"template": worker} for number, worker in enumerate(workers)}}


def _steps(*templates: Manifest, **spec: object) -> Manifest:
    steps = [{"name": f"t{number}", **one} for number, one in enumerate(templates)]
    return {"entrypoint": "t0", "templates": [{"name": "all", "dag": {"tasks": []}}, *steps], **spec}


def _graph(**services: Manifest) -> Manifest:
    return {"services": {"Frontend": {"extraPodSpec": {"mainContainer": {"name": "main"}}}, **services}}


def _workspace(namespace: str, **fields: Manifest) -> Manifest:
    return {**custom(WORKSPACE, namespace, {}), **fields}


def _spark(**roles: Manifest) -> Manifest:
    return {**DRIVER, **roles}


Cases = dict[str, Callable[[str], Manifest]]
OPEN: Cases = {
    "inference-service": lambda ns: custom(SERVING, ns, MODEL),
    "notebook": lambda ns: custom(NOTEBOOK, ns, {"template": template()}),
    "spark-application": lambda ns: custom(SPARK, ns, DRIVER),
    "spark-with-a-field-of-no-accelerator": lambda ns: custom(
        SPARK, ns, _spark(executor={"gpu": {"name": "x", "quantity": 1}})
    ),
    "model-in-a-container": lambda ns: custom(SERVING, ns, {"predictor": template()["spec"]}),
    "language-model": lambda ns: custom(LLM, ns, {"model": {"uri": "hf://small"}, "template": template()["spec"]}),
    "old-inference-service": lambda ns: custom(KFSERVING, ns, {"default": MODEL}),
    "seldon-deployment": lambda ns: custom(SELDON, ns, _seldon(template())),
    "seldon-deployment-of-a-model-server": lambda ns: custom(SELDON, ns, {"predictors": [{"graph": {"name": "m"}}]}),
    "packaged-model-on-processors": lambda ns: custom(NIM, ns, {"image": {"repository": "nim/small"}, "resources": {}}),
    "graph-without-gpus": lambda ns: custom(DYNAMO, ns, _graph()),
    "workspace-without-a-machine": lambda ns: _workspace(ns, inference={"preset": {"name": "small"}}),
    "tables": lambda ns: custom(MARS, ns, _mars(template(), template())),
    "ray-service": lambda ns: custom(RAY, ns, _ray(template(), template())),
    "pipeline": lambda ns: custom(WORKFLOW, ns, _steps({"container": {"image": "x"}}, {"script": {"source": "print()"}})),
    "pipeline-to-come": lambda ns: custom(WORKFLOW_TEMPLATE, ns, _steps({"container": {"image": "x"}})),
    "pipeline-on-a-schedule": lambda ns: custom(CRON_WORKFLOW, ns, {"workflowSpec": _steps({"container": {"image": "x"}})}),
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
    "model-with-a-gpu": lambda ns: custom(SERVING, ns, {"predictor": {"model": {**MODEL["predictor"]["model"], **GPUS}}}),
    "model-of-a-runtime-to-come-with-a-gpu": lambda ns: custom(SERVING, ns, {"predictor": {"newruntime": GPUS}}),
    "container-of-a-predictor-with-a-gpu": lambda ns: custom(SERVING, ns, {"predictor": {"containers": [WITH_GPU]}}),
    "init-container-of-a-transformer-with-a-gpu": lambda ns: custom(
        SERVING, ns, {**MODEL, "transformer": {"containers": [], "initContainers": [WITH_GPU]}}
    ),
    "workers-of-a-predictor-with-gpus": lambda ns: custom(
        SERVING, ns, {"predictor": {"model": {}, "workerSpec": {"containers": [WITH_GPU]}}}
    ),
    "predictor-with-a-resource-claim": lambda ns: custom(SERVING, ns, {"predictor": {"model": {}, **CLAIM}}),
    "predictor-with-a-label-of-ours": lambda ns: custom(SERVING, ns, {"predictor": {"model": {}, "labels": OURS}}),
    "predictor-with-a-fraction-of-a-gpu": lambda ns: custom(
        SERVING, ns, {"predictor": {"model": {}, "annotations": {"gpu-fraction": "0.5"}}}
    ),
    "language-model-with-a-gpu": lambda ns: custom(LLM, ns, {"template": {"containers": [WITH_GPU]}}),
    "language-model-with-gpu-workers": lambda ns: custom(LLM, ns, {"template": {}, "worker": {"containers": [WITH_GPU]}}),
    "language-model-that-prefills-on-gpus": lambda ns: custom(LLM, ns, {"prefill": {"template": {"containers": [WITH_GPU]}}}),
    "ray-head-with-a-gpu": lambda ns: custom(RAY, ns, _ray(template(1), template())),
    "ray-workers-with-gpus": lambda ns: custom(RAY, ns, _ray(template(), template(), template(1))),
    "ray-workers-with-a-label-of-ours": lambda ns: custom(
        RAY, ns, _ray(template(), {**template(), "metadata": {"labels": OURS}})
    ),
    "spark-executor-with-a-gpu": lambda ns: custom(SPARK, ns, _spark(executor={"gpu": {"name": GPU, "quantity": 1}})),
    "spark-driver-with-a-gpu": lambda ns: custom(SPARK, ns, _spark(driver={"gpu": {"name": "amd.com/gpu", "quantity": 1}})),
    "spark-executor-template-with-a-gpu": lambda ns: custom(SPARK, ns, _spark(executor={"template": template(1)})),
    "spark-sidecar-with-a-gpu": lambda ns: custom(SPARK, ns, _spark(driver={"sidecars": [WITH_GPU]})),
    "old-model-with-a-gpu": lambda ns: custom(KFSERVING, ns, {"default": {"predictor": {"tensorflow": GPUS}}}),
    "old-canary-with-a-gpu": lambda ns: custom(KFSERVING, ns, {"default": MODEL, "canary": {"predictor": {"triton": GPUS}}}),
    "old-container-with-a-gpu": lambda ns: custom(
        KFSERVING, ns, {"default": {**MODEL, "transformer": {"custom": {"container": WITH_GPU}}}}
    ),
    "new-model-of-the-old-group-with-a-gpu": lambda ns: custom(KFSERVING, ns, {"predictor": {"triton": GPUS}}),
    "seldon-component-with-a-gpu": lambda ns: custom(SELDON, ns, _seldon(template(), template(1))),
    "seldon-component-with-a-label-of-ours": lambda ns: custom(
        SELDON, ns, _seldon({**template(), "metadata": {"labels": OURS}})
    ),
    "seldon-predictor-with-a-label-of-ours": lambda ns: custom(SELDON, ns, _seldon(template(), labels=OURS)),
    "seldon-explainer-with-a-gpu": lambda ns: custom(SELDON, ns, _seldon(template(), explainer={"containerSpec": GPUS})),
    "packaged-model-with-a-gpu": lambda ns: custom(NIM, ns, {"image": {"repository": "nim/large"}, **GPUS}),
    "service-of-a-graph-with-gpus-by-number": lambda ns: custom(
        DYNAMO, ns, _graph(decode={"resources": {"limits": {"gpu": "1"}}})
    ),
    "service-of-a-graph-with-a-gpu-in-its-container": lambda ns: custom(
        DYNAMO, ns, _graph(decode={"extraPodSpec": {"mainContainer": GPUS}})
    ),
    "service-of-a-graph-with-a-resource-claim": lambda ns: custom(DYNAMO, ns, _graph(decode={"extraPodSpec": CLAIM})),
    "component-of-a-graph-with-a-gpu": lambda ns: custom(
        DYNAMO, ns, {"components": [{"name": "d", "podTemplate": template(1)}]}
    ),
    "workspace-on-a-machine": lambda ns: _workspace(ns, resource={"instanceType": "m"}, tuning={"method": "lora"}),
    "workspaces-on-machines": lambda ns: custom(INFERENCE_SET, ns, {"template": {"resource": {"instanceType": "m"}}}),
    "step-with-a-gpu": lambda ns: custom(WORKFLOW, ns, _steps({"container": {}}, {"container": WITH_GPU})),
    "step-to-come-with-a-gpu": lambda ns: custom(WORKFLOW_TEMPLATE, ns, _steps({"container": {}}, {"container": WITH_GPU})),
    "script-with-a-gpu": lambda ns: custom(WORKFLOW, ns, _steps({"script": {"source": "print()", **GPUS}})),
    "one-of-several-containers-of-a-step-with-a-gpu": lambda ns: custom(
        WORKFLOW, ns, _steps({"containerSet": {"containers": [{"name": "a"}, WITH_GPU]}})
    ),
    "sidecar-of-a-step-with-a-gpu": lambda ns: custom(WORKFLOW, ns, _steps({"container": {}, "sidecars": [WITH_GPU]})),
    "init-container-of-a-step-with-a-gpu": lambda ns: custom(
        WORKFLOW, ns, _steps({"container": {}, "initContainers": [WITH_GPU]})
    ),
    "step-with-a-label-of-ours": lambda ns: custom(WORKFLOW, ns, _steps({"container": {}, "metadata": {"labels": OURS}})),
    "pipeline-whose-pods-have-a-label-of-ours": lambda ns: custom(
        WORKFLOW, ns, _steps({"container": {}}, podMetadata={"labels": OURS})
    ),
    "scheduled-step-with-a-gpu": lambda ns: custom(
        CRON_WORKFLOW, ns, {"workflowSpec": _steps({"container": {}}, {"container": WITH_GPU})}
    ),
    "scheduled-pipeline-with-a-label-of-ours": lambda ns: custom(
        CRON_WORKFLOW, ns, {"workflowSpec": _steps({"container": {}}), "workflowMetadata": {"labels": OURS}}
    ),
    "tables-with-a-gpu": lambda ns: custom(MARS, ns, _mars(template(), template(1))),
    "spark-executor-with-a-label-of-ours": lambda ns: custom(SPARK, ns, _spark(executor={"labels": OURS})),
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


def test_an_accelerator_that_signalbox_sees_in_a_kind_is_seen_without_it(kubectl: Kubectl, stopped: str) -> None:
    """The cases that the adapters of these kinds are tested with."""
    known = {(group, kind): f"{group}/{version}" for group, version, kind in KINDS}
    cases = [case for case in yaml.safe_load(ADAPTER_CASES.read_text()) if _key(case["manifest"]) in known]
    assert {kind for _, kind in map(_key, (case["manifest"] for case in cases))} == {kind for _, kind in known}
    for case in cases:
        metadata = {**case["manifest"]["metadata"], "namespace": stopped}
        # Only one version of each is served here; adapters read whatever fields are there.
        manifest: Manifest = {**case["manifest"], "apiVersion": known[_key(case["manifest"])], "metadata": metadata}
        printed = kubectl.apply(manifest, arguments=("--dry-run=server",))
        closed = view_of(manifest).accelerators.any or _key(manifest) == (TRAINING[0], TRAINING[2])
        assert ('failed calling webhook "validate.policy.workload.ai"' in printed.err) is closed, (
            f"{case['case']}: {printed.text}"
        )


def _key(manifest: Manifest) -> tuple[str, str]:
    return manifest["apiVersion"].partition("/")[0], manifest["kind"]


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
        printed = kubectl.run("label", "inferenceservices.serving.kserve.io", "x", "workload.ai/type-", "-n", namespace)
        assert 'failed calling webhook "validate.policy.workload.ai"' in printed.err
    kubectl("delete", "inferenceservices.serving.kserve.io", "x", "-n", namespace)


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
    {"predictor": 7, "transformer": {"containers": "x", "model": [], "labels": 1, "workerSpec": None}},
    {"rayClusterConfig": {"headGroupSpec": [], "workerGroupSpecs": [1, {"template": "x"}]}},
    {"rayClusterConfig": {"workerGroupSpecs": {"a": 1}}},
    {"driver": {"gpu": {"name": {}, "quantity": 1}, "sidecars": 1}, "executor": {"gpu": [], "template": "x"}},
    {"default": 7, "canary": {"predictor": 7, "x": {"custom": []}, "y": {"custom": {"container": []}}}},
    {"predictors": [1, None, {"componentSpecs": [1, {"spec": 7}], "explainer": []}, {"explainer": {"containerSpec": "x"}}]},
    {"marsReplicaSpecs": {"a": 1, "b": {"template": []}}},
    {"prefill": {"template": [], "worker": 1}, "worker": "x"},
    {"templates": [1, None, {"container": 7, "script": [], "containerSet": "x", "sidecars": 1}], "podMetadata": []},
    {
        "services": {"a": 1, "b": {"extraPodSpec": 7, "resources": {"limits": [1], "requests": "x"}}},
        "components": [1, {"podTemplate": "x"}],
    },
    {"services": [1], "components": {"a": 1}, "resources": {"limits": [1]}, "template": {"resource": "x"}},
    {"templates": {"a": 1}, "workflowSpec": [], "workflowMetadata": 7},
    {"workflowSpec": {"templates": [1, {"metadata": 7, "containerSet": {"containers": 1}}], "podMetadata": "x"}},
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind[2])
@pytest.mark.parametrize("spec", ODD, ids=repr)
def test_any_json_type_anywhere_gets_an_answer(
    kubectl: Kubectl, namespace: str, kind: tuple[str, str, str], spec: object
) -> None:
    printed = kubectl.apply(custom(kind, namespace, spec), arguments=("--validate=false", "--dry-run=server"), verb="create")
    assert printed.code == 0, printed.text
