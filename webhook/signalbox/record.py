"""What Signalbox put into an object, as the object itself remembers it: annotation ``workload.ai/injected``.

JSON, one entry a field: ``{"spec.template.spec.terminationGracePeriodSeconds": {"set": 300, "was": 30, "by": "research"}}``;
``by`` names the policy, ``judgement`` where no policy asked for it, ``signalbox`` for the notes it keeps for itself. For a
list, ``set`` holds the members we appended; environment variables have an entry each, by name. A value is ours only while it
equals ``set``; from then on it is its user's. The record proves nothing to a check: values are judged as they stand.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import orjson

from signalbox.fieldpath import FieldPathError, Members, Path, format_path, parse_path, resolve_path, value_at
from signalbox.patch import PatchRecorder
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import INJECTED, JUDGED_LABELS

JUDGEMENT = "judgement"
BOOKKEEPING = "signalbox"
_LONGEST = 256 * 1024
# Most records; what else is annotated is counted only beside a longer one.
_SHORT = 64 * 1024
_MOST_MEMBERS = 64
_MOST_COMPARISONS = 1_000_000
_NOT_KEPT = ["nested too deep to be kept"]
# The sections whose members are recorded by name, and where they may stand.
_NAMED = {
    "labels": ("metadata", "spec"),
    "annotations": ("metadata", "spec"),
    "nodeSelector": ("spec",),
    "env": ("spec",),
}
# KServe's components hold one by another name (``predictor.model``).
_HOLD_CONTAINERS = ("containers", "initContainers", "predictor", "transformer", "explainer")
_INJECTED_FIELDS = frozenset({"suspend", "priorityClassName", "tolerations", "terminationGracePeriodSeconds"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One field that was written: what was set, what stood there before (None: nothing), and on whose word."""

    set: Any
    was: Any
    by: str


Record = dict[str, Entry]


def read_record(obj: JsonObject) -> Record:
    """The record of an object; entries that are no record of ours are left out."""
    text = mapping(mapping(obj.get("metadata")).get("annotations")).get(INJECTED)
    if not isinstance(text, str) or not text.startswith("{"):
        return {}
    # Ours is about a kilobyte a template. What is longer was not written by us and is not worth reading.
    if len(text) > _LONGEST:
        return {}
    try:
        entries = orjson.loads(text)
    except ValueError:
        return {}
    record = {}
    for field, entry in mapping(entries).items():
        if isinstance(entry, dict) and "set" in entry and _is_bounded(entry["set"]) and _was_the_like(entry):
            record[field] = Entry(entry["set"], entry.get("was"), str(entry.get("by", "")))
    return record


def only_injectable(record: Record, names: Container[tuple[str, ...]], suspend: Path | None = None) -> Record:
    """The entries for fields that an injector can write at all; ``names`` are those that have names, each with its section
    (``("labels", NAME)``), and ``suspend`` is the field of this kind that suspends it.

    Whoever makes an object can write its record. What it says of an image, a volume or the host's network would make us
    undo other people's changes of them.
    """
    return {field: entry for field, entry in record.items() if _is_injectable(field, names, suspend)}


def _is_injectable(field: str, names: Container[tuple[str, ...]], suspend: Path | None) -> bool:
    try:
        steps = parse_path(field)
    except FieldPathError:
        return False
    # Mostly those of a metadata; a SparkApplication has them beside the other fields of its driver.
    if len(steps) >= 3 and steps[-2] in _NAMED:
        return steps[0] in _NAMED[steps[-2]] and steps[-2:] in names and (steps[-2] != "env" or _is_of_container(steps))
    return steps == suspend or (steps[-1] in _INJECTED_FIELDS and steps[0] == "spec")


def _is_of_container(steps: tuple[str, ...]) -> bool:
    return len(steps) > 4 and steps[-4] in _HOLD_CONTAINERS


def _was_the_like(entry: JsonObject) -> bool:
    """What stood there before was of the kind of what we set: a label was text, a list a list."""
    was = entry.get("was")
    return was is None or type(was) is type(entry["set"])


def _is_bounded(value: Any) -> bool:
    """Members are compared each with each: a list longer than any of ours would cost more than it is worth."""
    return not isinstance(value, list) or len(value) <= _MOST_MEMBERS


def can_be_recorded(obj: JsonObject) -> bool:
    """Whether the object has room for the record: metadata and annotations of another shape the API server refuses anyway.

    What cannot be recorded is not written: a second pass would take it for its user's.
    """
    metadata = obj.get("metadata")
    return metadata is None or (isinstance(metadata, dict) and isinstance(metadata.get("annotations"), dict | None))


