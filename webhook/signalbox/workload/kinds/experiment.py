"""Experiment ``kubeflow.org`` (Katib): one workload again and again with other parameters, some trials at a time.

What is tried with other parameters is mostly a training. Each trial is an object of its own that comes by again, so nothing is
written to the one it is made from but labels.
"""

from dataclasses import replace

from signalbox.fieldpath import Path, value_at
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, WorkloadKind, count, mapping, product
from signalbox.workload.kinds.nested import Kinds, kind_of, metadata_in, templates_in

_TRIAL: Path = ("spec", "trialTemplate", "trialSpec")
# Katib's own default (katib pkg/apis/controller/experiments/v1beta1).
_AT_ONCE = 3


def experiment(kinds: Kinds) -> WorkloadKind:
    """The kind; ``kinds`` are those that a trial may be of."""

    def templates(obj: JsonObject) -> tuple[PodTemplate, ...]:
        trials = count(mapping(obj.get("spec")).get("parallelTrialCount"), default=_AT_ONCE)
        inside = templates_in(obj, _TRIAL, kinds)
        kind = kind_of(value_at(obj, _TRIAL), kinds)
        # Trials never meet: only what one of them makes together works together.
        alone = (len(inside) == 1 or (kind is not None and kind.steps)) and all(template.pods == 1 for template in inside)
        return tuple(
            [
                replace(template, pods=product(trials, template.pods), writable=False, apart=template.apart or alone)
                for template in inside
            ]
        )

    def holds(obj: JsonObject) -> tuple[tuple[Path, WorkloadKind], ...]:
        kind = kind_of(value_at(obj, _TRIAL), kinds)
        return () if kind is None else ((_TRIAL, kind),)

    return WorkloadKind(
        group="kubeflow.org",
        kind="Experiment",
        templates=templates,
        runs="once",
        labelled=lambda obj: metadata_in(obj, _TRIAL, kinds),
        queue=None,
        defaulted=False,
        type="training",
        wraps=lambda obj: kind_of(value_at(obj, _TRIAL), kinds),
        holds=holds,
    )
