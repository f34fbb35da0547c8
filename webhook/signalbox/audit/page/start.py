"""Starting the pages' process when somebody opens one."""

import os
import socket
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from signalbox.audit.page.settings import PageSettings
from signalbox.process.logs import Log
from signalbox.process.on_demand import OnDemand
from signalbox.process.port import ListenError, listen

_COMMAND = (sys.executable, "-m", "signalbox.audit.page.process")


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Where the pages are answered, and from what. Loopback is what a port-forward reaches and other Pods do not."""

    address: str = "127.0.0.1"
    port: int = 9091
    settings: PageSettings = field(default_factory=PageSettings)


def listen_for_pages(options: PageOptions | None, log: Log) -> socket.socket | None:
    """The socket of the pages. One that cannot be had keeps nobody from starting: it is said, and there are no pages."""
    if options is None:
        return None
    try:
        return listen(options.address, options.port)
    except ListenError as error:
        log.warning("no pages for people", text=str(error))
        return None


def pages_on_demand(
    listening: socket.socket, options: PageOptions, log: Log, quiet: AbstractContextManager[object] | None = None
) -> OnDemand:
    """The process that answers there, as long as somebody asks. Started by the process that calls this."""
    settings = replace(options.settings, parent=os.getpid())
    return OnDemand("page", listening, _COMMAND, settings.packed(), log, quiet)
