"""``signalbox audit``: judges what a cluster or files hold, and says who would be refused."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, UNUSABLE, CommandError
from signalbox.cli.scan_options import ScanOptions, connection_options, open_source, scope_options
from signalbox.cli.setup_options import SetupOptions, setup_options
from signalbox.cli.terminal import stderr, stdout
from signalbox.policy.mode import Mode

if TYPE_CHECKING:
    from signalbox.audit.tally import Tally
    from signalbox.engine import Setup

_HELP = """Say who would be refused if their workloads were made now: by rule, by team and by kind.

Without FILES everything in the cluster of the kubeconfig is judged, as it stands: by the policies of --policies, else by
those in force there, else by the shipped ones with those that the cluster holds as objects. What a controller made of a
workload is counted under it, and work that has ended asks for nothing any more. Who applied a workload is not known: rules
on users and groups are not judged.

FILES are manifests and folders of them, or - for standard input: they are judged as `signalbox check` does.

\b
Examples:
  signalbox audit                                      the whole cluster
  signalbox audit -n research --rule 'interruptible/*' one namespace, some rules, and whom they hit
  signalbox audit --policies new/ -o html > audit.html what a changed policy would say
  signalbox audit -o csv > findings.csv                a row a finding, for a spreadsheet
  signalbox audit manifests/ --fail-on warn            what Git holds
  signalbox audit readiness interruptible/checkpoint   can this rule be enforced?
  signalbox audit page                                 the same in a browser

Exit codes: 0 nobody would be refused, 1 somebody would (--fail-on), 2 something could not be read or judged.
"""

_MODES = {"enforce": Mode.ENFORCE, "warn": Mode.WARN, "audit": Mode.AUDIT, "never": None}
_SHOWN = 20
_SHOWN_HTML = 2000


@click.command(help=_HELP, short_help="Judge what is in a cluster or in files.")
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILES...]")
@scope_options
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="Only these rules, as policy/rule; globs, repeatable.")
@connection_options
@setup_options
@click.option(
    "--fail-on",
    type=click.Choice(list(_MODES)),
    default="enforce",
    help="Exit with 1 when a rule in this mode, or a harder one, would refuse somebody.  [default: enforce]",
)
@click.option("--all", "every", is_flag=True, help="With -o json and csv: workloads without a finding too.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "csv", "html"]),
    default="table",
    help="json: one object a line, the sums last.  [default: table]",
)
def command(
    files: tuple[str, ...],
    namespaces: tuple[str, ...],
    all_namespaces: bool,
    kinds: tuple[str, ...],
    rules: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    per_second: float,
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    cluster: str | None,
    max_mode: str,
    fail_on: str,
    every: bool,
    output: str,
) -> int:
    """Scans and reports; see the help."""
    from signalbox.audit.largest import Largest
    from signalbox.audit.scan import Scan
    from signalbox.audit.tally import Tally
    from signalbox.cli.audit_export import CsvRows, JsonLines

    now, err = datetime.now(UTC), stderr()
    options = ScanOptions(files, namespaces, all_namespaces, kinds, kubeconfig, context, per_second)
    source = open_source(options, SetupOptions(policies, signs, cluster, max_mode), now, err)
    if source is None:
        return UNUSABLE
    setup = _chosen(source.setup, rules)
    scan, tally = Scan(setup, now, excluded=source.excluded), Tally()
    largest = Largest(_SHOWN_HTML if output == "html" else _SHOWN)
    stream = JsonLines(every) if output == "json" else CsvRows(every) if output == "csv" else None
    for error in source.errors:
        scan.note(error)
    try:
        for subject in scan.subjects(source.items):
            tally.add(subject)
            if stream is not None:
                stream.add(subject)
            else:
                largest.add(subject)
    finally:
        source.progress.close()
    summary = scan.summary()
    if stream is not None:
        stream.finish(summary, tally)
    elif output == "html":
        from signalbox.audit.html import scan_page

        click.echo(scan_page(summary, tally, largest, scan.children_of))
    else:
        from signalbox.cli.audit_table import write_table

        write_table(summary, tally, largest, scan.children_of, source.others, stdout())
    if output in ("csv", "html"):
        for one in summary.errors:
            err.line(f"signalbox: {one.what}: {one.text}")
    if not summary.objects and not summary.error_count and (namespaces or kinds):
        # A mistyped name must not pass for "nothing is wrong".
        err.line(f"signalbox: no workload in {', '.join((*namespaces, *kinds))}, nothing was judged")
        return UNUSABLE
    threshold = _MODES[fail_on]
    if threshold is not None and _fails(tally, threshold):
        return REFUSED
    return UNUSABLE if summary.error_count else 0


def _chosen(setup: "Setup", rules: tuple[str, ...]) -> "Setup":
    from signalbox.audit.rule_choice import with_rules
    from signalbox.policy.globs import any_glob
    from signalbox.policy.nearest import nearest

    if not rules:
        return setup
    there = [rule.id for policy in setup.policies.policies for rule in policy.rules]
    for pattern in rules:
        if not any(any_glob((pattern,), rule) for rule in there):
            raise CommandError(f"no rule {pattern!r}{nearest(pattern, there)} (see signalbox policies list)")
    return with_rules(setup, lambda rule: any_glob(rules, rule))


def _fails(tally: "Tally", threshold: Mode) -> bool:
    return any(rule.refused for rule in tally.rules.values() if rule.mode >= threshold)
