"""The policies that there are now, as the controller reads them: the files that are mounted and the objects in the cluster."""

from dataclasses import dataclass
from pathlib import Path

from signalbox.apiserver.connection import ApiServer
from signalbox.configuration import SetupFiles, read_setup_files
from signalbox.policy_listing import list_policy_objects
from signalbox.policy_objects import with_objects
from signalbox.review import JsonObject


@dataclass(frozen=True, slots=True)
class PresentPolicies:
    """Where they are read. ``policies`` and ``signs`` are what `signalbox serve` is given: none means the shipped set."""

    api: ApiServer
    policies: tuple[Path, ...] = ()
    signs: tuple[Path, ...] = ()

    def read(self) -> tuple[SetupFiles, tuple[JsonObject, ...]]:
        """What a server would load, and the objects in it. Raises ApiError: half of a set is never taken for all of it."""
        objects = list_policy_objects(self.api)
        return with_objects(read_setup_files(self.policies or None, self.signs), objects), objects
