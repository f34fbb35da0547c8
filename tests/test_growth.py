"""Twice as much in a manifest takes twice as long to answer, whatever there is more of.

A list in a list, or one list gone through for each member of another, would let a single object hold up a worker: the
calls that an answer takes are counted for N members and for 2N.
"""

import json
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from signalbox.engine import mutate, validate
from tests.call_count import calls_of
from tests.manifests import deployment, gpu_job, job_set, pod_spec
from tests.test_engine_properties import WORLD
from tests.world import NOW, mutated, request

# What does not grow along is most of an answer for few members.
FEW, TWICE_AND_A_BIT = 64, 2.25
QUEUE = "kueue.x-k8s.io/queue-name"
Manifest = dict[str, Any]


def gpus(name: str) -> Manifest:
    limits = {"nvidia.com/gpu": 1}
    return {
        "name": name,
        "image": "r/i:1",
        "command": ["python", "main.py"],
        "resources": {"limits": limits, "requests": limits},
    }


def job_set_of(count: int, change: Callable[[int, Manifest], Any] = lambda at, job: None) -> Manifest:
    """A JobSet of ``count`` jobs, each changed by ``change(index, replicated job)``."""
    made = job_set()
    one = json.dumps(made["spec"]["replicatedJobs"][1])
    jobs = [json.loads(one) | {"name": f"job-{at}"} for at in range(count)]
    for at, job in enumerate(jobs):
        change(at, job)
    made["spec"]["replicatedJobs"] = jobs
    return made


def template_of(job: Manifest) -> Manifest:
    template: Manifest = job["template"]["spec"]["template"]
    return template


def job_of(**spec: Any) -> Manifest:
    made = gpu_job()
    pod_spec(made).update(spec)
    return made


def container_of(**fields: Any) -> Manifest:
    made = gpu_job()
    pod_spec(made)["containers"][0].update(fields)
    return made


def queued(at: int, job: Manifest) -> None:
    template_of(job).setdefault("metadata", {})["labels"] = {QUEUE: f"queue-{at}"}


def classed(at: int, job: Manifest) -> None:
    template_of(job)["spec"]["priorityClassName"] = f"class-{at}"


def limited(at: int, job: Manifest) -> None:
    job["template"]["spec"]["activeDeadlineSeconds"] = 60 + at


def ported(count: int) -> Manifest:
    made = deployment()
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["ports"] = [*({"containerPort": 30000 + at} for at in range(count)), {"name": "metrics", "containerPort": 1}]
    container["command"] = ["bash", "-c", "\n".join(["./predict.py"] * count)]
    for probe in ("readinessProbe", "livenessProbe"):
        container[probe] = {"httpGet": {"path": "/", "port": 1}}
    return made


def told_in_variables(count: int) -> Manifest:
    return container_of(
        env=[{"name": f"N{at}_SAVE_STEPS", "value": "0"} for at in range(count)],
        command=["bash", "-c", "\n".join(["python train.py --epochs 3"] * count)],
    )


def pod_sets(count: int) -> Manifest:
    """An AppWrapper of a kind that is not known, whose pod templates are all the same member of a long list."""
    inner = {"apiVersion": "x.org/v1", "kind": "X", "l": [{"spec": {"containers": [gpus("c")]}}, *([{}] * 10 * count)]}
    component = {"template": inner, "podSets": [{"path": "template.l[0]"}] * count}
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {"name": "x", "namespace": "research"},
        "spec": {"components": [component]},
    }


def steps_with_parameters(count: int) -> Manifest:
    """Steps, each of which hands its parameter on to the next, and runs one that all others run too."""
    given = [{"name": "x", "value": "{{inputs.parameters.x}}"}]
    container = gpus("c") | {"args": ["--output_dir", "{{inputs.parameters.x}}"]}

    def runs(*called: str) -> Manifest:
        return {"steps": [[{"template": one, "arguments": {"parameters": given}} for one in called]]}

    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "x", "namespace": "research"},
        "spec": {
            "entrypoint": "d0",
            "arguments": {"parameters": [{"name": "x", "value": "/m"}]},
            "templates": [
                {"name": "common", "container": container},
                *({"name": f"t{at}", "container": container} for at in range(count)),
                *({"name": f"d{at}", **runs("common", f"t{at}", f"d{at + 1}")} for at in range(count)),
            ],
        },
    }


