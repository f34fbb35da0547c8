"""Whole set-ups of queues, flavors and quotas as people run them, each with work that can start there, or never can.

What is expected was worked out by hand from how Kueue (0.17) and Kubernetes (1.37) count.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.manifests import gpu_job, pod_spec
from tests.test_cluster_checks import findings
from tests.world import yaml

FLAVORS = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec: {nodeLabels: {gpu: h100, zone: a}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {gpu: a100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
spec: {nodeLabels: {gpu: h100, cloud.google.com/gke-spot: "true"}, nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: cheap}
spec: {nodeLabels: {gpu: h100, cloud.google.com/gke-spot: "true"}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: tolerated}
spec: {nodeLabels: {gpu: l4}, nodeTaints: [{key: spot, effect: NoExecute}], tolerations: [{key: spot, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: soft}
spec: {nodeTaints: [{key: old, effect: PreferNoSchedule}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: default-flavor}
spec: {}
---
apiVersion: v1
kind: Namespace
metadata: {name: research, labels: {team: research, tier: gold}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 100
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: training, namespace: research}
spec: {clusterQueue: cq}
"""


def group(resources: str, *flavors: str) -> str:
    """``h100 8 64`` gives 8 and 64 of the resources; ``8/2/4`` is a nominal quota, a borrowing and a lending limit."""
    shown = []
    for flavor in flavors:
        of, *amounts = flavor.split()
        quotas = []
        for resource, amount in zip(resources.split(), amounts, strict=True):
            nominal, borrow, lend = (*amount.split("/"), "", "")[:3]
            limits = (f", borrowingLimit: {borrow}" if borrow else "") + (f", lendingLimit: {lend}" if lend else "")
            quotas.append(f"{{name: {resource}, nominalQuota: {nominal}{limits}}}")
        shown.append(f"{{name: {of}, resources: [{', '.join(quotas)}]}}")
    return f"{{coveredResources: [{', '.join(resources.split())}], flavors: [{', '.join(shown)}]}}"


def queue(*groups: str, name: str = "cq", cohort: str = "", selector: str = "{}", more: str = "") -> str:
    of = f", cohortName: {cohort}" if cohort else ""
    return f"""
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec: {{namespaceSelector: {selector}{of}{more}, resourceGroups: [{", ".join(groups)}]}}
"""


def cohort(name: str, parent: str = "", *groups: str) -> str:
    of = f"parentName: {parent}, " if parent else ""
    return f"""
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {{name: {name}}}
spec: {{{of}resourceGroups: [{", ".join(groups)}]}}
"""


def quota(hard: str, more: str = "") -> str:
    return (
        "\n---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: team, namespace: research}\n"
        f"spec: {{hard: {{{hard}}}{more}}}\n"
    )


GPU = "nvidia.com/gpu"


def job(pods: int = 1, gpus: Any = 8, **spec: Any) -> dict[str, Any]:
    made = gpu_job(gpus=gpus, parallelism=pods, completions=pods)
    made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "training"}
    pod_spec(made).update(spec)
    return made


def asking(of_container: str, **spec: Any) -> dict[str, Any]:
    made = job(**spec)
    pod_spec(made)["containers"][0]["resources"] = yaml(of_container)
    return made


def annotated(made: dict[str, Any], **annotations: str) -> dict[str, Any]:
    made["metadata"]["annotations"] = {f"kueue.x-k8s.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return made


def job_set(*asked: tuple[int, int]) -> dict[str, Any]:
    made: dict[str, Any] = yaml(
        "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: s, namespace: research, "
        "labels: {kueue.x-k8s.io/queue-name: training}}, spec: {}}"
    )
    made["spec"]["replicatedJobs"] = [
        {"name": f"r{index}", "replicas": 1, "template": {"spec": copy.deepcopy(job(pods, gpus)["spec"])}}
        for index, (pods, gpus) in enumerate(asked)
    ]
    return made


def container(name: str, gpus: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": "i", "resources": {"limits": {GPU: gpus}}, **more}


def affinity(*terms: str) -> dict[str, Any]:
    return {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": yaml(f"[{term}]")} for term in terms]
                }
            }
        }
    }


