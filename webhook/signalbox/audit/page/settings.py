"""What the page is made from."""

from dataclasses import asdict, dataclass

import orjson

LEDGER_SECONDS = 4.0
"""No question to the ledger takes longer: whoever writes it comes first."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Where the pages have their facts from, each of them optional.

    ``asks_cluster``: the last scan and the policies come from an API server. ``policies`` and ``signs`` are those that
    `signalbox serve` is given, none means those in force there; ``cluster`` is a folder that stands for the cluster. ``scan``
    is a file of `signalbox audit -o json`. ``hosts`` are names beside loopback's by which the page may be asked.
    ``parent`` is the process without which it ends.
    """

    ledger: str = ""
    asks_cluster: bool = False
    kubeconfig: str | None = None
    context: str | None = None
    namespace: str = "signalbox-system"
    policies: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    cluster: str = ""
    max_mode: str = "enforce"
    scan: str = ""
    hosts: tuple[str, ...] = ()
    idle_seconds: float = 900.0
    memory_mib: int = 256
    parent: int = 0
    log_level: str = "info"

    def packed(self) -> bytes:
        """The settings for another process, which reads them on its standard input."""
        return orjson.dumps(asdict(self))

    @classmethod
    def unpacked(cls, data: bytes) -> "PageSettings":
        """The settings that were packed."""
        found = orjson.loads(data)
        lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        return cls(**{**found, **lists})
