"""Options that may be given as environment variables too, as a Deployment does."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])


class _Option(click.Option):
    """An option whose fault is told of what was written: the option, or the environment variable."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """How the message names it."""
        given = ctx.get_parameter_source(self.name) if ctx is not None and self.name else None
        return f"'{self.envvar}'" if given is ParameterSource.ENVIRONMENT else super().get_error_hint(ctx)


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """An option that is also read from SIGNALBOX_ and its name, in capitals."""
    variable = "SIGNALBOX_" + names[0].partition("/")[0].removeprefix("--").replace("-", "_").upper()
    settings.setdefault("show_default", True)
    return click.option(*names, cls=_Option, envvar=variable, **settings)
