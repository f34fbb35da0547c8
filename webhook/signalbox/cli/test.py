"""``signalbox test``: runs the test cases of policies."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, CommandError
from signalbox.cli.setup_options import PATHS, SIGNS, policies_option, stop_at
from signalbox.cli.terminal import Terminal, stderr, stdout

if TYPE_CHECKING:
    from signalbox.cli.policy_test import PolicyTest
    from signalbox.cli.test_case import CaseResult
    from signalbox.engine import Setup

_HELP = """Run the test cases of policies: PolicyTest documents, each a list of workloads and what must come of them.

PATH is a file or folder; without one, policies/tests is run, else the shipped set's tests.
A test is run against the policies that it names itself (spec.policies), else those of --policies, else, where its
folder is called tests, those beside that folder, else the shipped set. The last line says which it was.

\b
Examples:
  signalbox test
  signalbox test tests/ --policies policies/ -v
  signalbox test --coverage                which rules does no case break?

\b
A test:
  apiVersion: policy.workload.ai/v1alpha1
  kind: PolicyTest
  metadata: {name: spot}
  spec:
    cases:
      - name: spot work without a checkpoint
        file: cases/spot-job.yaml
        namespace: research
        expect: {refusedBy: [spot/restartable], message: [no durable checkpoint]}
"""


@click.command(help=_HELP, short_help="Run the test cases of policies.")
@PATHS
@policies_option("Policies for the tests that name none; repeatable.", "see above")
@SIGNS
@click.option("-v", "--verbose", is_flag=True, help="List the cases that pass, too.")
@click.option("--coverage", is_flag=True, help="List the rules that no case breaks.")
def command(paths: tuple[str, ...], policies: tuple[str, ...], signs: tuple[str, ...], verbose: bool, coverage: bool) -> int:
    """Runs every case; 1 where one fails."""
    from signalbox.cli.policy_test import read_policy_tests
    from signalbox.cli.test_setups import TestSetups, default_tests

    out = stdout()
    if not paths:
        paths = (default_tests(stderr()),)
    tests, problems = read_policy_tests(paths)
    stop_at(problems)
    if not tests:
        raise CommandError(f"no PolicyTest in {', '.join(paths)}")
    setups = TestSetups(policies, signs)
    now, passed, failed = datetime.now(UTC), 0, 0
    broken: set[str] = set()
    for test in tests:
        for result in _run(test, setups.of(test), now):
            broken |= result.broken
            failed += not result.passed
            passed += result.passed
            _write(test, result, verbose, out)
    if coverage:
        _write_coverage(setups.rules(), broken, out)
    against = f"against {setups.text}"
    if failed:
        out.line(f"{failed} of {_cases(passed + failed)} failed {against}", "red", "bold")
        return REFUSED
    out.line(f"{_cases(passed)} passed {against}", "green", "bold")
    return 0


def _run(test: "PolicyTest", setup: "Setup", now: datetime) -> "list[CaseResult]":
    from signalbox.cli.test_case import run_case, unknown_rules

    results = []
    for index, case in enumerate(test.spec.cases):
        unknown = unknown_rules(case, setup)
        if unknown:
            raise CommandError(f"{test.document.file}:{test.line(index)}: {unknown}")
        results.append(run_case(index, case, test.objects[index], setup, test.spec.now or now))
    return results


def _write(test: "PolicyTest", result: "CaseResult", verbose: bool, out: Terminal) -> None:
    if result.passed:
        if verbose:
            out.line(f"{out.styled(out.marks.fine, 'green')} {test.name}: {result.name}")
        return
    out.line(f"{out.styled(out.marks.refused, 'red', 'bold')} {out.styled(f'{test.name}: {result.name}', 'bold')}")
    out.line(f"    {test.document.file}:{test.line(result.index)}", "dim")
    for difference in result.differences:
        out.line(f"    {difference.what}")
        out.line(f"      expected  {difference.expected}", "green")
        out.line(f"      got       {difference.got}", "red")


def _write_coverage(rules: list[str], broken: set[str], out: Terminal) -> None:
    unbroken = [rule for rule in rules if rule not in broken]
    for rule in unbroken:
        out.line(f"no case breaks {rule}", "yellow")
    out.line(f"{len(rules) - len(unbroken)} of {len(rules)} rules are broken by a case")


def _cases(number: int) -> str:
    return f"{number} case{'' if number == 1 else 's'}"
