"""Spot by the queue: a Kueue queue whose flavors are spot nodes sends its work there, whatever the manifest says.

Where all flavors that a template can be given are spot by their node labels or taints, its queue demands spot; where some
are, it permits it. A flavor that has no quota and can borrow none is given to nobody. Of a flavor that the view does not
know nothing is concluded.
"""

from typing import TYPE_CHECKING

from signalbox.cluster.objects import ResourceFlavor
from signalbox.cluster.view import UNKNOWN
from signalbox.review import JsonObject
from signalbox.workload.accelerators import template_accelerators
from signalbox.workload.flavors import FlavorGroup
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.kinds.kind import PodTemplate
from signalbox.workload.labels import QUEUE_LABEL
from signalbox.workload.signs import Signs
from signalbox.workload.switched import OFF

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# Taints carry values of their own (`present`), so only a plainly false one says that nodes are not spot.
NOT_SPOT = OFF | {"on-demand", "ondemand"}
# What work without accelerators is queued by.
_PLAIN = frozenset({"cpu", "memory"})


def judge_queue(view: "WorkloadView", templates: list[PodTemplate]) -> Judgement | None:
    """What the queue says of these templates: ``demanded``, ``permitted``, or None where it says nothing."""
    name = view.kueue_queue
    if not name or not view.takes_queue:
        return None
    local = view.cluster.local_queue(view.namespace, name)
    queue = view.cluster.cluster_queue(local.cluster_queue) if local is not None and local is not UNKNOWN else None
    if queue is None or queue is UNKNOWN:
        return None
    # What device classes and annotations are counted as, Kueue's own configuration says.
    asked = frozenset([resource for resource in view.accelerators.resources if "/" in resource]) or _PLAIN
    groups = [
        (group, FlavorGroup(view.cluster, (flavor for flavor, _ in group.flavors)))
        for group in queue.groups
        if not asked.isdisjoint(group.resources)
    ]
    empty = _empty(view, queue.name, asked)
    spot = {
        flavor.name
        for _, flavors in groups
        for flavor in flavors.known.values()
        if flavor.name not in empty and is_spot(flavor, view.signs)
    }
    if not spot:
        return None
    best = None
    for template in templates:
        # Of several, what only starts the others goes where it likes.
        if len(view.templates) > 1 and view.accelerators.any and not template_accelerators(template, view.signs).evidence:
            continue
        found = [
            flavor
            for _, flavors in groups
            for flavor in flavors.known
            if flavor in spot and not flavors.conflict(flavor, template)
        ]
        if not found:
            continue
        words = f"its flavor {found[0]} is" if len(found) == 1 else f"its flavors {', '.join(found)} are"
        evidence = (Evidence((*view.queue_metadata, "labels", QUEUE_LABEL), name, f"{words} spot"),)
        if not any(
            other not in spot and other not in empty and not flavors.conflict(other, template)
            for group, flavors in groups
            for other, _ in group.flavors
        ):
            return Judgement("demanded", evidence)
        best = best or Judgement("permitted", evidence)
    return best


def _empty(view: "WorkloadView", queue: str, asked: frozenset[str]) -> frozenset[str]:
    """The flavors that can never give any of what is asked for: listed with a quota of 0, and nothing to borrow."""
    capacity = view.cluster.capacity(queue)
    if capacity is UNKNOWN:
        return frozenset()
    return frozenset(
        flavor
        for group in capacity
        if not asked.isdisjoint(group.resources)
        for flavor, resources in group.flavors.items()
        if not any(one.ever > 0 for resource, one in resources.items() if resource in asked)
    )


def is_spot(flavor: ResourceFlavor, signs: Signs) -> bool:
    """Whether the nodes behind a flavor are taken back without notice."""
    for key, value in flavor.node_labels.items():
        label = signs.spot_label(key)
        if label is not None and label.matches(value):
            return True
    return any(_is_of_spot(taint, signs) for taint in flavor.taints)


def _is_of_spot(taint: JsonObject, signs: Signs) -> bool:
    label, value = signs.spot_label(taint.get("key")), str(taint.get("value"))
    return label is not None and (label.matches(value) if label.named else value.lower() not in NOT_SPOT)
