"""Whether what a container runs may be the work that its kind or its name speaks of.

``sleep`` and other tools are not, nor is a script that is named for something else.
"""

from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.kinds.kind import members
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, name_words

_TOOLS = ("program", "module")


def may_work(container: ContainerView, signs: Signs) -> bool:
    """Whether anything is run that may be it, the image's own program included."""
    if not container.started:
        # A command that starts nothing only says something: `echo hello`.
        return container.unread or not (members(container.body.get("command")) or members(container.body.get("args")))
    for started in container.started:
        target = started.target
        if target is None or (target.role in _TOOLS and target.name in signs.commands.utilities):
            continue
        if target.role == "code" or not _only_looks(target.name, signs):
            return True
    return False


def says_another(container: ContainerView, signs: Signs) -> bool:
    """Whether the last program that it runs is named for something else: `plot_curves.py`, `report.py`.

    A program text says itself what it does.
    """
    for started in reversed(container.started):
        target = started.target
        if target is None or (target.role in _TOOLS and target.name in signs.commands.utilities):
            continue
        if target.role == "code":
            return True
        words = _words(target.name)
        names = signs.names
        return bool(words) and (words[0] in names.errands or words[-1] in names.things or words[-1] in names.tasks)
    return False


def _only_looks(name: str, signs: Signs) -> bool:
    """Whether a name says that it only looks whether something works: `run_check`, `hello.py`."""
    words = _words(name)
    return bool(words) and (words[0] in signs.names.looks or words[-1] in signs.names.looks)


def _words(name: str) -> list[str]:
    file = program_name(name[-MAX_NAME:])
    return name_words(file.rpartition(".")[0] or file)
