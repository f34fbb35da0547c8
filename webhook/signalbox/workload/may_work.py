"""Whether what a container runs may be the work that its kind or its name speaks of.

``sleep`` and other tools are not, nor is a script that is named for something else.
"""

from collections.abc import Iterator

from signalbox.workload.containers import ContainerView
from signalbox.workload.kinds.kind import members
from signalbox.workload.naming import read_name
from signalbox.workload.signs import Signs
from signalbox.workload.target import Target

_TOOLS = ("program", "module")


def may_work(container: ContainerView, signs: Signs) -> bool:
    """Whether anything is run that may be it, the image's own program included."""
    if not container.started:
        # A command that starts nothing only says something: `echo hello`.
        return container.unread or not (members(container.body.get("command")) or members(container.body.get("args")))
    return any(
        target.role == "code" or not read_name(_called(target, signs), signs).look for target in _no_tools(container, signs)
    )


def says_another(container: ContainerView, signs: Signs) -> bool:
    """Whether the last program that it runs is named for something else: `plot_curves.py`, `report.py`.

    A program text says itself what it does.
    """
    last = next(_no_tools(container, signs), None)
    if last is None:
        return False
    if last.role == "code":
        return True
    stem = _called(last, signs)
    read = read_name(stem, signs)
    return read.another or (read.thing and stem.lower() not in signs.commands.generic_scripts)


def does_another(container: ContainerView, signs: Signs) -> bool:
    """Whether the last script that it runs is named for something else that is done: `precompute_latents.py`."""
    last = next(_no_tools(container, signs), None)
    return last is not None and last.role in ("script", "module") and read_name(_called(last, signs), signs).another


def _no_tools(container: ContainerView, signs: Signs) -> Iterator[Target]:
    """What it runs, the last first."""
    for started in reversed(container.started):
        target = started.target
        if target is not None and not (target.role in _TOOLS and target.name in signs.commands.utilities):
            yield target


def _called(target: Target, signs: Signs) -> str:
    """What it is called; of a module of no name (`vllm_router.app`) its package."""
    stem = target.stem
    if target.role == "module" and stem.lower() in signs.commands.generic_scripts:
        return target.name.rpartition(".")[0].rpartition(".")[2] or stem
    return stem