EIGHT = queue(group(GPU, "h100 8"))
TOLERATES: dict[str, Any] = {"tolerations": [{"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}]}

SETUPS: dict[str, tuple[str, Any, bool]] = {
    # cohorts and limits
    "exactly the quota": (EIGHT, job(1, 8), True),
    "one more than the quota": (EIGHT, job(9, 1), False),
    "borrowing limit 0": (
        queue(group(GPU, "h100 8/0"), cohort="c") + queue(group(GPU, "h100 64"), name="o", cohort="c"),
        job(2),
        False,
    ),
    "lending limit 0 of the other": (
        queue(group(GPU, "h100 8"), cohort="c") + queue(group(GPU, "h100 64//0"), name="o", cohort="c"),
        job(2),
        False,
    ),
    "own lending limit 0 keeps the own quota": (
        queue(group(GPU, "h100 8//0"), cohort="c") + queue(group(GPU, "h100 8"), name="o", cohort="c"),
        job(2),
        True,
    ),
    "nominal 0, all borrowed": (
        queue(group(GPU, "h100 0"), cohort="c") + queue(group(GPU, "h100 64"), name="o", cohort="c"),
        job(8),
        True,
    ),
    "the other has it in another flavor": (
        queue(group(GPU, "h100 8"), cohort="c") + queue(group(GPU, "a100 64"), name="o", cohort="c"),
        job(2),
        False,
    ),
    "quota of the parent cohort": (
        queue(group(GPU, "h100 0"), cohort="team") + cohort("team", "org") + cohort("org", "", group(GPU, "h100 32")),
        job(4),
        True,
    ),
    "the team's cohort may borrow nothing": (
        queue(group(GPU, "h100 8"), cohort="team")
        + cohort("team", "org", group(GPU, "h100 0/0"))
        + cohort("org", "", group(GPU, "h100 32")),
        job(2),
        False,
    ),
    "a sibling's cohort lends only some": (
        queue(group(GPU, "h100 8"), cohort="a")
        + queue(group(GPU, "h100 32"), name="o", cohort="b")
        + cohort("a", "org")
        + cohort("b", "org", group(GPU, "h100 0//16")),
        job(4),
        False,
    ),
    "a sibling's cohort lends enough": (
        queue(group(GPU, "h100 8"), cohort="a")
        + queue(group(GPU, "h100 32"), name="o", cohort="b")
        + cohort("a", "org")
        + cohort("b", "org", group(GPU, "h100 0//16")),
        job(3),
        True,
    ),
    "parent that has no object": (
        queue(group(GPU, "h100 8"), cohort="a") + cohort("a", "nowhere") + queue(group(GPU, "h100 8"), name="o", cohort="a"),
        job(2),
        True,
    ),
    # groups and flavors
    "a pod set is not split over flavors": (queue(group(GPU, "h100 8", "a100 8")), job(2), False),
    "two pod sets in two flavors": (queue(group(GPU, "h100 8", "a100 8")), job_set((1, 8), (1, 8)), True),
    "three pod sets in two flavors": (queue(group(GPU, "h100 8", "a100 8")), job_set((1, 8), (1, 8), (1, 8)), False),
    "cpu and gpu must come from one flavor": (
        queue(group(f"cpu {GPU}", "h100 4 64", "a100 64 4")),
        asking("{limits: {cpu: 16, nvidia.com/gpu: 8}}"),
        False,
    ),
    "cpu and gpu of two groups": (
        queue(group("cpu memory", "default-flavor 64 256Gi"), group(GPU, "h100 8")),
        asking("{requests: {cpu: 32, memory: 200Gi}, limits: {nvidia.com/gpu: 8}}"),
        True,
    ),
    "too little memory in the other group": (
        queue(group("cpu memory", "default-flavor 64 128Gi"), group(GPU, "h100 8")),
        asking("{requests: {cpu: 32, memory: 200Gi}, limits: {nvidia.com/gpu: 8}}"),
        False,
    ),
    "millicores add up": (queue(group("cpu", "default-flavor 2")), asking("{requests: {cpu: 500m}}", pods=4, gpus=0), True),
    "millicores add up to more": (queue(group("cpu", "default-flavor 2")), asking("{requests: {cpu: 501m}}", pods=4), False),
    "a resource nobody has quota for": (EIGHT, asking("{limits: {nvidia.com/gpu: 8, rdma/hca: 99}}"), True),
    "MIG slices are a resource of their own": (
        queue(group("nvidia.com/mig-1g.10gb", "h100 7")),
        asking("{limits: {nvidia.com/mig-1g.10gb: 1}}", pods=8),
        False,
    ),
    "pods as a resource": (queue(group(f"{GPU} pods", "h100 64 4")), job(5, 1), False),
    "pods as a resource with room": (queue(group(f"{GPU} pods", "h100 64 5")), job(5, 1), True),
    "node selector leaves the small flavor": (
        queue(group(GPU, "h100 4", "a100 64")),
        job(1, 8, nodeSelector={"gpu": "h100"}),
        False,
    ),
    "node selector of a label no flavor has": (EIGHT, job(1, 8, nodeSelector={"kubernetes.io/arch": "amd64"}), True),
    "node selector of a label that only another flavor has": (
        queue(group(GPU, "h100 4", "a100 64")),
        job(1, 8, nodeSelector={"zone": "a"}),
        False,
    ),
    "label of a flavor in another group does not count": (
        queue(group("cpu", "default-flavor 64"), group(GPU, "h100 8")),
        asking("{limits: {cpu: 8, nvidia.com/gpu: 8}}", nodeSelector={"gpu": "h100"}),
        True,
    ),
    "affinity that one flavor meets": (
        queue(group(GPU, "h100 4", "a100 64")),
        job(1, 8, **affinity("{key: gpu, operator: In, values: [h100, a100]}")),
        True,
    ),
    "affinity away from the large flavor": (
        queue(group(GPU, "h100 4", "a100 64")),
        job(1, 8, **affinity("{key: gpu, operator: NotIn, values: [a100]}")),
        False,
    ),
    "one of two affinity terms": (
        queue(group(GPU, "h100 4", "a100 64")),
        job(1, 8, **affinity("{key: gpu, operator: In, values: [v100]}", "{key: gpu, operator: In, values: [a100]}")),
        True,
    ),
    "a taint nobody tolerates": (queue(group(GPU, "spot 64")), job(1), False),
    "a taint that the Pods tolerate": (queue(group(GPU, "spot 64")), job(1, **TOLERATES), True),
    "a taint tolerated with another value": (
        queue(group(GPU, "spot 64")),
        job(1, tolerations=[{"key": "spot", "value": "no", "effect": "NoSchedule"}]),
        False,
    ),
    "every taint tolerated": (queue(group(GPU, "spot 64")), job(1, tolerations=[{"operator": "Exists"}]), True),
    "the flavor brings the toleration": (queue(group(GPU, "tolerated 64")), job(1), True),
    "a taint that only prefers": (queue(group(GPU, "soft 64")), job(1), True),
    # how many Pods, and what each asks for
    "partial admission": (EIGHT, annotated(job(4), job_min_parallelism="1"), True),
    "partial admission, still too many": (EIGHT, annotated(job(4), job_min_parallelism="2"), False),
    "an elastic job starts with what it asks for": (EIGHT, annotated(job(2), elastic_job="true"), False),
    "more Pods at once than completions": (
        queue(group(GPU, "h100 16")),
        {**job(), "spec": {**job()["spec"], "parallelism": 9, "completions": 2}},
        True,
    ),
    "completions one after the other": (EIGHT, {**job(), "spec": {**job()["spec"], "parallelism": 1, "completions": 50}}, True),
    "requests below limits": (queue(group("cpu", "default-flavor 4")), asking("{requests: {cpu: 4}, limits: {cpu: 64}}"), True),
    "limits alone are requests": (queue(group("cpu", "default-flavor 4")), asking("{limits: {cpu: 64}}"), False),
    "init containers run one after the other": (
        EIGHT,
        job(1, 8, initContainers=[container("warm", 8), container("check", 8)]),
        True,
    ),
    "an init container larger than the rest": (EIGHT, job(1, 1, initContainers=[container("warm", 9)]), False),
    "a sidecar runs beside": (EIGHT, job(1, 8, initContainers=[container("side", 1, restartPolicy="Always")]), False),
    "an init container beside a sidecar that came before": (
        EIGHT,
        job(1, 1, initContainers=[container("side", 2, restartPolicy="Always"), container("warm", 7)]),
        False,
    ),
    "an init container before the sidecar": (
        EIGHT,
        job(1, 1, initContainers=[container("warm", 7), container("side", 2, restartPolicy="Always")]),
        True,
    ),
    "overhead of a runtime": (
        queue(group("cpu", "default-flavor 4")),
        asking("{requests: {cpu: 4}}", overhead={"cpu": "250m"}),
        False,
    ),
    "resources of the Pod as a whole": (
        queue(group("cpu", "default-flavor 4")),
        asking("{requests: {cpu: 1}}", resources={"requests": {"cpu": "8"}}),
        False,
    ),
    "a limit of the whole Pod above what its containers request": (
        queue(group("cpu", "default-flavor 4")),
        asking("{requests: {cpu: 1}}", resources={"limits": {"cpu": "8"}}),
        True,
    ),
    "a limit of the whole Pod where no container requests any": (
        queue(group("cpu", "default-flavor 4")),
        asking("{}", resources={"limits": {"cpu": "8"}}),
        False,
    ),
    # quotas of the namespace
    "requests.nvidia.com/gpu": (queue(group(GPU, "h100 64")) + quota("requests.nvidia.com/gpu: 4"), job(1, 8), False),
    "nvidia.com/gpu alone counts nothing": (queue(group(GPU, "h100 64")) + quota("nvidia.com/gpu: 4"), job(1, 8), True),
    "storage and counts of other things": (
        EIGHT + quota("requests.storage: 1Gi, persistentvolumeclaims: 0, count/secrets: 0, services.loadbalancers: 0"),
        job(),
        True,
    ),
    # The API server refuses such a Job itself, at once.
    "no Jobs in this namespace": (EIGHT + quota("count/jobs.batch: 0"), job(), True),
    "Jobs are counted and there may be some": (EIGHT + quota("count/jobs.batch: 10"), job(), True),
    "no CronJobs says nothing of Jobs": (EIGHT + quota("count/cronjobs.batch: 0"), job(), True),
    "pods: 0": (EIGHT + quota("pods: 0"), job(), False),
    "scope of another class": (
        EIGHT
        + quota(
            "requests.nvidia.com/gpu: 0",
            ", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [low]}]}",
        ),
        job(priorityClassName="high"),
        True,
    ),
    "scope of its class": (
        EIGHT
        + quota(
            "requests.nvidia.com/gpu: 0",
            ", scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}",
        ),
        job(priorityClassName="high"),
        False,
    ),
    "scope of Pods that end": (EIGHT + quota("requests.nvidia.com/gpu: 0", ", scopes: [Terminating]"), job(), True),
    "the Job's deadline is not the Pod's": (
        EIGHT + quota("requests.nvidia.com/gpu: 0", ", scopes: [Terminating]"),
        {**job(), "spec": {**job()["spec"], "activeDeadlineSeconds": 60}},
        True,
    ),
    "limits.cpu": (EIGHT + quota("limits.cpu: 4"), asking("{limits: {cpu: 8, nvidia.com/gpu: 8}}"), False),
    "cpu means requests": (EIGHT + quota("cpu: 4"), asking("{requests: {cpu: 4}, limits: {cpu: 8, nvidia.com/gpu: 8}}"), True),
    "ephemeral storage": (
        EIGHT + quota("requests.ephemeral-storage: 100Gi"),
        asking("{limits: {nvidia.com/gpu: 8, ephemeral-storage: 2Ti}}"),
        False,
    ),
}


@pytest.mark.parametrize("name", SETUPS)
def test_what_can_ever_start(name: str) -> None:
    cluster, workload, fits = SETUPS[name]
    found = [(one.result.value, one.message) for one in findings("quota-feasible", workload, FLAVORS + cluster)]
    assert not [one for one in found if one[0] not in ("fail",)], found
    assert (not found) is fits, found