def with_buckets(count: int) -> Manifest:
    """Variables of other names each, any of which may be where the model goes."""
    whose = permutations(["ML", "GPU", "S3", "GCS", "MY", "RUN", "JOB", "EXP"], 3)
    return container_of(
        env=[
            {"name": f"{'_'.join(words)}_MODEL_BUCKET", "value": f"b{at}"}
            for at, words in zip(range(count), whose, strict=False)
        ],
        command=["bash", "-c", "\n".join([f"cp a{at} /tmp" for at in range(count)] + ["python train.py"])],
        volumeMounts=[{"name": "v", "mountPath": f"/m{at}"} for at in range(count)],
    )


MANIFESTS: dict[str, Callable[[int], Manifest]] = {
    "replicated jobs": job_set_of,
    "queues": lambda count: job_set_of(count, queued),
    "priority classes": lambda count: job_set_of(count, classed),
    "containers": lambda count: job_of(containers=[gpus(f"c{at}") for at in range(count)]),
    "init containers": lambda count: job_of(initContainers=[gpus(f"c{at}") for at in range(count)]),
    "containers of one name": lambda count: job_of(containers=[gpus("c") for _ in range(count)]),
    "tolerations": lambda count: job_of(tolerations=[{"key": f"k{at}", "operator": "Exists"} for at in range(count)]),
    "node selectors": lambda count: job_of(nodeSelector={f"k{at}": "true" for at in range(count)}),
    "volumes and mounts": lambda count: job_of(
        volumes=[{"name": f"v{at}", "persistentVolumeClaim": {"claimName": f"c{at}"}} for at in range(count)],
        containers=[gpus("c") | {"volumeMounts": [{"name": f"v{at}", "mountPath": f"/m{at}"} for at in range(count)]}],
    ),
    "variables": lambda count: container_of(env=[{"name": f"N{at}", "value": f"$(N{at - 1})"} for at in range(count)]),
    "labels": lambda count: gpu_job() | {"metadata": {"name": "x", "labels": {f"l{at}": "v" for at in range(count)}}},
    "options": lambda count: container_of(command=["python", "train.py", *(f"--o{at}=/m" for at in range(count))]),
    "programs": lambda count: container_of(command=["bash", "-c", "\n".join(f"python t{at}.py --x 1" for at in range(count))]),
    "programs and ports": ported,
    "programs and variables": told_in_variables,
    "pod sets": pod_sets,
    "steps with parameters": steps_with_parameters,
    "buckets for models and mounts": with_buckets,
    "time limits": lambda count: job_set_of(count, limited),
    "devices by variables": lambda count: container_of(
        resources={}, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "$(X)"}] * count
    ),
}


def assert_grows_along(asked: Callable[[int], Any], answer: Callable[..., Any] = mutate) -> None:
    few, many = asked(FEW), asked(2 * FEW)
    outcomes = []
    counts = []
    for one in (asked(2), few, many):
        # The first fills what is remembered from one request to the next.
        counts.append(calls_of(lambda one=one: outcomes.append(answer(WORLD, one, NOW))))  # type: ignore[misc]
    assert not any(outcome.errors for outcome in outcomes)
    assert counts[2] <= TWICE_AND_A_BIT * counts[1], counts


@pytest.mark.parametrize("what", sorted(MANIFESTS))
def test_injecting_grows_with_what_there_is(what: str) -> None:
    assert_grows_along(lambda count: request(MANIFESTS[what](count)))


@pytest.mark.parametrize("what", sorted(MANIFESTS))
def test_judging_grows_with_what_there_is(what: str) -> None:
    assert_grows_along(lambda count: request(MANIFESTS[what](count)), validate)


@pytest.mark.parametrize("answer", [mutate, validate])
@pytest.mark.parametrize("what", sorted(MANIFESTS))
def test_an_update_of_what_was_injected_grows_with_what_there_is(what: str, answer: Callable[..., Any]) -> None:
    def update(count: int) -> Any:
        old = mutated(WORLD, request(MANIFESTS[what](count)))
        return request(old | {"metadata": old["metadata"] | {"labels": {"a": "b"}}}, old)

    assert_grows_along(update, answer)


def test_labels_that_change_grow_with_a_record_that_anybody_may_have_written() -> None:
    def update(count: int) -> Any:
        record = {f"metadata.labels[l{at}]": {"set": "v", "was": None, "by": "everything"} for at in range(count)}
        metadata = {"name": "x", "annotations": {"workload.ai/injected": json.dumps(record)}}
        labels = {f"workload.ai/l{at}": "v" for at in range(count)}
        old = gpu_job() | {"metadata": metadata}
        return request(gpu_job() | {"metadata": metadata | {"labels": labels}}, old)

    assert_grows_along(update, validate)
