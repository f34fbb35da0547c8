"""``signalbox`` and ``kubectl signalbox``: one program, a module a command, loaded when the command is called."""

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from signalbox.cli.errors import INTERNAL, INTERRUPTED, UNUSABLE

_MODULES = {
    "check": ("check", "Say what the webhook would say to manifests."),
    "explain": ("explain", "Explain what a workload is taken for, line by line, and what follows."),
    "audit": ("audit", "Say who would be refused, before anyone is."),
    "diff": ("diff", "Say what a changed policy set would change."),
    "replay": ("replay", "Judge recorded requests by other policies."),
    "inspect": ("inspect", "Show what Signalbox takes a workload for, and why."),
    "lint": ("lint", "Find mistakes in policy files."),
    "test": ("test", "Run the test cases of policies."),
    "policies": ("policies", "Show the policies."),
    "kinds": ("kinds", "Show the kinds of workload; describe one of your own."),
    "serve": ("serve", "Run the webhook."),
    "controller": ("controller", "Run the controller: certificates, caBundle, and what else writes."),
    "certs": ("certs", "Say how the certificates of an installation stand; make some for development."),
    "completion": ("completion", "Print a shell completion script."),
}

_DEBUG = "--debug"
_OUTPUT_FAULTS = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EFBIG, errno.EDQUOT)
COMPLETION_VARIABLE = "_SIGNALBOX_COMPLETE"

_HELP = """Admission control for AI work on Kubernetes.

\b
Examples:
  signalbox check job.yaml                 what would the cluster say to it?
  helm template . | signalbox check -      the same for what Helm prints
  signalbox explain job.yaml               what is it taken for, which line says so, and what follows?
  signalbox lint policies/                 are the policies right?

Exit codes: 0 fine, 1 something would be refused or a test failed, 2 the call or its input was unusable.
"""


class _Commands(click.Group):
    """Knows the commands by name and imports one only when it is called: start-up time is what a CLI is judged by."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _MODULES:
            return None
        command: click.Command = import_module(f"signalbox.cli.{_MODULES[cmd_name][0]}").command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """The command called, or the nearest one there is in the message."""
        if args and args[0] not in _MODULES and not args[0].startswith("-"):
            from signalbox.policy.nearest import nearest

            raise click.UsageError(f"no command {args[0]!r}{nearest(args[0], _MODULES)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _MODULES.items()])


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("signalbox")
        except PackageNotFoundError:
            found = "(not installed, run from its sources)"
        click.echo(f"signalbox {found}")
        ctx.exit()


@click.group(cls=_Commands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(_DEBUG, is_flag=True, expose_value=False, help="On a fault of Signalbox's own, show the traceback.")
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version and exit."
)
def cli() -> None:
    """The group of all commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code. A person never sees a traceback, unless they ask for it with ``--debug``."""
    given = sys.argv[1:] if arguments is None else arguments
    # Taken wherever it stands: who has just seen a fault puts it behind the command they called.
    words = [word for word in given if word != _DEBUG]
    _open_closed_streams()
    debug = len(words) < len(given) or bool(os.environ.get("SIGNALBOX_DEBUG"))
    try:
        answer = cli.main(words, _program_name(), complete_var=COMPLETION_VARIABLE, standalone_mode=False)
        sys.stdout.flush()
        return answer if isinstance(answer, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return UNUSABLE
    except click.UsageError as error:
        where = f" (see {error.ctx.command_path} --help)" if error.ctx is not None else ""
        # click puts what there is to choose from on lines of its own.
        _complain(f"{' '.join(error.format_message().split()).rstrip('.')}{where}")
        return UNUSABLE
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python flushes stdout once more at exit: that must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.errno in _OUTPUT_FAULTS:
            # Files that are read say for themselves what is wrong with them: this is our own output.
            _complain(f"cannot write the output: {error.strerror}")
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return UNUSABLE
        text = " ".join(str(error).split())[:200]
        _complain(f"internal error: {type(error).__name__}: {text} (run with --debug for the traceback)")
        return INTERNAL


def _open_closed_streams() -> None:
    """Started with a closed stream (``>&-``), Python has none at all: what is written to it then goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 open as long as the program runs


def _program_name() -> str:
    return "kubectl signalbox" if os.path.basename(sys.argv[0]).startswith("kubectl-") else "signalbox"


def _complain(text: str) -> None:
    print(f"signalbox: {text}", file=sys.stderr)
