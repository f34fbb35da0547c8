"""What a container is told by name: its environment variables, and the options of the programs that it runs."""

from collections.abc import Iterator
from typing import NamedTuple

from signalbox.fieldpath import Path
from signalbox.workload.containers import ContainerView
from signalbox.workload.meaning import Meaning, meaning_of
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME


class NamedSetting(NamedTuple):
    """One variable or option: what it means, if anything, its value, where it stands and how it is shown to people."""

    name: str
    meaning: Meaning | None
    value: str
    path: Path
    shown: str
    in_command: bool


def named_settings(container: ContainerView, signs: Signs) -> Iterator[NamedSetting]:
    """Every variable, and every option that means anything; those of a launcher are none of the program's."""
    for index, name, _ in container.variables:
        value = container.env.get(name, "")
        shown = f"{name}={value[:MAX_NAME]}"
        yield NamedSetting(name, meaning_of(name, signs), value, container.place("env", index), shown, in_command=False)
    for started in container.started:
        invocation = started.invocation
        for option in started.options:
            if option.at >= started.at:
                name = started.name_of(option)
                shown = started.shown(option)[:MAX_NAME]
                yield NamedSetting(name, option.meaning, option.value, invocation.field(option.at), shown, in_command=True)
