"""The pages' own process: ``python -m signalbox.audit.page.process DESCRIPTOR``, its settings on standard input.

`signalbox serve` and `signalbox controller` start it when somebody opens a page, and it ends when nobody has for a while. Low
priority and bounded memory: whatever somebody looks at, admission does not wait for it or fall with it.
"""

import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from signalbox.audit.page.app import PageApp
from signalbox.audit.page.settings import PageSettings
from signalbox.audit.page.sources import LiveSources
from signalbox.process.listener import SideListener
from signalbox.process.logs import Log
from signalbox.process.wakeup import Wakeup

_NICE = 10
_LOOK_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Answer until nobody asks any more, or the process that started this one is gone; the exit code."""
    settings = PageSettings.unpacked(sys.stdin.buffer.read())
    os.nice(_NICE)
    bound = settings.memory_mib * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (bound, bound))
    # Ctrl-C in a terminal goes to the whole group; whoever started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve_pages(socket.socket(fileno=int(arguments[0])), settings, lambda: os.getppid() != settings.parent)
    return 0


def serve_pages(
    listening: socket.socket,
    settings: PageSettings,
    is_over: Callable[[], bool] = lambda: False,
    ended_by: Sequence[signal.Signals] = (signal.SIGTERM,),
) -> None:
    """Answer until one of these signals, until ``is_over``, or until nobody has asked for the idle time."""
    log, ended = Log(settings.log_level), Wakeup()
    for number in ended_by:
        signal.signal(number, lambda *_: ended.set())
    app = PageApp(LiveSources(settings, log), log, settings.hosts)
    listener = SideListener(listening, {}, app.answer)
    listener.start()
    while not ended.wait(_LOOK_SECONDS):
        if is_over() or (settings.idle_seconds and time.monotonic() - app.last_asked > settings.idle_seconds):
            break
    # What is being answered is answered; who comes now finds the next process.
    listener.shutdown()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
