"""Whether a workload of the cluster asks for anything any more: work that has ended, or is on its way out, holds nothing."""

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import WorkloadKind, mapping, members

_ENDED = frozenset({"complete", "completed", "succeeded", "failed", "finished"})
# Where a kind says it in a word of its own instead of a condition: Pods, RayJob, Volcano's Job, SparkApplication.
_WORDS: tuple[Path, ...] = (
    ("status", "phase"),
    ("status", "jobStatus"),
    ("status", "state", "phase"),
    ("status", "applicationState", "state"),
)
_ENDING_WORDS = _ENDED | {"stopped", "aborted", "terminated"}
_ENDS = frozenset({"once", "pod"})


def is_finished(obj: JsonObject, kind: WorkloadKind) -> bool:
    """Whether a stored object has run to its end, well or not, or is being deleted."""
    if mapping(obj.get("metadata")).get("deletionTimestamp") is not None:
        return True
    if kind.runs not in _ENDS or not obj.get("status"):
        return False
    for condition in members(value_at(obj, ("status", "conditions"))):
        if isinstance(condition, dict) and condition.get("status") == "True" and _is(condition.get("type"), _ENDED):
            return True
    return any(_is(value_at(obj, path), _ENDING_WORDS) for path in _WORDS)


def _is(word: object, words: frozenset[str]) -> bool:
    return isinstance(word, str) and word.lower() in words
