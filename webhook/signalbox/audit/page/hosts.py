"""By which names a page may be asked: a browser sends the name in its address, whatever address that led to."""

import re
from collections.abc import Collection

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]/@\s]+)(?::[0-9]{1,5})?\Z")


def is_known_host(host: str, more: Collection[str] = ()) -> bool:
    """Whether a Host header names this page: loopback with any port, as a port-forward has it, or one of ``more``."""
    found = _HOST.match(host.strip().lower())
    return found is not None and (found[1] in LOOPBACK or found[1] in more)
