"""``signalbox completion``: the script that makes a shell complete commands and options."""

import click

_HELP = """Print the completion script for SHELL: bash, zsh or fish.

\b
Examples:
  source <(signalbox completion bash)
  signalbox completion zsh > ~/.zfunc/_signalbox
  signalbox completion fish > ~/.config/fish/completions/signalbox.fish
"""


@click.command(help=_HELP, short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def command(shell: str) -> None:
    """Prints the script."""
    from click.shell_completion import get_completion_class

    from signalbox.cli.main import COMPLETION_VARIABLE, cli

    completion = get_completion_class(shell)
    if completion is not None:
        click.echo(completion(cli, {}, "signalbox", COMPLETION_VARIABLE).source())
