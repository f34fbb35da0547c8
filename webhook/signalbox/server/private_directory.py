"""The private directory of one server, and an end to those of servers that were killed.

A container that is killed and started again keeps its /tmp: without this, each time would leave a journal more, until the
Pod is evicted for what it holds.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "signalbox-"
_LOCK = "lock"


def make_private_directory() -> Path:
    """A new directory that nobody else can open. It counts as in use until this process and all its workers are gone."""
    _clear_abandoned(Path(tempfile.gettempdir()))
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX))
    new = directory / f"{_LOCK}.new"
    # Never closed: the system lets go of it with the last process that has it.
    held = os.open(new, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    # Seen by others only when it is locked.
    new.rename(directory / _LOCK)
    return directory


def _clear_abandoned(folder: Path) -> None:
    for directory in folder.glob(f"{_PREFIX}*"):
        try:
            if directory.is_symlink() or directory.stat().st_uid != os.geteuid():
                continue
            lock = os.open(directory / _LOCK, os.O_RDWR)
        except OSError:
            # Not one of ours, or one that is being made.
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            continue
        else:
            shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
