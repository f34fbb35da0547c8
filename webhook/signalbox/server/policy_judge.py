"""/policies: the answer to a write of a policy object, beside the files in force and the objects in the cluster."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from signalbox.configuration import SetupFiles
from signalbox.engine import Outcome
from signalbox.policy_objects import with_objects
from signalbox.policy_writes import judge_policy_write
from signalbox.review import Request
from signalbox.server.live import LiveCluster
from signalbox.server.source import SetupSource

if TYPE_CHECKING:
    from signalbox.engine import Setup

# Long enough for the watch to tell of what the same `kubectl apply` has just written.
_LATER_SECONDS = 0.75


@dataclass(frozen=True, slots=True)
class PolicyJudge:
    """Judges writes of policies as the engine judges those of workloads. Without ``live`` the files alone are known."""

    source: SetupSource
    live: LiveCluster | None = None
    sleep: Callable[[float], None] = time.sleep

    def __call__(self, setup: "Setup", asked: Request, now: datetime) -> Outcome:
        """The answer. A refusal is made sure of: a policy and an exception to it may come in one apply."""
        known = self._known()
        response = judge_policy_write(known, asked, now)
        if not response.allowed and self.live is not None:
            self.sleep(_LATER_SECONDS)
            later = self._known()
            response = response if later == known else judge_policy_write(later, asked, now)
        return Outcome(response)

    def _known(self) -> SetupFiles:
        files: SetupFiles = self.source.files
        return files if self.live is None else with_objects(files, self.live.policies.now())
