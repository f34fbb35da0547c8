"""``signalbox audit readiness``: can a rule be enforced, and if not, whose work is in the way."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, CommandError
from signalbox.cli.ledger_reading import ledger_option, open_ledger
from signalbox.cli.progress import Progress
from signalbox.cli.scan_options import ScanOptions, Source, connection_options, open_source
from signalbox.cli.setup_options import OUTPUT, SIGNS, SetupOptions, load, policies_option
from signalbox.cli.terminal import stderr, stdout

if TYPE_CHECKING:
    from signalbox.audit.ledger.reading import Ledger
    from signalbox.audit.readiness import Evidence
    from signalbox.engine import Setup
    from signalbox.policy.policy_set import Rule

_HELP = """Say whether RULE (policy/rule) can be enforced.

Two things are looked at: the requests of the last days, which `signalbox serve --ledger` recorded, and what stands in the
cluster now. What the rule found then is asked again by today's policies, so that what an injector or an exception has
mended since is no obstacle. The verdict is `ready`, `not yet` or `too little seen`, with the numbers it rests on, and a list
for each team of what is to be mended.

\b
Examples:
  signalbox audit readiness interruptible/checkpoint --ledger /var/lib/signalbox/ledger.db
  signalbox audit readiness interruptible/checkpoint --days 30 --policies policies/
  signalbox audit readiness gpus/limits-equal-requests --no-cluster -o json

Exit codes: 0 ready, 1 not yet or too little seen, 2 something could not be read.
"""


@click.command(help=_HELP, short_help="Say whether a rule can be enforced.")
@click.argument("rule")
@click.option("--days", type=click.FloatRange(min=0.01, max=3650), default=14.0, help="How far to look back.  [default: 14]")
@ledger_option
@click.option("--no-cluster", is_flag=True, help="Look at the ledger alone.")
@connection_options
@policies_option("Policies with the rule; repeatable.", "the shipped set and the cluster's")
@SIGNS
@OUTPUT
def command(
    rule: str,
    days: float,
    ledger: str | None,
    no_cluster: bool,
    kubeconfig: str | None,
    context: str | None,
    per_second: float,
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    output: str,
) -> int:
    """Gathers and says; 0 when the rule is ready."""
    from signalbox.audit.ledger.database import LedgerError
    from signalbox.audit.readiness import Evidence
    from signalbox.audit.seen import seen_in
    from signalbox.audit.verdict import Verdict, verdict_on
    from signalbox.cli.readiness_report import write_json, write_text

    if no_cluster and (kubeconfig or context):
        raise click.UsageError("--no-cluster asks no cluster: --kubeconfig and --context say nothing there")
    now, err = datetime.now(UTC), stderr()
    opened = open_ledger(ledger)
    by = SetupOptions(policies, signs)
    source = None
    if not no_cluster:
        scan = ScanOptions(kubeconfig=kubeconfig, context=context, per_second=per_second)
        source = open_source(scan, by, now, err)
    setup = load(by) if source is None else source.setup
    wanted = _rule(setup, rule)
    try:
        evidence = Evidence(setup, rule, now, days, seen_in(opened, now, days))
        _add_requests(evidence, opened)
    except LedgerError as error:
        raise CommandError(str(error)) from None
    finally:
        opened.close()
    if source is not None:
        _add_standing(evidence, source)
    write = write_json if output == "json" else write_text
    write(evidence, wanted, stdout())
    return 0 if verdict_on(evidence)[0] is Verdict.READY else REFUSED


def _rule(setup: "Setup", name: str) -> "Rule":
    from signalbox.policy.nearest import nearest

    rules = {rule.id: rule for policy in setup.policies.policies for rule in policy.rules}
    if name not in rules:
        raise CommandError(f"no rule {name!r}{nearest(name, rules)} (see signalbox policies list)")
    return rules[name]


def _add_requests(evidence: "Evidence", ledger: "Ledger") -> None:
    from signalbox.audit.ledger.reading import Wanted

    wanted = Wanted(since=evidence.now - timedelta(days=evidence.days), rule=evidence.rule)
    total, progress = ledger.extent(wanted).entries, Progress()
    try:
        for done, recorded in enumerate(ledger.replayable(wanted), 1):
            evidence.add_request(recorded)
            progress("requests", done, max(0, total - done))
    finally:
        progress.close()


def _add_standing(evidence: "Evidence", source: Source) -> None:
    from signalbox.audit.rule_choice import with_rules
    from signalbox.audit.scan import Scan

    setup = with_rules(source.setup, lambda one: one == evidence.rule)
    scan = Scan(setup, evidence.now, excluded=source.excluded)
    for error in source.errors:
        scan.note(error)
    try:
        evidence.add_standing(scan.subjects(source.items))
    finally:
        source.progress.close()
    evidence.unread = scan.summary().error_count
    for one in scan.summary().errors:
        stderr().line(f"signalbox: {one.what}: {one.text}")
