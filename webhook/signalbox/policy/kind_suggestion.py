"""A ``WorkloadKind`` for a custom resource that nobody has described, from one object of it.

Pod templates look alike wherever they stand: a mapping with a list of containers. How many Pods each makes is told by fields
around it that are called as such fields mostly are. All of it is a suggestion: whoever knows the operator looks it through.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from signalbox.fieldpath import Path, format_path
from signalbox.policy.kind_document import EVERY, KindSpec
from signalbox.policy.resources import GROUP
from signalbox.policy.signs_document import Metadata
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import Runs, mapping, members
from signalbox.workload.naming import read_name
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words

# Bounds what one object can cost, whatever stands in it.
_MOST_NODES = 20_000
_MOST_TEMPLATES = 16
_DEEPEST = 32

# An operator's own tool may fill in the image.
_OF_A_CONTAINER = frozenset({"image", "command", "args", "resources"})
_COUNTS = (
    "replicas",
    "parallelism",
    "numReplicas",
    "replicaCount",
    "count",
    "size",
    "numNodes",
    "nodes",
    "numWorkers",
    "workers",
    "instances",
    "taskNumber",
)
_GPUS = ("gpu", "gpus", "numGpus", "gpuCount")
_ENTRYPOINTS = ("entrypoint", "command", "python", "script")
# How deep the words for accelerators, and for what is run, may stand beside the templates.
_DEEPEST_COUNT = 2
_DEEPEST_ENTRYPOINT = 3
_ASKS_HOW_IT_FARES = frozenset(
    {"health", "healthcheck", "probe", "check", "liveness", "readiness", "hook", "hooks", "lifecycle"}
)
_RESOURCE = "nvidia.com/gpu"
# What says of an object who it is and how it fares; copies of its templates may stand there.
_NO_PART = ("metadata", "status")
_ONCE = frozenset({"job", "run", "task", "workflow", "pipeline", "experiment", "trial", "sweep", "benchmark", "training"})
_SCHEDULED = frozenset({"cron", "scheduled", "schedule"})
_FOREVER = frozenset({"service", "server", "serving", "deployment", "set", "rollout", "endpoint", "app", "application"})


def suggest_kind(obj: JsonObject, signs: Signs) -> KindSpec | None:
    """What a ``WorkloadKind`` would say of the object's kind; None where nothing in it looks like what makes Pods."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    kind = obj.get("kind")
    if not version or group == GROUP or not isinstance(kind, str) or len(kind) > MAX_NAME:
        return None
    specs = [path for path, _ in zip(_pod_specs(obj), range(_MOST_TEMPLATES), strict=False)]
    templates = [_template(obj, steps, paths) for steps, paths in _merged(obj, specs)]
    spec = mapping(obj.get("spec"))
    accelerators = [] if templates else _accelerators(spec)
    entrypoint = None if any(_has_command(_at(obj, path)) for path in specs) else _entrypoint(spec)
    made_for = read_name(kind, signs).plain
    try:
        return KindSpec.model_validate(
            {
                "group": group,
                "kind": kind,
                "runs": _runs(kind, [_at(obj, path) for path in specs], signs),
                "templates": templates,
                "accelerators": accelerators,
                "entrypoint": entrypoint,
                "type": None if made_for is None else made_for.says,
            }
        )
    except ValidationError:
        # A group or kind of Kubernetes' own, or nothing that makes Pods.
        return None


def suggested_document(spec: KindSpec) -> JsonObject:
    """The document to write down."""
    # Two groups may have a kind of one name.
    name = Metadata(name=f"{spec.kind.lower()}.{spec.group}")
    return {
        "apiVersion": "policy.workload.ai/v1alpha1",
        "kind": "WorkloadKind",
        "metadata": name.model_dump(exclude_defaults=True),
        "spec": spec.model_dump(exclude_defaults=True) | {"runs": spec.runs},
    }


def _pod_specs(obj: Any) -> Iterator[Path]:
    """Where mappings with a list of containers stand, those in others left out, and what is in another object that is held."""
    waiting: list[tuple[Path, Any]] = [((key,), value) for key, value in obj.items() if key not in _NO_PART]
    for seen, (path, here) in enumerate(waiting):
        if seen > _MOST_NODES:
            return
        if isinstance(here, dict):
            if "apiVersion" in here and "kind" in here:
                continue
            if any(isinstance(one, dict) and not _OF_A_CONTAINER.isdisjoint(one) for one in members(here.get("containers"))):
                yield path
            elif len(path) < _DEEPEST:
                waiting += [((*path, key), value) for key, value in here.items() if isinstance(key, str)]
        elif isinstance(here, list) and len(path) < _DEEPEST:
            waiting += [((*path, index), value) for index, value in enumerate(here)]


