"""/livez and /readyz of the controller."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from signalbox.controller.lease import Election
from signalbox.controller.runner import DutyRunner
from signalbox.process.listener import Asked, Page


class _Stopping(Protocol):
    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Health:
    """What the two endpoints look at.

    Alive is whoever answers: what a restart would not mend (an API server that is away) is no reason for one. Ready is
    whoever reaches the API server; nothing sends requests here, so it is for people and for rollouts.
    """

    election: Election
    runners: Sequence[DutyRunner]
    stopping: _Stopping

    def livez(self, asked: Asked) -> Page:
        """GET /livez."""
        return Page(b"ok\n")

    def readyz(self, asked: Asked) -> Page:
        """GET /readyz, with ``?verbose`` in full."""
        ready = self.election.reached and not self.stopping.is_set()
        status = 200 if ready else 503
        if "verbose" not in asked.query:
            return Page(b"ok\n" if ready else b"not ready\n", status=status)
        state = {
            "ready": ready,
            "apiServerReached": self.election.reached,
            "leading": self.election.leading,
            "leader": self.election.leader or None,
            "duties": [
                {"name": one.duty.name, "lastSuccess": one.succeeded, "failures": one.failures, "error": one.error or None}
                for one in self.runners
            ],
        }
        return Page(orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n", "application/json", status)