def write_record(recorder: PatchRecorder, record: Record) -> None:
    """Writes the record into the object, if it differs from what stands there."""
    path: Path = ("metadata", "annotations", INJECTED)
    present = value_at(recorder.object, path)
    if not record:
        if present is not None:
            recorder.remove(path)
        return
    entries = {field: {"set": entry.set, "was": entry.was, "by": entry.by} for field, entry in sorted(record.items())}
    try:
        text = orjson.dumps(entries).decode()
    except TypeError:
        # Nested deeper than can be written. Of a list that was there before us all that is ever asked is whether it was.
        for entry in entries.values():
            entry["was"] = _NOT_KEPT if isinstance(entry["was"], list) else entry["was"]
        text = orjson.dumps(entries).decode()
    if not _has_room(text, recorder.object):
        # The API server would refuse the object for it. Without a record what we wrote is its user's from now on.
        if present is not None:
            recorder.remove(path)
    elif text != present:
        recorder.set(path, text)


def _has_room(text: str, obj: JsonObject) -> bool:
    """Whether the annotations stay within what an object may have (TotalAnnotationSizeLimitB of apimachinery)."""
    if len(text) < _SHORT:
        return True
    annotations = mapping(mapping(obj.get("metadata")).get("annotations"))
    others = [
        word for name, value in annotations.items() if name != INJECTED for word in (name, value) if isinstance(word, str)
    ]
    return sum(len(word.encode(errors="surrogatepass")) for word in (INJECTED, text, *others)) <= _LONGEST


def field_name(path: Path, obj: JsonObject) -> str:
    """How the record names a field: list members by name (``replicatedJobs`` keep their names, not their places)."""
    return format_path(path, obj)


def field_path(field: str, obj: JsonObject, members: Members | None = None) -> Path | None:
    """Where a recorded field stands in this object; None where it has no such place."""
    try:
        return resolve_path(parse_path(field), obj, members)
    except FieldPathError:
        return None


def is_ours(entry: Entry, value: Any) -> bool:
    """Whether a value is still what we set: equal, or for a list still holding every member we appended."""
    if isinstance(entry.set, list):
        return isinstance(value, list) and all(member in value for member in entry.set)
    return bool(value == entry.set) and isinstance(value, bool) == isinstance(entry.set, bool)


def unite(hinted: Record, own: Record) -> Record:
    """Both records as one: ``own`` counts where they differ, but of a list the members of either are ours."""
    united = {**hinted, **own}
    for field, entry in own.items():
        hint = hinted.get(field)
        if hint is not None and isinstance(hint.set, list) and isinstance(entry.set, list):
            more = [member for member in hint.set if member not in entry.set]
            united[field] = Entry([*entry.set, *more], entry.was, join_sources(entry.by, hint.by))
    return united


def join_sources(first: str, second: str) -> str:
    """The policies behind one list, each named once."""
    return ",".join(dict.fromkeys((*first.split(","), *second.split(","))))


def still_ours(record: Record, obj: JsonObject) -> Record:
    """The entries whose values still stand in the object as we set them: one for each field.

    A field may be written in many ways, ``[spec]`` as well as ``spec``; of them only the first counts. Lists are compared
    member by member, as often as ours ever were and no more.
    """
    kept = {}
    members: Members = {}
    seen: set[Path] = set()
    left = _MOST_COMPARISONS
    for field, entry in record.items():
        path = field_path(field, obj, members)
        if path is None or path in seen:
            continue
        seen.add(path)
        value = value_at(obj, path)
        if isinstance(entry.set, list) and isinstance(value, list):
            left -= len(entry.set) * len(value)
            if left < 0:
                continue
        if is_ours(entry, value):
            kept[field] = entry
    return kept


def judged_labels(record: Record) -> Record:
    """The entries for labels that say what the object is."""
    ends = tuple(f"labels[{name}]" for name in JUDGED_LABELS)
    return {field: entry for field, entry in record.items() if field.endswith(ends)}


def own_labels(record: Record, obj: JsonObject) -> frozenset[str]:
    """The names of the object's own labels that are ours."""
    labels = mapping(mapping(obj.get("metadata")).get("labels"))
    recorded = {name: record.get(f"metadata.labels[{name}]") for name in JUDGED_LABELS if name in labels}
    return frozenset(name for name, entry in recorded.items() if entry is not None and is_ours(entry, labels[name]))
