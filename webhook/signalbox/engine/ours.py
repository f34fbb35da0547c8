"""Which labels of an object are there because a policy in force puts them there."""

from signalbox.engine.setup import Setup
from signalbox.fieldpath import Path, value_at
from signalbox.policy.subject import Subject
from signalbox.record import JUDGEMENT, field_name, is_ours, read_record
from signalbox.workload.labels import JUDGED_LABELS, QUEUE_LABEL


def is_injected(setup: Setup, subject: Subject, path: Path) -> bool:
    """Whether the label at ``path`` is ours, by the object's record and by the policies.

    The record alone would not do: anyone can write the annotation, and /mutate, which writes it anew on every update, may
    have been out of reach. So the policy that it names must inject this very value, and must not be known not to match.
    """
    obj = subject.view.object
    value = value_at(obj, path)
    entry = read_record(obj).get(field_name(path, obj))
    if entry is None or not is_ours(entry, value):
        return False
    name = path[-1]
    if entry.by == JUDGEMENT:
        return name in JUDGED_LABELS
    for policy in setup.everywhere.injecting:
        injection = policy.inject
        if policy.name == entry.by and injection is not None:
            planned = injection.queue if name == QUEUE_LABEL else injection.labels.get(str(name))
            return planned == value and (policy.match is None or policy.match(subject) is not False)
    return False
