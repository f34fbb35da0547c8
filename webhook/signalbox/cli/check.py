"""``signalbox check``: what the webhook would say to manifests, without a cluster."""

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import REFUSED, UNUSABLE
from signalbox.cli.inputs import nothing_to_judge
from signalbox.cli.setup_options import FILES, OUTPUT, SetupOptions, asker, load, setup_options, user_options
from signalbox.cli.terminal import Terminal, stderr, stdout

if TYPE_CHECKING:
    from signalbox.admission import Asked
    from signalbox.engine import Setup
    from signalbox.manifests import Manifest

_HELP = """Say what the webhook would say to each workload, after the API server's defaults.

FILE is a manifest, a folder of them, or - for standard input; what Helm and Kustomize print is fine.
A manifest's own namespace counts, -n is for those that name none.

\b
Examples:
  signalbox check job.yaml
  helm template . | signalbox check - -n research --as ada --as-group research
  signalbox check job.yaml --fix > fixed.yaml
  kubectl get ns,priorityclasses,resourcequotas -A -o yaml > cluster/now.yaml
  kubectl get workloadpriorityclasses,localqueues,clusterqueues,cohorts,resourceflavors -A -o yaml > cluster/kueue.yaml
  signalbox check manifests/ --cluster cluster/
  signalbox check manifests/ --table

What only the cluster or the user could tell (a namespace's labels, queues and quotas, groups) is listed as not judged.
"""


@click.command(help=_HELP, short_help="Say what the webhook would say to manifests.")
@FILES
@click.option("-n", "--namespace", default="", help="The namespace of manifests that name none.  [default: default]")
@user_options
@setup_options
@click.option("--fix", is_flag=True, help="Write the mutated manifests, with the fixes applied, to stdout as YAML.")
@click.option("--table", is_flag=True, help="One table over all workloads: what each rule refuses, warns of and why.")
@OUTPUT
def command(
    files: tuple[str, ...],
    namespace: str,
    user: str | None,
    groups: tuple[str, ...],
    policies: tuple[str, ...],
    signs: tuple[str, ...],
    cluster: str | None,
    max_mode: str,
    fix: bool,
    table: bool,
    output: str,
) -> int:
    """Judges every workload document; 1 when one would be refused."""
    from signalbox.admission import Asked
    from signalbox.cli.beside import knowing_what_is_beside
    from signalbox.cli.incomplete import without_kind
    from signalbox.manifests import read_manifests

    if fix and output == "json":
        raise click.UsageError("--fix writes YAML, it cannot be had with -o json")
    if table and (fix or output == "json"):
        raise click.UsageError("--table is for reading, it cannot be had with --fix or -o json")
    setup = load(SetupOptions(policies, signs, cluster, max_mode))
    read = read_manifests(files, last_counts=True)
    err = stderr()
    incomplete = {id(one): found for one in read.objects if (found := without_kind(one, setup.kinds, files))}
    problems = [*read.problems, *incomplete.values()]
    for problem in (*problems, *read.warnings):
        err.line(str(problem))
    setup = knowing_what_is_beside(setup, read.objects, namespace)
    asked = Asked(namespace, asker(user, groups))
    workloads = [manifest for manifest in read.objects if (manifest.group, manifest.kind) in setup.kinds]
    others = [
        manifest
        for manifest in read.objects
        if (manifest.group, manifest.kind) not in setup.kinds and id(manifest) not in incomplete
    ]
    if nothing_to_judge(read, err):
        return UNUSABLE
    if fix:
        from signalbox.cli.fixing import write_fixed

        refused = write_fixed(setup, read.objects, asked, stdout(), err)
    elif output == "json":
        refused = _print_json(setup, workloads, asked)
    elif table:
        refused = _print_table(setup, workloads, asked, stdout())
        _summary(setup, len(workloads), refused, others, len(problems), stdout())
    else:
        refused = _print_text(setup, workloads, asked, len(files) > 1 or os.path.isdir(files[0]), stdout())
        _summary(setup, len(workloads), refused, others, len(problems), stdout())
    if refused:
        return REFUSED
    return UNUSABLE if problems else 0


def _print_json(setup: "Setup", workloads: "list[Manifest]", asked: "Asked") -> int:
    from signalbox.admission import admit
    from signalbox.cli.json_line import json_line
    from signalbox.cli.report import report_json

    now, refused = datetime.now(UTC), 0
    for manifest in workloads:
        admission = admit(setup, manifest.value, asked, now)
        refused += not admission.allowed
        click.echo(json_line(report_json(manifest, admission)))
    return refused


def _print_table(setup: "Setup", workloads: "list[Manifest]", asked: "Asked", out: Terminal) -> int:
    from signalbox.admission import admit
    from signalbox.cli.tally import Tally

    now, refused, tally = datetime.now(UTC), 0, Tally()
    for manifest in workloads:
        admission = admit(setup, manifest.value, asked, now)
        refused += not admission.allowed
        tally.add(manifest, admission)
    tally.write(out)
    return refused


def _print_text(setup: "Setup", workloads: "list[Manifest]", asked: "Asked", several: bool, out: Terminal) -> int:
    from signalbox.admission import admit
    from signalbox.cli.incomplete import template_note
    from signalbox.cli.report import write_report

    now, refused, refused_before, file = datetime.now(UTC), 0, False, ""
    for manifest in workloads:
        if refused_before:
            out.line()
        if several and manifest.file != file:
            out.line(manifest.file, "dim")
        file = manifest.file
        admission = admit(setup, manifest.value, asked, now)
        refused_before = not admission.allowed
        refused += refused_before
        write_report(admission, template_note(manifest, setup.kinds[manifest.group, manifest.kind]), out)
    return refused


def _summary(setup: "Setup", workloads: int, refused: int, others: "list[Manifest]", problems: int, out: Terminal) -> None:
    from signalbox.cli.beside import is_runtime
    from signalbox.cli.inputs import kinds_of
    from signalbox.cli.suggested_kinds import suggestions
    from signalbox.plain_text import wrap

    text = f"{_count(workloads, 'workload')}: {refused or 'none'} refused" if workloads else "no workload found"
    if problems:
        text += f", {problems} could not be read"
    if others:
        text += f", {_count(len(others), 'other object')} skipped: {kinds_of(others)}"
    out.line()
    for line in wrap("", text, "", "  "):
        out.line(line, "bold")
    makes_pods = [manifest for manifest, _ in suggestions(setup, [one for one in others if not is_runtime(one)]).values()]
    if makes_pods:
        text = f"{kinds_of(makes_pods)}: not known and has pod templates; signalbox kinds suggest writes a WorkloadKind for it"
        for line in wrap("", text, "", "  "):
            out.line(line)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
