"""From what the command line was given to what the server polls for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from signalbox.configuration import SetupFiles, load_setup_files, read_setup_files
from signalbox.controllers import Controllers
from signalbox.policy.mode import Mode
from signalbox.policy_objects import with_objects
from signalbox.server.live import LiveCluster
from signalbox.server.source import LoadResult

_DIGITS = 12


@dataclass(frozen=True, slots=True)
class SetupLoader:
    """The paths and options of a server's setup. A fault keeps a set from replacing a good one, a warning does not."""

    policies: Sequence[Path]
    signs: Sequence[Path] = ()
    cluster: Path | None = None
    max_mode: Mode = Mode.ENFORCE
    verify_patches: bool = False
    help_page: str = ""
    controllers: Controllers | None = None
    live: LiveCluster | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """Every file and folder that it reads."""
        return (*self.policies, *self.signs, *([self.cluster] if self.cluster else []))

    def read(self) -> SetupFiles:
        """What the files hold now."""
        files = read_setup_files(self.policies, self.signs, self.cluster)
        return files if self.live is None else with_objects(files, self.live.policies.now())

    def beside(self, live: LiveCluster) -> "SetupLoader":
        """The same, with the policies that stand in a watched cluster, judging by what is known of it."""
        return replace(self, live=live)

    def last_good(self) -> SetupFiles | None:
        """What the controller kept of the last set that was whole."""
        return None if self.live is None else self.live.last_good()

    def load(self, files: SetupFiles) -> LoadResult:
        """The setup of those files."""
        loaded = load_setup_files(
            files,
            max_mode=self.max_mode,
            verify_patches=self.verify_patches,
            help_page=self.help_page,
            controllers=self.controllers,
            now=datetime.now(UTC),
            view=None if self.live is None else self.live.state,
        )
        found = loaded.setup.policies
        names = tuple(policy.name for policy in found.policies)
        return LoadResult(
            # Where no policy at all could be read there is nothing to go on with.
            loaded.setup if names else None,
            problems=tuple(str(problem) for problem in loaded.errors),
            policies=names,
            signs=loaded.signs,
            warnings=tuple(str(problem) for problem in loaded.warnings),
            left_out=loaded.left_out,
            digest=found.digest[:_DIGITS],
        )
