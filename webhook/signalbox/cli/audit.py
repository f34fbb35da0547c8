"""``signalbox audit``: who would be refused. Without the name of another of its commands it is the scan."""

from importlib import import_module

import click

_DEFAULT = "scan"
_MODULES = {"scan": "audit_scan", "readiness": "readiness", "page": "audit_page"}


class _Commands(click.Group):
    """``signalbox audit -n research`` is ``signalbox audit scan -n research``; a folder of a command's name is ``./scan``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or args[0] not in _MODULES:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        command: click.Command = import_module(f"signalbox.cli.{_MODULES[cmd_name]}").command
        return command


@click.group(cls=_Commands, short_help="Say who would be refused, before anyone is.")
def command() -> None:
    """The group of the audit's commands."""
