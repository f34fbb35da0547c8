"""``signalbox certs``: certificates for a webhook on a developer's machine."""

from datetime import UTC, datetime
from pathlib import Path

import click

from signalbox.cli.errors import CommandError

_DAYS = 365

_ISSUE_HELP = """Make a CA and a server certificate (ECDSA P-256) and write them into DIR.

A CA that is there already signs again, so that a caBundle made from it stays right.

\b
Examples:
  signalbox certs issue
  signalbox certs issue --out certs --host webhook.example.internal --days 30
"""


@click.group(help="Make certificates for development.", short_help="Make certificates for development.")
def command() -> None:
    """The group of commands about certificates."""


@command.command("issue", help=_ISSUE_HELP, short_help="Make a CA and a server certificate.")
@click.option("--out", "directory", default="certs", show_default=True, metavar="DIR", help="Where to write them.")
@click.option("--host", "hosts", multiple=True, help="A name or address to answer to; repeatable, beside the usual ones.")
@click.option("--days", type=int, default=_DAYS, show_default=True, help="How long the server certificate is valid.")
@click.option("--force", is_flag=True, help="Make a new CA even if there is one.")
def issue(directory: str, hosts: tuple[str, ...], days: int, force: bool) -> None:
    """Writes ca.crt, ca.key, tls.crt and tls.key."""
    from signalbox.certs.issue import DEFAULT_HOSTS, IssueError, issue_development

    names = tuple(dict.fromkeys((*DEFAULT_HOSTS, *hosts)))
    try:
        issued = issue_development(Path(directory), names, days, datetime.now(UTC), force=force)
    except IssueError as error:
        raise CommandError(str(error)) from error
    click.echo(f"{'new ' if issued.new_ca else 'kept'}  {issued.ca}")
    click.echo(f"new   {issued.certificate}  (valid until {issued.not_after:%Y-%m-%d})")
    click.echo(f"new   {issued.key}")
