"""How the watch of a kind stands: told by the process that watches, shown by the one that serves."""

from dataclasses import dataclass, field

# Reasons become labels of a metric; the words are the server's.
_MOST_REASONS = 20


@dataclass(slots=True)
class KindStatus:
    """How the watch of one kind stands.

    ``contact``: when the API server last answered, by a clock that all processes of a machine share and nobody sets.
    ``unread``: how many objects are too large to be kept.
    """

    state: str = "unknown"
    contact: float = 0.0
    objects: int = 0
    unread: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    fault: str = ""

    def failed(self, reason: str) -> None:
        """Count a failure."""
        known = reason if reason in self.failures or len(self.failures) < _MOST_REASONS else "other"
        self.failures[known] = self.failures.get(known, 0) + 1
