"""What a duty of the controller is, and what it is given to do it with."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from prometheus_client import CollectorRegistry

from signalbox.apiserver.connection import ApiServer
from signalbox.controller.options import ControllerOptions
from signalbox.process.logs import Log


class DutyError(Exception):
    """Why a duty could not be done; the text is for people, and says what to do."""


class Duty(Protocol):
    """Something the leader does again and again, on a thread of its own.

    ``run`` may raise whatever it likes: it is counted, logged, and tried again after a while. For a moment two leaders
    may run it at once: every write carries a resourceVersion, or does no harm when it is done twice.
    """

    @property
    def name(self) -> str:
        """A few fixed words, for logs and as a label of metrics."""

    @property
    def seconds(self) -> float:
        """How long to wait after one run before the next."""

    def run(self, now: datetime) -> None:
        """Do it once."""


@dataclass(frozen=True, slots=True)
class DutyContext:
    """What duties are made from.

    ``leading`` says whether this replica leads right now: a gauge about the cluster is shown by the leader alone, and a
    long run looks at it now and then. ``stopping`` is set when the process is about to end.
    """

    api: ApiServer
    options: ControllerOptions
    log: Log
    registry: CollectorRegistry
    leading: Callable[[], bool]
    stopping: threading.Event
