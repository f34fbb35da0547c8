"""Which labels of an object are there because a policy in force puts them there."""

from signalbox.engine.setup import Setup
from signalbox.fieldpath import Path, value_at
from signalbox.policy.subject import Subject
from signalbox.record import JUDGEMENT, Record, field_name, is_ours, read_record
from signalbox.workload.labels import CHECKPOINT_REQUIRED, JUDGED_LABELS, QUEUE_LABEL
from signalbox.workload.lazy import lazy


class InjectedLabels:
    """Tells of each label of one object whether it is ours, by the object's record and by the policies.

    The record alone would not do: anyone can write the annotation, and /mutate, which writes it anew on every update, may
    have been out of reach. So the policy that it names must inject this very value, and must not be known not to match.
    """

    def __init__(self, setup: Setup, subject: Subject) -> None:
        self._setup = setup
        self._subject = subject

    @lazy
    def _record(self) -> Record:
        # As long as its user likes, and asked about for each label: read once.
        return read_record(self._subject.view.object)

    @lazy
    def _judged(self) -> tuple[str | None, ...]:
        """What we would write into labels of our own."""
        view = self._subject.view
        return (view.type.state, view.framework.state, CHECKPOINT_REQUIRED)

    def __call__(self, path: Path) -> bool:
        """Whether the label at ``path`` is there because a policy in force puts it there."""
        obj = self._subject.view.object
        value = value_at(obj, path)
        entry = self._record.get(field_name(path, obj))
        if entry is None or not is_ours(entry, value):
            return False
        name = path[-1]
        if entry.by == JUDGEMENT:
            return name in JUDGED_LABELS and value in self._judged
        for policy in self._setup.everywhere.injecting:
            injection = policy.inject
            if policy.name == entry.by and injection is not None:
                planned = injection.queue if name == QUEUE_LABEL else injection.labels.get(str(name))
                return planned == value and (policy.match is None or policy.match(self._subject) is not False)
        return False
