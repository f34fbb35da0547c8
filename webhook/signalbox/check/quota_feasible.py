"""What is asked for must be something that the queue and the namespace can ever give.

Kueue keeps work that asks for more than its ClusterQueue and cohort can give waiting for ever, and a Pod that is larger
than its namespace's ResourceQuota is never made. Counted is what Kueue counts: for each pod set one flavor that has
enough, all pod sets together, with all that can be borrowed (nominalQuota, borrowingLimit, lendingLimit, cohorts and their
parents); flavors whose labels or taints do not suit the Pods are left out, and a Job that may start with fewer Pods
(kueue.x-k8s.io/job-min-parallelism) needs room for those alone. Resources that a ClusterQueue has no quota for are not
counted: Kueue may have been told to leave them alone. Of a ResourceQuota, what one Pod asks for is certain; that not
all Pods fit in at once is a warning, unless they have to start together. What is not known of the cluster is not judged,
and quotas are sometimes lowered for a while, so `warn` is the mode to begin with.

Rule:
    check: quota-feasible
Cluster:
    apiVersion: v1
    kind: List
    items:
      - apiVersion: kueue.x-k8s.io/v1beta2
        kind: LocalQueue
        metadata: {name: trials, namespace: research}
        spec: {clusterQueue: small}
      - apiVersion: kueue.x-k8s.io/v1beta2
        kind: LocalQueue
        metadata: {name: training, namespace: research}
        spec: {clusterQueue: large}
      - apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {name: small}
        spec:
          namespaceSelector: {}
          resourceGroups:
            - coveredResources: [nvidia.com/gpu]
              flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 4}]}]
      - apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {name: large}
        spec:
          namespaceSelector: {}
          resourceGroups:
            - coveredResources: [nvidia.com/gpu]
              flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: 64}]}]
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: trials}
    spec:
      parallelism: 2
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: training}
    spec:
      parallelism: 2
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""

from collections.abc import Iterable, Iterator

from signalbox.check.check import Check, NoParameters
from signalbox.cluster.capacity import GroupCapacity
from signalbox.cluster.objects import ClusterQueue
from signalbox.cluster.view import UNKNOWN
from signalbox.finding import CheckSubject, Edit, Fix, Problem, Unjudged
from signalbox.policy.mode import Mode
from signalbox.quantity import Quantity, format_amount
from signalbox.workload.fitting import PODS, PodSet, Shortage, pod_sets, queue_shortages
from signalbox.workload.judgement import Evidence
from signalbox.workload.namespace_quota import Excess, excesses
from signalbox.workload.requests import asking
from signalbox.workload.view import WorkloadView

# Of many pod sets a message names the largest few.
_MOST_NAMED = 4
_MOST_QUEUES = 50


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem | Unjudged]:
    """One problem a resource that the queue, or a ResourceQuota of the namespace, can never give."""
    view = subject.view
    sets = pod_sets(view)
    if sets:
        yield from _of_queue(view, sets)
        yield from _of_namespace(view, sets)


def _of_queue(view: WorkloadView, sets: tuple[PodSet, ...]) -> Iterator[Problem | Unjudged]:
    name = view.kueue_queue
    if not name or not view.takes_queue or (view.kind.obstacle is not None and view.kind.obstacle(view.object)):
        return
    local = view.cluster.local_queue(view.namespace, name)
    if local is UNKNOWN:
        yield Unjudged(f"the LocalQueues of namespace {view.namespace}")
    if local is UNKNOWN or local is None:
        # That it does not exist is the business of queue-exists.
        return
    queue = view.cluster.cluster_queue(local.cluster_queue)
    groups = view.cluster.capacity(local.cluster_queue)
    if queue is UNKNOWN or (queue is not None and groups is UNKNOWN):
        cohort = "" if queue is UNKNOWN else f" and its cohort {queue.cohort}"
        yield Unjudged(f"what ClusterQueue {local.cluster_queue}{cohort} can give")
    if queue is UNKNOWN or queue is None or groups is UNKNOWN:
        return
    short = list(queue_shortages(view, sets, groups))
    if short:
        instead = _roomier(view, sets, name)
        for shortage in short:
            yield _never_given(view, shortage, name, queue, instead)


def _roomier(view: WorkloadView, sets: tuple[PodSet, ...], named: str) -> str:
    """Another queue of the namespace that has room; empty where there is none."""
    for name in view.cluster.local_queue_names(view.namespace)[:_MOST_QUEUES]:
        local = view.cluster.local_queue(view.namespace, name)
        if name == named or local is UNKNOWN or local is None or local.stopped:
            continue
        groups = view.cluster.capacity(local.cluster_queue)
        # One that has no quota at all for what is asked for is no better.
        if groups is not UNKNOWN and _covers(groups, sets) and not any(queue_shortages(view, sets, groups)):
            return name
    return ""


def _covers(groups: Iterable[GroupCapacity], sets: Iterable[PodSet]) -> bool:
    covered = {resource for group in groups for resource in group.resources}
    return all(resource in covered for one in sets for resource in one.per_pod if "/" in resource)


def _never_given(view: WorkloadView, short: Shortage, name: str, queue: ClusterQueue, instead: str) -> Problem:
    behind = f"queue {name}" if name == queue.name else f"queue {name} (ClusterQueue {queue.name})"
    label = view.kueue_queues[name][0]
    fix = Fix("", (Edit(label, instead),)) if instead else None
    capacity = short.capacity
    if capacity is None:
        reasons = "; ".join(f"{one.flavor} ({one.reason})" for one in short.unusable[:_MOST_NAMED])
        message = f"No flavor of {behind} suits its Pods, so this would wait for ever: {reasons}."
        fix = fix or _suiting(short)
        return Problem(message, (Evidence(label, name),), fix, key=f"{name}: {short.resource}, no flavor")
    ever = format_amount(short.resource, capacity.ever)
    gives = f"{behind} can ever give {ever}{f' of flavor {short.flavor}' if short.flavor else ''}"
    borrowed = capacity.ever - capacity.own
    if borrowed > 0:
        own = format_amount(short.resource, capacity.own)
        gives += f": {own} of its own, {format_amount(short.resource, borrowed)} from cohort {queue.cohort}"
    left_out = "".join(f" Flavor {one.flavor} does not count: {one.reason}." for one in short.unusable[:_MOST_NAMED])
    message = f"It asks for {_sum(short.resource, short.asked, short.pod_sets)}; {gives}.{left_out}"
    evidence = (Evidence(label, name), *_asked(short.resource, short.pod_sets))
    fix = fix or Fix(f"ask for at most {ever}, or for a larger quota.")
    return Problem(message, evidence, fix, key=f"{name}: {short.resource}", amount=_amount(short.asked))


def _suiting(short: Shortage) -> Fix:
    """How the Pods get a flavor where only a taint keeps them off; else in words."""
    taint = next((one.taint for one in short.unusable if one.taint is not None), None)
    edits = []
    for one in short.pod_sets:
        present = one.template.spec.get("tolerations") or []
        if taint is not None and isinstance(present, list) and one.template.writable and not one.template.virtual:
            toleration = {"key": taint.get("key"), "operator": "Exists", "effect": taint.get("effect")}
            edits.append(Edit((*one.template.spec_path, "tolerations"), [*present, toleration]))
    return Fix("", tuple(edits)) if edits else Fix("change what its Pods tolerate and select, or name another queue.")


def _of_namespace(view: WorkloadView, sets: tuple[PodSet, ...]) -> Iterator[Problem | Unjudged]:
    quotas = view.cluster.resource_quotas(view.namespace)
    if quotas is UNKNOWN:
        yield Unjudged(f"the ResourceQuotas of namespace {view.namespace}")
        return
    for quota in quotas:
        for excess in excesses(view, quota, sets):
            if excess.certain:
                yield _too_small(excess, view)
            else:
                yield Unjudged(f"whether ResourceQuota {quota.name} is for these Pods")


def _too_small(excess: Excess, view: WorkloadView) -> Problem:
    hard = format_amount(excess.resource, excess.hard)
    allows = f"ResourceQuota {excess.quota} allows namespace {view.namespace} no more than {hard}"
    if excess.per_pod:
        asked = f"{format_amount(excess.resource, excess.asked)} {excess.resource}"
        message = f"One of its Pods asks for {asked}; {allows}, so that Pod can never be made."
    else:
        asked = _sum(excess.resource, excess.asked, excess.pod_sets)
        message = f"It asks for {asked}; {allows}, so its Pods can never all run at once."
    together = view.distributed and view.acts_as.runs in ("once", "schedule")
    return Problem(
        message,
        _asked(excess.counted, excess.pod_sets),
        Fix(f"ask for at most {hard}, or for a larger ResourceQuota."),
        key=f"ResourceQuota {excess.quota}: {excess.resource}{': one Pod' if excess.per_pod else ''}",
        amount=_amount(excess.asked),
        at_most=Mode.ENFORCE if excess.per_pod or together else Mode.WARN,
    )


def _sum(resource: str, asked: Quantity, sets: tuple[PodSet, ...]) -> str:
    """``64 nvidia.com/gpu (8 Pods of 8)``, a part for each pod set."""
    shown = f"{format_amount(resource, asked)} {resource}"
    if resource in (PODS, "count/pods"):
        return shown
    parts = []
    for one in sorted(sets, key=lambda one: -one.total(resource)):
        per_pod = one.per_pod.get(resource.removeprefix("requests."), 0)
        name = f"{one.name}: " if one.name and len(sets) > 1 else ""
        parts.append(f"{name}{one.pods} Pods of {format_amount(resource, per_pod)}" if one.pods > 1 else f"{name}1 Pod")
    if parts in (["1 Pod"], []):
        return shown
    more = f", and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    return f"{shown} ({', '.join(parts[:_MOST_NAMED])}{more})"


def _asked(resource: str, sets: tuple[PodSet, ...]) -> tuple[Evidence, ...]:
    return tuple(found for one in sets[:_MOST_NAMED] for found in asking(one.template, resource))


def _amount(count: Quantity) -> float:
    # A quantity may have any exponent, a float has not.
    return float(min(count, 10**18))


CHECK = Check("quota-feasible", NoParameters, run, __doc__)
