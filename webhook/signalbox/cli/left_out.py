"""What policies would inject into a workload and that is not written, because its kind has no place for it."""

from dataclasses import dataclass

from signalbox.cli.rule_outcomes import Injecting
from signalbox.engine import Setup
from signalbox.fieldpath import format_path
from signalbox.inject.plan import Plan, Sourced, covers, merge_injections
from signalbox.inject.tolerations import taints_of
from signalbox.workload.accelerators import TemplateAccelerators, holds_accelerators
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.priority import named_class
from signalbox.workload.view import WorkloadView

_GRACE = "terminationGracePeriodSeconds"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """``fields`` that ``policies`` inject, and ``why`` they are not written."""

    fields: tuple[str, ...]
    policies: tuple[str, ...]
    why: str

    @property
    def text(self) -> str:
        """The whole as a line."""
        return f"{', '.join(self.fields)} (policy {', '.join(self.policies)}): {self.why}"


def left_out(setup: Setup, view: WorkloadView, injecting: Injecting) -> tuple[LeftOut, ...]:
    """What is left out of the pod templates, each reason once; of policies that match for certain."""
    plan = merge_injections([policy for policy in injecting.matching if policy.name not in injecting.held_back])
    found: dict[str, dict[str, dict[str, None]]] = {}
    for template, asked in zip(view.templates, view.template_accelerators, strict=True):
        if template.apart or template.pods == 0:
            # It takes no part in the work, or only says something of Pods that another template makes.
            continue
        wanted = _of_template(template, asked, plan, view)
        if template.writable:
            wanted = {"env": wanted["env"]} if "env" in wanted and _is_asked_by_fields(template, view) else {}
        if wanted:
            fields = found.setdefault(_why(template, asked, setup, view), {})
            for name, sources in wanted.items():
                fields.setdefault(name, {}).update((source.by, None) for source in sources)
    queue = plan.queue
    if queue is not None and not view.takes_queue and not view.queue:
        found[f"Kueue does not queue this {view.kind.kind} by a label"] = {"queue": {queue.by: None}}
    return tuple(
        LeftOut(tuple(fields), tuple(dict.fromkeys(by for sources in fields.values() for by in sources)), why)
        for why, fields in found.items()
    )


def _of_template(
    template: PodTemplate, asked: TemplateAccelerators, plan: Plan, view: WorkloadView
) -> dict[str, list[Sourced]]:
    """What injectors would write to a template that it does not say itself; some only where it asks for accelerators."""
    holds, spec = bool(asked.evidence), template.spec
    others = {sign.toleration for sign in view.signs.accelerators} - taints_of(asked, view.signs)
    own, selected = members(spec.get("tolerations")), mapping(spec.get("nodeSelector"))
    selector = [sourced for key, sourced in plan.node_selector.items() if key not in selected]
    wanted = {
        "priorityClassName": [plan.priority_class_name]
        if plan.priority_class_name and not named_class(view.object, template, view.kind.priority)[0]
        else [],
        "tolerations": [
            one
            for one in plan.tolerations
            if one.value.get("key") not in others and not any(covers(toleration, one.value) for toleration in own)
        ],
        "nodeSelector": selector if holds or not view.accelerators.any else [],
        _GRACE: [plan.termination_grace] if plan.termination_grace and spec.get(_GRACE) is None else [],
        "env": list(plan.env.values()) if holds else [],
    }
    return {name: sources for name, sources in wanted.items() if sources}


def _is_asked_by_fields(template: PodTemplate, view: WorkloadView) -> bool:
    """Whether fields of the kind's own ask for its accelerators, and no container that variables could go to."""
    programs = {program.path for program in template.programs if not program.container}
    containers = ((path, container) for path, container, _ in containers_of(template, with_resources=True))
    return not any(
        holds_accelerators(container, template, view.signs) for path, container in containers if path not in programs
    )


def _why(template: PodTemplate, asked: TemplateAccelerators, setup: Setup, view: WorkloadView) -> str:
    if template.foreign:
        return f"the pod template stands in {template.foreign}; write it there"
    if template.writable:
        field = format_path(asked.evidence[0].path, view.object)
        return f"what asks for the accelerators ({field}) is no container that is written to"
    if template.partial and view.acts_as.completed is not None:
        return "the pod template stands in another object, which this only names; write it there"
    own = (view.kind.group, view.kind.kind)
    if any(own in controller.owners for controller in setup.controllers.known):
        return f"{view.kind.kind} has no pod template to write to"
    return f"{view.kind.kind} gets labels alone, and what is made of it comes by again"
