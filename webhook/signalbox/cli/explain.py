"""``signalbox explain``: what a workload is taken for, line by line, and what follows from it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from signalbox.cli.errors import UNUSABLE
from signalbox.cli.inputs import nothing_to_judge
from signalbox.cli.setup_options import FILES, OUTPUT, SetupOptions, asker, load, setup_options, user_options
from signalbox.cli.terminal import stderr, stdout

if TYPE_CHECKING:
    from signalbox.cli.explained import Explanation
    from signalbox.cli.terminal import Terminal

_HELP = """Explain each workload on a short page: what it is taken for and which line says so, what would be injected and
why, which rules look at it, and what to write where a judgement is not what you meant.

FILE is a manifest, a folder of them, or - for standard input. Nothing is refused here: check does that.

\b
Examples:
  signalbox explain job.yaml
  signalbox explain job.yaml -n research --as ada --as-group research
  helm template . | signalbox explain - -o json | jq .judgements.type

\b
With -o json, one object a workload:
  file, document, line, kind, name, namespace, allowed
  judgements   by name: {state, declared, remark, evidence: [{path, value, note, line, default}]}
               kind, accelerators, type, framework, distributed, spot, checkpoint, resume, priority, queue,
               owner
  templates    [{name, pods, perPod, placeholder, line}]
  typeSigns    [{result: decides | agrees | outvoted, says, strength, path, value, note, line, default,
                reason, why}]
  injected     [{path, value, was, by}], as check prints it; notInjected: [string], what
               policies name and why it is not written
  policies     [{name, description, rules: [{rule, mode, result, message, more, fixedBy, exceptedBy,
                approvedBy}]}]
               result: refuses | warns | not judged | excepted | recorded | passes | does not apply
  write        [{judgement, path, value, words}]
line is null where no line of the manifest says it; default: the API server fills it in.
"""


@click.command(help=_HELP, short_help="Explain what a workload is taken for, line by line.")
@FILES
@click.option("-n", "--namespace", default="", help="The namespace of manifests that name none.  [default: default]")
@user_options
@setup_options
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
    output: str,
) -> int:
    """Explains every workload document."""
    from signalbox.admission import Asked
    from signalbox.cli.beside import knowing_what_is_beside
    from signalbox.cli.explained import explain
    from signalbox.manifests import read_manifests

    setup = load(SetupOptions(policies, signs, cluster, max_mode))
    out, err = stdout(), stderr()
    read = read_manifests(files, last_counts=True)
    for problem in (*read.problems, *read.warnings):
        err.line(str(problem))
    if nothing_to_judge(read, err):
        return UNUSABLE
    setup = knowing_what_is_beside(setup, read.objects, namespace)
    asked, write, shown = Asked(namespace, asker(user, groups)), _writer(output), 0
    for manifest in read.objects:
        kind = setup.kinds.get((manifest.group, manifest.kind))
        if kind is None:
            continue
        if shown and output == "text":
            out.line()
        shown += 1
        try:
            explanation = explain(setup, manifest, kind, asked, datetime.now(UTC))
        except Exception as error:  # noqa: BLE001 a fault of ours in one document must not hide what is known of the others
            err.line(f"{manifest.file}:{manifest.document.line}: cannot be explained, a fault of Signalbox: {error!r}")
            continue
        write(explanation, out)
    if not shown and output == "text":
        err.line(f"no workload found in {len(read.objects)} object{'' if len(read.objects) == 1 else 's'}")
    return UNUSABLE if read.problems else 0


def _writer(output: str) -> "Callable[[Explanation, Terminal], None]":
    if output == "json":
        from signalbox.cli.explained_json import write_json

        return write_json
    from signalbox.cli.explained_text import write_page

    return write_page
