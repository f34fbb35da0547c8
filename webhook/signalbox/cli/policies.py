"""``signalbox policies``: what the policies say, at a glance."""

import click
import orjson

from signalbox.cli.live_policies import live_options, read_policies
from signalbox.cli.setup_options import policies_option, stop_at
from signalbox.cli.terminal import stdout

_LIST_HELP = """List the policies in the order in which they inject, with their rules.

\b
Examples:
  signalbox policies list
  signalbox policies list --policies team-policies/ -o json
  signalbox policies list --live
"""


@click.group(help="Show the policies.", short_help="Show the policies.")
def command() -> None:
    """The group of commands about policies."""


@command.command("list", help=_LIST_HELP, short_help="List the policies and their rules.")
@policies_option("Policies to list; repeatable.")
@live_options
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: one array.")
def list_policies(policies: tuple[str, ...], live: bool, kubeconfig: str | None, context: str | None, output: str) -> None:
    """Prints every policy."""
    from signalbox.cli.policy_list import policies_json, write_policies
    from signalbox.configuration import load_setup_files

    loaded = load_setup_files(read_policies(policies, (), live, kubeconfig, context))
    stop_at(loaded.errors)
    if output == "json":
        click.echo(orjson.dumps(policies_json(loaded), option=orjson.OPT_INDENT_2))
    else:
        write_policies(loaded, stdout())
