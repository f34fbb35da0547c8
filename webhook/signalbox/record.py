"""What Signalbox put into an object, as the object itself remembers it: annotation ``workload.ai/injected``.

JSON, one entry a field: ``{"spec.template.spec.terminationGracePeriodSeconds": {"set": 300, "was": 30, "by": "research"}}``;
``by`` names the policy, ``judgement`` where no policy asked for it, ``signalbox`` for the notes it keeps for itself. For a
list, ``set`` holds the members we appended. A value is ours only while it equals ``set``; from then on it is its user's. The
record proves nothing to a check: values are judged as they stand.
"""

from dataclasses import dataclass
from typing import Any

import orjson

from signalbox.fieldpath import FieldPathError, Path, format_path, parse_path, resolve_path, value_at
from signalbox.patch import Recorder
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.labels import INJECTED, JUDGED_LABELS

JUDGEMENT = "judgement"
BOOKKEEPING = "signalbox"


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
    try:
        entries = orjson.loads(text)
    except ValueError:
        return {}
    record = {}
    for field, entry in mapping(entries).items():
        if isinstance(entry, dict) and "set" in entry:
            record[field] = Entry(entry["set"], entry.get("was"), str(entry.get("by", "")))
    return record


def write_record(recorder: Recorder, record: Record) -> None:
    """Writes the record into the object, if it differs from what stands there."""
    path: Path = ("metadata", "annotations", INJECTED)
    present = value_at(recorder.object, path)
    if not record:
        if present is not None:
            recorder.remove(path)
        return
    entries = {field: {"set": entry.set, "was": entry.was, "by": entry.by} for field, entry in sorted(record.items())}
    text = orjson.dumps(entries).decode()
    if text != present:
        recorder.set(path, text)


def field_name(path: Path, obj: JsonObject) -> str:
    """How the record names a field: list members by name (``replicatedJobs`` keep their names, not their places)."""
    return format_path(path, obj)


def field_path(field: str, obj: JsonObject) -> Path | None:
    """Where a recorded field stands in this object; None where it has no such place."""
    try:
        return resolve_path(parse_path(field), obj)
    except FieldPathError:
        return None


def is_ours(entry: Entry, value: Any) -> bool:
    """Whether a value is still what we set: equal, or for a list still holding every member we appended."""
    if isinstance(entry.set, list):
        return isinstance(value, list) and all(member in value for member in entry.set)
    return bool(value == entry.set) and isinstance(value, bool) == isinstance(entry.set, bool)


def still_ours(record: Record, obj: JsonObject) -> Record:
    """The entries whose values still stand in the object as we set them."""
    kept = {}
    for field, entry in record.items():
        path = field_path(field, obj)
        if path is not None and is_ours(entry, value_at(obj, path)):
            kept[field] = entry
    return kept


def own_labels(record: Record, obj: JsonObject) -> frozenset[str]:
    """The names of the object's own labels that are ours."""
    labels = mapping(mapping(obj.get("metadata")).get("labels"))
    return frozenset(
        name for name, value in labels.items() if name in JUDGED_LABELS and _is_set(record, f"metadata.labels[{name}]", value)
    )


def _is_set(record: Record, field: str, value: Any) -> bool:
    entry = record.get(field)
    return entry is not None and is_ours(entry, value)


def without_ours(obj: JsonObject, record: Record) -> JsonObject:
    """The object as its user wrote it: every value that is still ours set back to what was there before."""
    recorder = Recorder(obj)
    for field, entry in still_ours(record, obj).items():
        path = field_path(field, obj)
        if path is None:
            continue
        if isinstance(entry.set, list):
            rest = [member for member in value_at(recorder.object, path) if member not in entry.set]
            if rest or entry.was is not None:
                recorder.set(path, rest)
            else:
                recorder.remove(path)
        elif entry.was is None:
            recorder.remove(path)
        else:
            recorder.set(path, entry.was)
    return recorder.object


def restore(recorder: Recorder, old: JsonObject, record: Record) -> frozenset[str]:
    """Puts back, on an UPDATE, what the request dropped or set back to what was there before us.

    A user's own list or number sent again would overwrite ours: on an immutable template that is a refusal, on a
    Deployment a rollout without its toleration. ``record`` is that of ``old``. Returns the fields whose value the user
    has now set to something else: those are theirs.
    """
    theirs = set()
    for field, entry in still_ours(record, old).items():
        old_path, path = field_path(field, old), field_path(field, recorder.object)
        if old_path is None or path is None:
            continue
        old_value, value = value_at(old, old_path), value_at(recorder.object, path)
        if isinstance(entry.set, list):
            _restore_list(recorder, path, entry, old_value, value)
        elif is_ours(entry, value):
            continue
        elif value is None or value == entry.was:
            recorder.set(path, old_value)
        else:
            theirs.add(field)
    return frozenset(theirs)


def _restore_list(recorder: Recorder, path: Path, entry: Entry, old_value: list[Any], value: Any) -> None:
    present = value if isinstance(value, list) else []
    missing = [member for member in entry.set if member not in present]
    if not missing or not (value is None or isinstance(value, list)):
        return
    if present == [member for member in old_value if member not in entry.set]:
        # Order counts where a template is immutable: the old list as a whole is what the API server compares with.
        recorder.set(path, old_value)
        return
    for member in missing:
        recorder.append(path, member)
