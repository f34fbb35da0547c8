"""What the API server fills in before a mutating webhook sees an object of a built-in kind.

Without it the command line would judge another object than the webhook does. Seen on an API server 1.37; the rules stand in
Kubernetes' own sources:

- grace 30 s, restartPolicy, dnsPolicy, schedulerName of every pod template: ``pkg/apis/core/v1/defaults.go``
  SetDefaults_PodSpec. A Job's template without restartPolicy arrives as ``Always`` too, and is refused later.
- a Pod's requests copied from its limits (a template's are not): SetDefaults_Pod in the same file.
- a Pod's ``priority``, ``preemptionPolicy`` and the name of the default class: ``plugin/pkg/admission/priority``. Only
  where the cluster view knows the class; nothing is made up.
- a Pod's two NoExecute tolerations: ``plugin/pkg/admission/defaulttolerationseconds``.
- a Job's parallelism, completions, backoffLimit, suspend, completionMode, and its template's labels where it has none of its
  own: ``pkg/apis/batch/v1/defaults.go`` SetDefaults_Job. The Job inside a CronJob gets only its Pod's defaults.
- replicas, history limits, strategies: ``pkg/apis/apps/v1/defaults.go``.
- ``metadata.namespace``: the request's, for custom resources too (``registry/rest/meta.go``).

Custom resources get nothing else: a CRD's own defaults are not known here. Left out as well is what no policy of ours asks
for: container fields such as imagePullPolicy, the service account's volume. Quantities stay as they are written; the API
server would write ``2`` as ``"2"``.
"""

from typing import Any

from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.fieldpath import Path, value_at
from signalbox.patch import PatchRecorder
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

_GRACE = 30
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_PREEMPTS = "PreemptLowerPriority"

_POD_SPEC: dict[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": _GRACE,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
}
_ROLLING: JsonObject = {"type": "RollingUpdate"}

# The kind's own spec, and where its Pods' spec stands.
_SPEC: dict[tuple[str, str], dict[str, Any]] = {
    ("", "Pod"): {},
    ("batch", "Job"): {"suspend": False},
    ("batch", "CronJob"): {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    ("apps", "Deployment"): {
        "replicas": 1,
        "strategy": {**_ROLLING, "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
    },
    ("apps", "StatefulSet"): {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {**_ROLLING, "rollingUpdate": {"partition": 0}},
        "revisionHistoryLimit": 10,
    },
    ("apps", "ReplicaSet"): {"replicas": 1},
    ("", "ReplicationController"): {"replicas": 1},
    ("", "PodTemplate"): {},
    ("apps", "DaemonSet"): {
        "updateStrategy": {**_ROLLING, "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
        "revisionHistoryLimit": 10,
    },
}
_POD_SPEC_AT: dict[tuple[str, str], Path] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template", "spec"),
}
_TEMPLATE_SPEC: Path = ("spec", "template", "spec")


def apply_defaults(obj: JsonObject, namespace: str, cluster: ClusterView) -> JsonObject:
    """The object as a webhook would be sent it on CREATE. The argument is never changed; where nothing is missing it is
    what comes back. Applying it again changes nothing.
    """
    group, kind = _group_and_kind(obj)
    filled = PatchRecorder(obj)
    if namespace:
        _default(filled, ("metadata", "namespace"), namespace)
    fields = _SPEC.get((group, kind))
    if fields is None:
        return filled.object
    pod_spec = _POD_SPEC_AT.get((group, kind), _TEMPLATE_SPEC)
    _drop_null_metadata(filled, ())
    _drop_null_metadata(filled, pod_spec[:-1])
    if kind == "Job":
        _default_job(filled)
    for name, value in fields.items():
        _default(filled, ("spec", name), value)
    if isinstance(value_at(filled.object, pod_spec), dict):
        for name, value in _POD_SPEC.items():
            _default(filled, (*pod_spec, name), value)
        if kind == "Pod":
            _default_pod(filled, cluster)
    return filled.object


def _group_and_kind(obj: JsonObject) -> tuple[str, str]:
    version, kind = obj.get("apiVersion"), obj.get("kind")
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    return group, kind if isinstance(kind, str) else ""


def _default(filled: PatchRecorder, path: Path, value: Any) -> None:
    # Below a mapping of the user's only: a spec that is a string or missing is for the API server to refuse.
    if isinstance(value_at(filled.object, path[:-1]), dict) and value_at(filled.object, path) is None:
        filled.set(path, value)


def _drop_null_metadata(filled: PatchRecorder, parent: Path) -> None:
    for section in ("labels", "annotations"):
        metadata = value_at(filled.object, (*parent, "metadata"))
        if isinstance(metadata, dict) and section in metadata and metadata[section] is None:
            filled.remove((*parent, "metadata", section))


def _default_job(filled: PatchRecorder) -> None:
    spec = mapping(filled.object.get("spec"))
    if spec.get("completions") is None and spec.get("parallelism") is None:
        _default(filled, ("spec", "completions"), 1)
    _default(filled, ("spec", "parallelism"), 1)
    indexed_retries = spec.get("backoffLimitPerIndex") is not None
    _default(filled, ("spec", "backoffLimit"), 2**31 - 1 if indexed_retries else 6)
    _default(filled, ("spec", "completionMode"), "NonIndexed")
    replaced = "Failed" if spec.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    _default(filled, ("spec", "podReplacementPolicy"), replaced)
    labels = value_at(filled.object, ("spec", "template", "metadata", "labels"))
    metadata = filled.object.get("metadata")
    if isinstance(labels, dict) and labels and isinstance(metadata, dict) and not metadata.get("labels"):
        filled.set(("metadata", "labels"), labels)


def _default_pod(filled: PatchRecorder, cluster: ClusterView) -> None:
    for section in ("initContainers", "containers"):
        for index, container in enumerate(members(value_at(filled.object, ("spec", section)))):
            limits = mapping(mapping(mapping(container).get("resources")).get("limits"))
            for resource, quantity in limits.items():
                path: Path = ("spec", section, index, "resources", "requests", resource)
                if quantity is not None and value_at(filled.object, path) is None:
                    filled.set(path, quantity)
    _default_priority(filled, cluster)
    for key in (_NOT_READY, _UNREACHABLE):
        if not any(_outlasts(toleration, key) for toleration in members(value_at(filled.object, ("spec", "tolerations")))):
            seconds = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            filled.append(("spec", "tolerations"), seconds)


def _default_priority(filled: PatchRecorder, cluster: ClusterView) -> None:
    spec = mapping(filled.object.get("spec"))
    name = spec.get("priorityClassName")
    if isinstance(name, str) and name:
        found = cluster.priority_class(name)
        # A class that is known to be missing: the API server refuses the Pod before any webhook is called.
        if found is UNKNOWN or found is None:
            return
    else:
        found = cluster.default_priority_class()
        if found is UNKNOWN:
            return
        if found is not None:
            _default(filled, ("spec", "priorityClassName"), found.name)
    _default(filled, ("spec", "priority"), 0 if found is None else found.value)
    _default(filled, ("spec", "preemptionPolicy"), _PREEMPTS if found is None else found.preemption_policy)


def _outlasts(toleration: Any, key: str) -> bool:
    if not isinstance(toleration, dict):
        return False
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in ("NoExecute", None, "")
