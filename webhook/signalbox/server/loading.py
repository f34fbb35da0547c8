"""From what the command line was given to what the server polls for."""

from collections.abc import Callable

from signalbox.configuration import LoadedSetup
from signalbox.server.source import Load, LoadResult


def setup_loader(load: Callable[[], LoadedSetup]) -> Load:
    """A ``load`` for ``run_server``: a fault keeps a set from replacing a good one, what is only warned of does not."""

    def attempt() -> LoadResult:
        loaded = load()
        return LoadResult(
            loaded.setup,
            problems=tuple(str(problem) for problem in loaded.errors),
            policies=tuple(policy.name for policy in loaded.setup.policies.policies),
            signs=loaded.signs,
        )

    return attempt
