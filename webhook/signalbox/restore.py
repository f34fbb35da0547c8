"""Setting an object back to what its user wrote, and, on an UPDATE, what its user dropped back to what we wrote.

Both follow a record (`record.py`), field by field.
"""

from dataclasses import dataclass
from typing import Any

from signalbox.fieldpath import Members, Path, format_path, value_at
from signalbox.patch import PatchRecorder
from signalbox.record import Entry, Record, field_path, is_ours
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

# Nobody's list that we append to is as long; members are compared each with each.
_LONGEST_LIST = 1000

Places = dict[Path, dict[int, str]]
"""Recorded members of lists: by the list's path the index of each, and the field that names it."""


def without_ours(obj: JsonObject, record: Record) -> JsonObject:
    """The object as its user wrote it: every value of ``record``, which is still ours there, set back to what was before."""
    recorder = PatchRecorder(obj)
    members: Members = {}
    taken: Places = {}
    for field, entry in record.items():
        # Lists keep their members' places until the end, so the paths in the object as it came hold for the copy too.
        path = field_path(field, obj, members)
        if path is None:
            continue
        if type(path[-1]) is int:
            if path[-2] == "env":
                taken.setdefault(path[:-1], {})[path[-1]] = field
            continue
        present = value_at(recorder.object, path)
        if isinstance(entry.set, list):
            rest = [member for member in present if member not in entry.set] if isinstance(present, list) else []
            if rest or entry.was is not None:
                recorder.set(path, rest)
            else:
                recorder.remove(path)
        elif entry.was is None:
            recorder.remove(path)
        else:
            recorder.set(path, entry.was)
    for path, places in taken.items():
        rest = [member for index, member in enumerate(value_at(obj, path)) if index not in places]
        if rest:
            recorder.set(path, rest)
        else:
            recorder.remove(path)
    return recorder.object


@dataclass(frozen=True, slots=True)
class Restored:
    """The fields of a record that an UPDATE put back, and those that the user has now set to something else."""

    put_back: frozenset[str] = frozenset()
    theirs: frozenset[str] = frozenset()


def restore(recorder: PatchRecorder, old: JsonObject, record: Record) -> Restored:
    """Puts back, on an UPDATE, what the request dropped or set back to what was there before us.

    A user's own list or number sent again would overwrite ours: on an immutable template that is a refusal, on a
    Deployment a rollout without its toleration. ``record`` is what of ``old``'s record is still ours there. What the user
    has now set to something else is theirs.
    """
    theirs, put_back = set(), set()
    asked = recorder.object
    members: Members = {}
    named: Places = {}
    for field, entry in record.items():
        old_path = field_path(field, old, members)
        if old_path is not None and type(old_path[-1]) is int:
            # We append no other named members: a container that is called like a field of ours is none.
            if old_path[-2] == "env":
                named.setdefault(old_path[:-1], {})[old_path[-1]] = field
            continue
        path = field_path(field, asked, members)
        if old_path is None or path is None:
            continue
        old_value, value = value_at(old, old_path), value_at(recorder.object, path)
        if isinstance(entry.set, list):
            _restore_list(recorder, path, entry, old_value, value)
        elif is_ours(entry, value):
            continue
        elif value is None or value == entry.was:
            recorder.set(path, old_value)
            put_back.add(field)
        else:
            theirs.add(field)
    for old_path, places in named.items():
        # Where the list stands now is asked before anything is appended to another.
        path = field_path(format_path(old_path, old), asked, members)
        if path is not None:
            put_back.update(_restore_named(recorder, path, value_at(old, old_path), places))
    return Restored(frozenset(put_back), frozenset(theirs))


def _restore_named(recorder: PatchRecorder, path: Path, old: list[Any], places: dict[int, str]) -> list[str]:
    """Puts back the members at ``places`` whose names the request has not; one of the same name is its user's now."""
    value = value_at(recorder.object, path)
    if not isinstance(value, list | None):
        return []
    present = value or []
    names = {entry["name"] for entry in present if isinstance(entry, dict) and isinstance(entry.get("name"), str)}
    missing = [index for index in sorted(places) if mapping(old[index]).get("name") not in names]
    if len(missing) == len(places) and present == [entry for index, entry in enumerate(old) if index not in places]:
        # Order counts where a template is immutable.
        recorder.set(path, old)
    else:
        for index in missing:
            recorder.append(path, old[index])
    return [places[index] for index in missing]


def _restore_list(recorder: PatchRecorder, path: Path, entry: Entry, old_value: list[Any], value: Any) -> None:
    present = value if isinstance(value, list) else []
    if len(present) > _LONGEST_LIST:
        return
    missing = [member for member in entry.set if member not in present]
    if not missing or not (value is None or isinstance(value, list)):
        return
    if present == [member for member in old_value if member not in entry.set]:
        # Order counts where a template is immutable: the old list as a whole is what the API server compares with.
        recorder.set(path, old_value)
        return
    for member in missing:
        recorder.append(path, member)
