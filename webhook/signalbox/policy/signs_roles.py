"""Which names have which roles, where several ``WorkloadSigns`` documents speak of them.

Some roles cannot be held at once: a program that is known for its work is no mere tool, and a volume keeps what is written or
does not. What a later document says of a name takes it out of the roles that rule this one out. All other roles add up, and
within one document a name has every role it is given.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Name = TypeVar("Name", bound=Hashable)

Rivals = tuple[tuple[str, ...], ...]
"""Each row holds roles of which a name has one only. Those in one text, with spaces between, go together."""

COMMANDS: Rivals = (
    ("launcher", "wrapper", "interpreter", "utility idle"),
    ("launcher", "shell"),
    # A launcher may be known for a type: `horovodrun` starts nothing but trainings.
    ("type", "wrapper", "interpreter", "idle"),
    # A utility is one whatever follows it: `forge tune` says something only where `forge` is none.
    ("type-program framework-program", "utility"),
    ("selector", "choice"),
)
NAMES: Rivals = (
    # What its last word says of a name.
    ("thing", "part", "task", "agent"),
    # What its first word says of it.
    ("order", "errand look"),
    ("join", "aside"),
    ("filler", "thing part errand task order look join aside agent"),
)
PORTS: Rivals = (("rendezvous", "interactive"),)
CHECKPOINT: Rivals = (
    # Words of options, which are other names than whole options.
    ("never", "subject place folder bucket saving frequency owner"),
    ("subject", "owner never-around"),
    ("bucket", "place folder"),
    # Whole options.
    ("switch", "configuration", "output", "output-of output-when-saving"),
    ("output", "output-of"),
    ("root", "switch configuration output"),
    # Words of mounts and volumes.
    ("mount mount-weak", "mount-never mount-data mount-log"),
    ("mount mount-weak", "mount-never", "model-mount"),
    ("call", "call-of"),
    ("copier", "tidier"),
)
STORES: Rivals = (("rooted", "hosted"),)
VOLUMES: Rivals = (("durable", "ephemeral", "read-only"),)
RESUME: Rivals = (("word", "never"), ("option", "load", "anew"))


class Roles(Generic[Name]):
    """The names of each role, once all documents have been read. Each document is pairs of a role and a name."""

    def __init__(self, documents: Iterable[Iterable[tuple[str, Name]]], rivals: Rivals) -> None:
        ruled_out = _ruled_out(rivals)
        self._names: dict[str, dict[Name, None]] = {}
        for document in documents:
            said = list(document)
            taken: dict[str, set[Hashable]] = {}
            for role, name in said:
                for rival in ruled_out.get(role, ()):
                    taken.setdefault(rival, set()).add(_same(name))
            for rival, names in taken.items():
                earlier = self._names.get(rival, {})
                self._names[rival] = {name: None for name in earlier if _same(name) not in names}
            for role, name in said:
                self._names.setdefault(role, {})[name] = None

    def __getitem__(self, role: str) -> frozenset[Name]:
        return frozenset(self._names.get(role, ()))

    def in_order(self, role: str) -> tuple[Name, ...]:
        """The names of a role as they were written, the earliest first."""
        return tuple(self._names.get(role, ()))


def _same(name: Hashable) -> Hashable:
    """What names are compared by: for its type a program is looked up in lower case, else as it is written."""
    return name.lower() if isinstance(name, str) else name


def _ruled_out(rivals: Rivals) -> dict[str, set[str]]:
    """For each role those that no name has beside it."""
    found: dict[str, set[str]] = {}
    for row in rivals:
        for at, together in enumerate(row):
            others = {role for index, other in enumerate(row) if index != at for role in other.split()}
            for role in together.split():
                found.setdefault(role, set()).update(others)
    return found
