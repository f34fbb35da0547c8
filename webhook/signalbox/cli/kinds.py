"""``signalbox kinds``: the kinds of workload that are known, and a document for one that is not."""

from typing import TYPE_CHECKING

import click

from signalbox.cli.beside import is_runtime
from signalbox.cli.errors import UNUSABLE
from signalbox.cli.inputs import nothing_to_judge
from signalbox.cli.json_line import json_line
from signalbox.cli.setup_options import FILES, OUTPUT, SIGNS, SetupOptions, load
from signalbox.cli.suggested_kinds import suggestions
from signalbox.cli.terminal import stderr, stdout

if TYPE_CHECKING:
    from signalbox.review import JsonObject
    from signalbox.workload.kinds.kind import WorkloadKind

_LIST_HELP = """List every kind of workload that is known: Kubernetes' own, those of operators, and those of --signs.

\b
Examples:
  signalbox kinds list
  signalbox kinds list --signs policies/ -o json
"""
_SUGGEST_HELP = """Write a WorkloadKind for each custom resource in FILE that is not known and has pod templates.

It is worked out from one object: look it through, above all "runs" and what counts Pods, and put it beside your policies.
The webhook configuration needs a rule for the resource too (docs/kinds.md).

\b
Examples:
  signalbox kinds suggest sweep.yaml > policies/sweep-kind.yaml
  kubectl get sweeps.lab.example.com llama -o yaml | signalbox kinds suggest -
"""


@click.group(
    help="Show the kinds of workload that are known.", short_help="Show the kinds of workload; describe one of your own."
)
def command() -> None:
    """The group of commands about kinds."""


@command.command("list", help=_LIST_HELP, short_help="List the kinds that are known.")
@SIGNS
@OUTPUT
def list_kinds(signs: tuple[str, ...], output: str) -> None:
    """Prints a line a kind."""
    setup, out = load(SetupOptions(signs=signs), judging=False), stdout()
    kinds = sorted(setup.kinds.values(), key=lambda kind: (kind.text != kind.kind, kind.text))
    if output == "json":
        for kind in kinds:
            out.line(json_line(_as_json(kind)))
        return
    width = max(len(kind.text) for kind in kinds)
    out.line(f"{'KIND':<{width}}  ENDS      MADE FOR", "bold")
    for kind in kinds:
        out.line(f"{kind.text:<{width}}  {_ENDS[kind.runs]:<8}  {_made_for(kind)}".rstrip())


@command.command("suggest", help=_SUGGEST_HELP, short_help="Write a WorkloadKind for a custom resource.")
@FILES
@SIGNS
def suggest(files: tuple[str, ...], signs: tuple[str, ...]) -> int:
    """Prints the documents."""
    from signalbox.manifests import read_manifests
    from signalbox.policy.kind_suggestion import suggested_document
    from signalbox.yaml_text import yaml_documents

    setup = load(SetupOptions(signs=signs), judging=False)
    read, err = read_manifests(files, last_counts=True), stderr()
    for problem in (*read.problems, *read.warnings):
        err.line(str(problem))
    if nothing_to_judge(read, err):
        return UNUSABLE
    found = suggestions(setup, [one for one in read.objects if not is_runtime(one)])
    if found:
        click.echo(yaml_documents([suggested_document(spec) for _, spec in found.values()]), nl=False)
    else:
        err.line("no kind found that is not known and has pod templates")
    return UNUSABLE if read.problems else 0


_ENDS = {"once": "yes", "schedule": "each run", "forever": "no", "pod": "as it says", "open": "no"}


def _made_for(kind: "WorkloadKind") -> str:
    return f"{kind.type or ''}{' (always)' if kind.type_decides else ''}"


def _as_json(kind: "WorkloadKind") -> "JsonObject":
    return {
        "group": kind.group,
        "kind": kind.kind,
        "runs": kind.runs,
        "type": kind.type,
        "typeDecides": kind.type_decides,
        "queued": kind.queue is not None,
    }
