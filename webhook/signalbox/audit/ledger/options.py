"""How a ledger is kept."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    # With it comes SQLAlchemy, which a command line that only shows its help can do without.
    from signalbox.audit.ledger.database import Address

Allowed = Literal["none", "sample", "all"]
ALLOWED: tuple[Allowed, ...] = ("none", "sample", "all")

QUEUE = 10_000
QUEUE_BYTES = 64 * 1024 * 1024
RATE = 0.05
DAYS = 90.0
MOST_BYTES = 2 * 1024**3
BUSY_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Redaction:
    """The rules of what is kept: globs of names of variables and annotations whose values stay, unless they look secret."""

    keep_env: tuple[str, ...] = ()
    keep_annotations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retention:
    """What is deleted: what is older than ``days``, and the oldest of what is more than ``most_bytes``; 0 keeps all."""

    days: float = DAYS
    most_bytes: int = MOST_BYTES


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """Where the ledger is and what comes into it.

    ``allowed``: what becomes of requests in which nothing was found; ``sample`` keeps the share ``rate`` of them. ``queue``
    and ``queue_bytes`` bound what waits to be written, ``largest_object`` what is kept of one request.
    ``flush_seconds`` is how long an entry waits for others to be written with; ``stop_seconds`` bounds the last write.
    """

    address: "Address"
    allowed: Allowed = "sample"
    rate: float = RATE
    queue: int = QUEUE
    queue_bytes: int = QUEUE_BYTES
    largest_object: int = 512 * 1024
    redaction: Redaction = field(default_factory=Redaction)
    retention: Retention = field(default_factory=Retention)
    flush_seconds: float = 0.25
    stop_seconds: float = 5.0
    busy_seconds: float = BUSY_SECONDS

    @property
    def kept_rate(self) -> float:
        """The share of what was allowed that is recorded."""
        return {"none": 0.0, "sample": self.rate, "all": 1.0}[self.allowed]
