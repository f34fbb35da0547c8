"""What an injector is handed: the view of the object as its user wrote it, and the place to write to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from signalbox.fieldpath import Members, Path, join_key, value_at
from signalbox.inject.plan import Sourced
from signalbox.patch import PatchRecorder
from signalbox.record import Entry, Record, field_name, field_path, is_ours, join_sources
from signalbox.review import JsonObject
from signalbox.workload.view import WorkloadView


@dataclass(slots=True)
class InjectionTarget:
    """One object being injected.

    ``view`` shows the object without what the record says is ours; ``recorder`` holds it as it stands. ``record`` is
    filled as fields are written; what ``earlier`` records of them, from an earlier pass, is taken over then. ``warnings`` is
    filled with what the user would otherwise wonder about. ``theirs`` are fields that
    the user has just set to something else than we had: they stay. ``infer_labels`` gives the labels that say what the
    object is, once everything else is written.
    """

    view: WorkloadView
    recorder: PatchRecorder
    record: Record
    earlier: Record = field(default_factory=dict)
    theirs: frozenset[str] = frozenset()
    infer_labels: Callable[[], Mapping[str, Sourced]] = dict
    warnings: list[str] = field(default_factory=list)
    _leads_back: dict[Path, bool] = field(default_factory=dict, repr=False)
    _members: Members = field(default_factory=dict, repr=False)

    def write(self, path: Path, value: Any, by: str) -> bool:
        """Sets a field and records it. False where the user has just taken it, or where its place has another shape."""
        name = field_name(path, self.recorder.object)
        if name in self.theirs or not self._can_be_recorded(path):
            return False
        now = value_at(self.recorder.object, path)
        known = self.earlier.get(name) or self.record.get(name)
        if now == value and isinstance(now, bool) == isinstance(value, bool):
            # Present already: ours from an earlier pass (then the record says so), or the user's own.
            if known is not None:
                self.record[name] = known
            return known is not None
        was = known.was if known is not None else _like(now, value)
        if not self.recorder.set(path, value):
            return False
        self.record[name] = Entry(value, was, by)
        return True

    def write_keys(self, path: Path, values: Mapping[str, Sourced]) -> list[str]:
        """Sets keys of one mapping and records them, as ``write`` does for one field. Returns the keys that stand as ours."""
        place = field_name(path, self.recorder.object)
        if not self._can_be_recorded(path):
            return []
        present = value_at(self.recorder.object, path)
        present = present if isinstance(present, dict) else {}
        names = {key: join_key(place, key) for key in values}
        known = {key: self.earlier.get(names[key]) or self.record.get(names[key]) for key in values}
        ours = [key for key in values if present.get(key) == values[key].value and known[key] is not None]
        self.record.update({names[key]: entry for key in ours if (entry := known[key]) is not None})
        wanted = [key for key in values if present.get(key) != values[key].value and names[key] not in self.theirs]
        # Taken before the write: the recorder may own this very mapping and change it in place.
        before = {key: _like(present.get(key), values[key].value) for key in wanted}
        if wanted and not self.recorder.merge(path, {key: values[key].value for key in wanted}):
            return ours
        for key in wanted:
            entry = known[key]
            was = entry.was if entry is not None else before[key]
            self.record[names[key]] = Entry(values[key].value, was, values[key].by)
        return ours + wanted

    def append(self, path: Path, member: Any, by: str) -> bool:
        """Appends to a list and records the member. False where its place has another shape."""
        name = field_name(path, self.recorder.object)
        before = value_at(self.recorder.object, path)
        if not self._can_be_recorded(path) or not self.recorder.append(path, member):
            return False
        self._record_member(name, member, before, by)
        return True

    def write_named(self, path: Path, wanted: Sequence[tuple[JsonObject, str]]) -> None:
        """Appends members that have a name to a list, and records each by its name.

        One that stands there already is left as it is if it is the user's, and set anew if it is ours.
        """
        present = value_at(self.recorder.object, path)
        if not isinstance(present, list | None) or not self._can_be_recorded(path):
            return
        place = field_name(path, self.recorder.object)
        places: dict[Any, int] = {}
        for index, entry in enumerate(present or ()):
            if isinstance(entry, dict) and isinstance(entry.get("name"), str):
                places.setdefault(entry["name"], index)
        for member, by in wanted:
            name = f"{place}[{member['name']}]"
            known = self.earlier.get(name) or self.record.get(name)
            at = places.get(member["name"])
            if at is None:
                if self.recorder.append(path, member):
                    self.record[name] = Entry(member, None, by)
            elif known is not None and present is not None and is_ours(known, present[at]):
                if known.set == member or not self.recorder.set((*path, at), member):
                    self.record[name] = known
                else:
                    self.record[name] = Entry(member, None, by)

    def keep(self, path: Path, member: Any) -> None:
        """A member of a list stays as it is, and ours if it was."""
        name = field_name(path, self.recorder.object)
        entry = self.earlier.get(name)
        if entry is not None and isinstance(entry.set, list) and member in entry.set:
            self._record_member(name, member, entry.was, entry.by)

    def _can_be_recorded(self, path: Path) -> bool:
        """Whether a field's name leads back to it: of two list members with one name only the first could be found again."""
        for last in range(len(path) - 1, -1, -1):
            if type(path[last]) is int:
                break
        else:
            return True
        member = path[: last + 1]
        known = self._leads_back.get(member)
        if known is None:
            obj = self.recorder.object
            known = self._leads_back[member] = field_path(field_name(member, obj), obj, self._members) == member
        return known

    def _record_member(self, name: str, member: Any, was: Any, by: str) -> None:
        entry = self.record.get(name)
        if entry is None or not isinstance(entry.set, list):
            self.record[name] = Entry([member], was or None, by)
        elif member not in entry.set:
            self.record[name] = Entry([*entry.set, member], entry.was, join_sources(entry.by, by))


def _like(was: Any, value: Any) -> Any:
    """What stood there, if it was of the kind of what is written; nothing else is worth putting back."""
    return was if type(was) is type(value) else None
