"""The workloads that a report shows: those with something to say, so many of them, the hardest hit first."""

import heapq
from collections.abc import Iterator
from itertools import count

from signalbox.audit.result import Subject


class Largest:
    """Keeps at most so many subjects: refused ones before those that would be, then by accelerators."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[tuple[int, float], int, Subject]] = []
        self._number = count()
        self.dropped = 0

    def add(self, subject: Subject) -> None:
        """Take a subject in, if it has a finding."""
        if not subject.findings:
            return
        entry = (_weight(subject), -next(self._number), subject)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        else:
            self.dropped += 1
            if self._heap:
                heapq.heappushpop(self._heap, entry)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Subject]:
        # The second member never repeats: two subjects are never compared.
        return (subject for _, _, subject in sorted(self._heap, reverse=True))


def _weight(subject: Subject) -> tuple[int, float]:
    if subject.refused:
        rank = 3
    elif subject.refused_if_enforced:
        rank = 2
    else:
        rank = int(any(finding.stands for finding in subject.findings))
    return rank, subject.accelerators.total
