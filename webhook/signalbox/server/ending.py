"""How a worker hears that it is to end.

Python runs the handler of a signal in the main thread, and only once that thread runs Python again. A worker's main
thread waits on a lock for as long as it serves: a signal that comes in the instant before the wait begins does not end
the wait, and the worker would be killed after the time it is given to stop (seen in one of 150 starts that were told to
end at once, on a machine with other work). A thread that waits for nothing but the signal does not miss it.
"""

import signal
import threading

ENDING = (signal.SIGTERM, signal.SIGINT)


def hear_in_a_thread() -> None:
    """In a worker's main thread, before it has others (they inherit that the ending signals are not for them).

    The first signal runs the handler that is set by then, in a thread of its own; later ones do nothing. So a handler
    must not count on running in the main thread: Granian's sets an event of its own, ours before it leaves at once.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    threading.Thread(target=_hear, name="ending", daemon=True).start()


def _hear() -> None:
    number = signal.sigwait(ENDING)
    handler = signal.getsignal(number)
    if callable(handler):
        handler(number, None)
