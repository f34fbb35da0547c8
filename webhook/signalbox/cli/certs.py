"""``signalbox certs``: how the certificates of an installation stand, and some for a webhook on a developer's machine."""

from datetime import UTC, datetime
from pathlib import Path

import click

from signalbox.cli.errors import REFUSED, CommandError

_DAYS = 365

_ISSUE_HELP = """Make a CA and a server certificate (ECDSA P-256) and write them into DIR.

A CA that is there already signs again, so that a caBundle made from it stays right.

\b
Examples:
  signalbox certs issue
  signalbox certs issue --out certs --host webhook.example.internal --days 30
"""


_STATUS_HELP = """Say in words and days how the certificates of an installation stand, and what is wrong.

Looks at the Secrets, at the caBundle of every webhook, at what the replicas serve, and at whether the webhook configurations
are as shipped. Changes nothing. Who asks has to be allowed to read Secrets in the namespace.

\b
Examples:
  signalbox certs status
  signalbox certs status --context production -o json
  signalbox certs status --server 127.0.0.1:8443      what a server shows that the API server cannot reach for us

Exit codes: 0 fine, 1 something is wrong, 2 could not look.
"""


@click.group(help="Look after certificates.", short_help="Look after certificates.")
def command() -> None:
    """The group of commands about certificates."""


@command.command("status", help=_STATUS_HELP, short_help="Say how the certificates of an installation stand.")
@click.option("-n", "--namespace", default="signalbox-system", show_default=True, help="Where Signalbox is installed.")
@click.option("--kubeconfig", help="Which cluster to look at; KUBECONFIG where it is not given.")
@click.option("--context", help="The kubeconfig's context; the current one where it is not given.")
@click.option("--server", metavar="HOST:PORT", help="Look at what is served there, instead of asking the Pods.")
@click.option("--lease", default="signalbox-controller", show_default=True, help="The name of the controller's Lease.")
@click.option("--no-certificates", is_flag=True, help="The controller makes no certificates here, somebody else does.")
@click.option("--expected", type=click.Path(path_type=Path), help="The webhook configurations as they should be, a file.")
@click.option("--audit-only", is_flag=True, help="The overlay audit-only is installed.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: one object.")
def status(
    namespace: str,
    kubeconfig: str | None,
    context: str | None,
    server: str | None,
    lease: str,
    no_certificates: bool,
    expected: Path | None,
    audit_only: bool,
    output: str,
) -> int:
    """Prints what there is to say."""
    from signalbox.apiserver.connection import connect
    from signalbox.apiserver.error import ApiConfigurationError, ApiError
    from signalbox.cli.certs_status import look, status_json, write_status
    from signalbox.cli.terminal import stdout
    from signalbox.controller.options import ControllerOptions
    from signalbox.controller.webhooks.shipped import ShippedError

    options = ControllerOptions(
        namespace=namespace, lease=lease, certificates=not no_certificates, expected=expected, audit_only=audit_only
    )
    try:
        api = connect(kubeconfig, context)
        found = look(api, options, server, datetime.now(UTC))
    except (ApiConfigurationError, ApiError, ShippedError) as error:
        raise CommandError(str(error)) from error
    if output == "json":
        click.echo(status_json(found))
    else:
        write_status(found, stdout())
    return REFUSED if found.wrong else 0


@command.command("issue", help=_ISSUE_HELP, short_help="Make a CA and a server certificate.")
@click.option("--out", "directory", default="certs", show_default=True, metavar="DIR", help="Where to write them.")
@click.option("--host", "hosts", multiple=True, help="A name or address to answer to; repeatable, beside the usual ones.")
@click.option("--days", type=int, default=_DAYS, show_default=True, help="How long the server certificate is valid.")
@click.option("--force", is_flag=True, help="Make a new CA even if there is one.")
def issue(directory: str, hosts: tuple[str, ...], days: int, force: bool) -> None:
    """Writes ca.crt, ca.key, tls.crt and tls.key."""
    from signalbox.certs.authority import IssueError
    from signalbox.certs.issue import DEFAULT_HOSTS, issue_development

    names = tuple(dict.fromkeys((*DEFAULT_HOSTS, *hosts)))
    try:
        issued = issue_development(Path(directory), names, days, datetime.now(UTC), force=force)
    except IssueError as error:
        raise CommandError(str(error)) from error
    click.echo(f"{'new ' if issued.new_ca else 'kept'}  {issued.ca}")
    click.echo(f"new   {issued.certificate}  (valid until {issued.not_after:%Y-%m-%d})")
    click.echo(f"new   {issued.key}")
