"""Taking a port. Imports nothing that decides at its import where metrics live."""

import os
import socket


class ListenError(Exception):
    """An address and port one cannot listen on; the text says which and why."""


def listen(address: str, port: int) -> socket.socket:
    """A listening socket. Raises ListenError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        return socket.create_server((address, port), family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ListenError(f"cannot listen on {address} port {port}: {reason}") from error