def _merged(obj: JsonObject, paths: list[Path]) -> list[tuple[tuple[str, ...], list[Path]]]:
    """Steps with ``*`` for members of lists, and of mappings that hold nothing but templates, with the paths they stand for."""
    found: dict[tuple[str, ...], list[Path]] = {}
    covered: set[Path] = set()
    for path in paths:
        if path in covered:
            continue
        alike, at = next(_alike(obj, path, set(paths) - covered), ([path], -1))
        covered.update(alike)
        steps = tuple([EVERY if isinstance(step, int) or index == at else step for index, step in enumerate(path)])
        found.setdefault(steps, []).extend(alike)
    return list(found.items())


def _alike(obj: JsonObject, path: Path, left: set[Path]) -> Iterator[tuple[list[Path], int]]:
    """The paths that differ by one name, and by which step, if they are all that the members of that mapping lead to."""
    for at, step in enumerate(path):
        around = _at(obj, path[:at])
        if at == 0 or not isinstance(step, str):
            continue
        alike = [(*path[:at], key, *path[at + 1 :]) for key, value in around.items() if isinstance(value, dict)]
        if len(alike) > 1 and left.issuperset(alike):
            yield alike, at


def _template(obj: JsonObject, steps: tuple[str, ...], paths: list[Path]) -> JsonObject:
    """A TemplateEntry, not validated yet: keys of an object may be such as no path can name."""
    pods = []
    for end in range(len(steps)):
        # Who has but one Pod seldom says so: any of them may name the field.
        around = [mapping(_at(obj, path[:end])) for path in paths]
        count = next((name for name in _COUNTS if any(_is_count(one.get(name)) for one in around)), None)
        if count is not None:
            pods.append(format_path((*steps[:end], count)))
    inline = len(steps) < 2 or steps[-1] != "spec"
    return {"path": format_path(steps if inline else steps[:-1]), "pods": pods, "inline": inline}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _runs(kind: str, pod_specs: list[Any], signs: Signs) -> Runs:
    words = name_words(kind)
    policies = [mapping(one).get("restartPolicy") for one in pod_specs]
    if _SCHEDULED.intersection(words):
        return "schedule"
    if any(policy in ("Never", "OnFailure") for policy in policies) or words[-1] in _ONCE:
        return "once"
    # The last word says what it is: a `TrainingPortal` is a portal.
    if words[-1] in _FOREVER or words[-1] in signs.names.things:
        return "forever"
    return "once" if _ONCE.intersection(words) else "open"


def _accelerators(spec: JsonObject) -> list[JsonObject]:
    """A number of GPUs beside no container at all, as an AcceleratorsEntry; which resource they are is not told."""
    found = []
    for path, here in _shallow(spec, _DEEPEST_COUNT):
        name = next((one for one in _GPUS if _is_count(here.get(one))), None)
        if name is not None:
            found.append({"path": format_path((*path, name)), "resource": _RESOURCE})
    return found[:1]


def _has_command(pod_spec: JsonObject) -> bool:
    containers = [mapping(container) for container in members(pod_spec.get("containers"))]
    return any(container.get("command") or container.get("args") for container in containers)


def _entrypoint(spec: JsonObject) -> str | None:
    """What is run, in a field that is called so: several words, or a list of them."""
    for path, here in _shallow(spec, _DEEPEST_ENTRYPOINT):
        for name in _ENTRYPOINTS:
            text = here.get(name)
            of_words = isinstance(text, list) and text and all(isinstance(word, str) for word in text)
            # One word is a version, or the name of something else that is run.
            if of_words or (isinstance(text, str) and len(text.split(maxsplit=1)) > 1):
                return format_path((*path, name))
    return None


def _shallow(spec: JsonObject, deepest: int) -> Iterator[tuple[Path, JsonObject]]:
    """The mappings of a spec that are no pod templates, and ask nobody how they fare."""
    waiting: list[tuple[Path, JsonObject]] = [(("spec",), spec)]
    for seen, (path, here) in enumerate(waiting):
        if seen > _MOST_NODES:
            return
        yield path, here
        for key, value in here.items() if len(path) < deepest else ():
            if not isinstance(key, str) or not isinstance(value, dict) or "containers" in value:
                continue
            if _ASKS_HOW_IT_FARES.isdisjoint(name_words(key)):
                waiting.append(((*path, key), value))


def _at(obj: Any, path: Path) -> Any:
    for step in path:
        obj = obj[step]
    return obj
