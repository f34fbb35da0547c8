"""Forking a worker from a process that has threads and gets signals."""

import os
import signal
import threading

from signalbox.server.ending import ENDING


def guard_forks() -> threading.Lock:
    """A lock for the threads of this process to hold while they work; from now on every fork waits for it.

    So a worker never inherits a lock or a structure that a thread had half-way changed. Signals wait as well: Python
    forgets those that arrive while it puts a forked child in order, and a worker would never hear that it must end.
    """
    quiet = threading.Lock()

    def before() -> None:
        quiet.acquire()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    def after() -> None:
        quiet.release()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)

    os.register_at_fork(before=before, after_in_parent=after, after_in_child=after)
    return quiet
