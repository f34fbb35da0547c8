"""``signalbox inspect``: what a workload is taken for, and the evidence."""

from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import UNUSABLE
from signalbox.cli.inputs import nothing_to_judge
from signalbox.cli.json_line import json_line
from signalbox.cli.setup_options import CLUSTER, FILES, OUTPUT, SIGNS, SetupOptions, load
from signalbox.cli.terminal import Terminal, stderr, stdout
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence

if TYPE_CHECKING:
    from signalbox.manifests import Manifest
    from signalbox.workload.judgement import Judgement
    from signalbox.workload.view import WorkloadView

_HELP = """Show what Signalbox takes each workload for, and the evidence.

FILE is a manifest, a folder of them, or - for standard input. Nothing is refused here and no policy is asked.

\b
Examples:
  signalbox inspect job.yaml
  kustomize build overlays/research | signalbox inspect -
  signalbox inspect manifests/ -o json | jq 'select(.spot.state == "demanded")'
"""


@click.command(help=_HELP, short_help="Show what Signalbox takes a workload for, and why.")
@FILES
@SIGNS
@CLUSTER
@click.option("-n", "--namespace", default="", help="The namespace of manifests that name none.")
@OUTPUT
def command(files: tuple[str, ...], signs: tuple[str, ...], cluster: str | None, namespace: str, output: str) -> int:
    """Prints the judgements of every workload document."""
    from signalbox.cli.beside import knowing_what_is_beside
    from signalbox.cli.suggested_kinds import reading_unknown_kinds
    from signalbox.engine.gate import view_of
    from signalbox.manifests import own_namespace, read_manifests

    setup = load(SetupOptions(signs=signs, cluster=cluster), judging=False)
    out, err = stdout(), stderr()
    read = read_manifests(files, last_counts=True)
    for problem in (*read.problems, *read.warnings):
        err.line(str(problem))
    setup = knowing_what_is_beside(setup, read.objects, namespace)
    setup, unknown = reading_unknown_kinds(setup, read.objects)
    for line in unknown:
        err.line(line)
    shown = 0
    for manifest in read.objects:
        kind = setup.kinds.get((manifest.group, manifest.kind))
        if kind is None:
            continue
        view = view_of(setup, manifest.value, kind, own_namespace(manifest.value) or namespace)
        try:
            lines = _json_lines(manifest, view) if output == "json" else _text_lines(manifest, view, out)
        except Exception as error:  # noqa: BLE001 a fault of ours in one document must not hide what is known of the others
            err.line(f"{manifest.file}:{manifest.document.line}: cannot be judged, a fault of Signalbox: {error!r}")
            continue
        if shown and output == "text":
            out.line()
        shown += 1
        for line in lines:
            out.line(line)
    if nothing_to_judge(read, err):
        return UNUSABLE
    if not shown and output == "text":
        err.line(f"no workload found in {len(read.objects)} object{'' if len(read.objects) == 1 else 's'}")
    return UNUSABLE if read.problems and not read.objects else 0


def _json_lines(manifest: "Manifest", view: "WorkloadView") -> list[str]:
    return [json_line(inspection(manifest, view))]


def inspection(manifest: "Manifest", view: "WorkloadView") -> JsonObject:
    """The judgements as data."""
    from signalbox.policy.workload_value import number

    accelerators, priority = view.accelerators, view.priority
    return {
        "file": manifest.file,
        "document": manifest.index,
        "kind": manifest.kind,
        "name": view.name,
        "namespace": view.namespace or None,
        "type": view.type.state,
        "framework": view.framework.state,
        "checkpoint": _judgement(view.checkpoint, view),
        "resume": _judgement(view.resume, view),
        "spot": _judgement(view.spot, view),
        "accelerators": {
            "perPod": number(accelerators.per_pod),
            "total": number(accelerators.total),
            "placeholder": accelerators.placeholder,
        },
        "priority": {
            "state": priority.state,
            "value": priority.value,
            "class": priority.class_name or None,
            "kueueClass": priority.kueue_class or None,
        },
        "queue": view.queue or None,
    }


def _judgement(judgement: "Judgement", view: "WorkloadView") -> JsonObject:
    return {
        "state": judgement.state,
        "evidence": [evidence.as_json(view.object) for evidence in judgement.evidence],
    }


def _text_lines(manifest: "Manifest", view: "WorkloadView", out: Terminal) -> list[str]:
    from signalbox.message import describe
    from signalbox.quantity import format_quantity
    from signalbox.workload.accelerators import PLACEHOLDER

    accelerators, priority = view.accelerators, view.priority
    count = f"{format_quantity(accelerators.per_pod)} a Pod, {format_quantity(accelerators.total)} in total"
    if accelerators.placeholder:
        count += ", and a placeholder" if accelerators.unknown == PLACEHOLDER else ", and some whose number is not known"
    distributed_type = view.type.state == "distributed-training"
    kind_of_work = (view.type.state or "not known") + (", distributed" if view.distributed and not distributed_type else "")
    level = priority.state if priority.value is None else str(priority.value)
    facts: tuple[tuple[str, str, tuple[Evidence, ...]], ...] = (
        ("type", kind_of_work, view.type.evidence),
        ("framework", view.framework.state or "not known", view.framework.evidence),
        ("accelerators", count if accelerators.any else "none", accelerators.evidence),
        ("spot", view.spot.state or "", view.spot.evidence),
        ("checkpoint", view.checkpoint.state or "", view.checkpoint.evidence),
        ("resume", view.resume.state or "", view.resume.evidence),
        ("priority", level, priority.evidence),
        ("queue", view.queue or "none", ()),
    )
    lines = [out.styled(describe(view), "bold"), out.styled(f"  {manifest.file}:{manifest.document.line}", "dim")]
    for label, state, evidence in facts:
        if label == "resume" and state == "unsaid" and not view.trains:
            continue
        lines += _fact_lines(label, state, evidence, view, out)
    return lines


def _fact_lines(label: str, state: str, evidence: tuple[Evidence, ...], view: "WorkloadView", out: Terminal) -> list[str]:
    from signalbox.message import evidence_text
    from signalbox.plain_text import clean, wrap

    lines = [f"  {label:<13} {out.styled(clean(state), 'bold')}"]
    for one in evidence:
        text = evidence_text(one, view.object)
        lines += [out.styled(line, "dim") for line in wrap("", text, "      ", "          ")]
    return lines
