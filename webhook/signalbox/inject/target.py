"""What an injector is handed: the view of the object as its user wrote it, and the place to write to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalbox.fieldpath import Path, join_key, value_at
from signalbox.inject.plan import Sourced
from signalbox.patch import Recorder
from signalbox.record import Entry, Record, field_name
from signalbox.workload.view import WorkloadView


@dataclass(slots=True)
class Target:
    """One object being injected.

    ``view`` shows the object without what the record says is ours; ``recorder`` holds it as it stands. ``record`` is
    filled as fields are written, ``warnings`` with what the user would otherwise wonder about. ``theirs`` are fields that
    the user has just set to something else than we had: they stay. ``infer_labels`` gives the labels that say what the
    object is, once everything else is written.
    """

    view: WorkloadView
    recorder: Recorder
    record: Record
    theirs: frozenset[str] = frozenset()
    infer_labels: Callable[[], Mapping[str, Sourced]] = dict
    warnings: list[str] = field(default_factory=list)

    def write(self, path: Path, value: Any, by: str) -> bool:
        """Sets a field and records it. False where the user has just taken it, or where its place has another shape."""
        name = field_name(path, self.recorder.object)
        if name in self.theirs:
            return False
        now = value_at(self.recorder.object, path)
        known = self.record.get(name)
        if now == value and isinstance(now, bool) == isinstance(value, bool):
            # Present already: ours from an earlier pass (then the record says so), or the user's own.
            return known is not None
        was = known.was if known is not None else now
        if not self.recorder.set(path, value):
            return False
        self.record[name] = Entry(value, was, by)
        return True

    def write_keys(self, path: Path, values: Mapping[str, Sourced]) -> list[str]:
        """Sets keys of one mapping and records them, as ``write`` does for one field. Returns the keys that stand as ours."""
        place = field_name(path, self.recorder.object)
        present = value_at(self.recorder.object, path)
        present = present if isinstance(present, dict) else {}
        names = {key: join_key(place, key) for key in values}
        ours = [key for key in values if present.get(key) == values[key].value and names[key] in self.record]
        wanted = [key for key in values if present.get(key) != values[key].value and names[key] not in self.theirs]
        if wanted and not self.recorder.merge(path, {key: values[key].value for key in wanted}):
            return ours
        for key in wanted:
            known = self.record.get(names[key])
            was = known.was if known is not None else present.get(key)
            self.record[names[key]] = Entry(values[key].value, was, values[key].by)
        return ours + wanted

    def append(self, path: Path, member: Any, by: str) -> bool:
        """Appends to a list and records the member. False where its place has another shape."""
        name = field_name(path, self.recorder.object)
        if not self.recorder.append(path, member):
            return False
        known = self.record.get(name)
        present = value_at(self.recorder.object, path)
        before = present[:-1]
        if known is not None and isinstance(known.set, list):
            self.record[name] = Entry([*known.set, member], known.was, known.by if by == known.by else f"{known.by},{by}")
        else:
            self.record[name] = Entry([member], before or None, by)
        return True
