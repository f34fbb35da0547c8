"""How many accelerators a workload asks for, per Pod and in total.

A Pod's effective request, per resource, is the larger of what its containers and sidecars hold together and what each
init container holds with the sidecars started before it (Kubernetes: "resource sharing within containers").
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from signalbox.quantity import Quantity, is_placeholder, parse_quantity
from signalbox.review import JsonObject
from signalbox.workload.fractions import shares_by_annotation
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, members
from signalbox.workload.pod_containers import Amounts, containers_of, held_at_once
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, holds_any, name_words

PLACEHOLDER = "a placeholder stands there"
_UNKNOWN_CLAIM = "what a resource claim asks for is not known"
_ELSEWHERE = "another object says how many"
_BY_MACHINE = "only the machine type says how many"
_ANY_NUMBER = "how many devices a resource claim asks for is not known"


@dataclass(frozen=True, slots=True)
class Accelerators:
    """What is asked for. ``per_pod`` is that of the largest Pod; both counts are 0 where only placeholders stand.

    ``placeholder``: there is more, and how much is not known; ``unknown`` says why, in words.
    """

    per_pod: Quantity = 0
    total: Quantity = 0
    placeholder: bool = False
    resources: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    unknown: str = PLACEHOLDER

    @property
    def any(self) -> bool:
        """Whether any accelerator is asked for, be the count known or not."""
        return self.total > 0 or self.per_pod > 0 or self.placeholder


@dataclass(frozen=True, slots=True)
class TemplateAccelerators:
    """One template's part: ``per_pod`` by resource name; ``resources`` holds those with a placeholder too.

    What is claimed goes by the name of its device class, with its vendor in ``vendors``; ``shared`` is what of it all Pods have
    together, by the name of their ResourceClaim. ``unknown`` says why it is not known how many there are; empty where it is.
    """

    per_pod: dict[str, Quantity]
    unknown: str
    evidence: tuple[Evidence, ...]
    resources: frozenset[str] = frozenset()
    vendors: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, Mapping[str, Quantity]] = field(default_factory=dict)

    @property
    def placeholder(self) -> bool:
        """Whether there may be more than is counted."""
        return bool(self.unknown)


def container_accelerators(container: JsonObject, signs: Signs) -> Iterator[tuple[str, str, object]]:
    """``(section, resource, raw quantity)`` for each accelerator in ``limits`` and ``requests``."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return
    for section in ("limits", "requests"):
        quantities = resources.get(section)
        if isinstance(quantities, dict):
            for resource, quantity in quantities.items():
                if isinstance(resource, str) and signs.accelerator(resource) is not None:
                    yield section, resource, quantity


def claimed_accelerators(container: JsonObject, template: PodTemplate, signs: Signs) -> Iterator[tuple[int, str, bool]]:
    """``(index, name, known)`` of each resource claim (DRA) of a container that is for accelerators.

    Claims are for network devices too. Where the view does not know what one asks for (``known``), its name has to say so,
    or its template's.
    """
    resources = container.get("resources")
    if not isinstance(resources, dict) or not resources.get("claims"):
        return
    for index, used in enumerate(members(resources.get("claims"))):
        name = used.get("name") if isinstance(used, dict) else None
        if not isinstance(name, str):
            continue
        claim = template.claims.get(name)
        if claim is None:
            if holds_any(name_words(name[:MAX_NAME]), signs.accelerator_claims):
                yield index, name, False
        elif claim.accelerators is None:
            if claim.called_so:
                yield index, name, False
        elif any(used.get("request") in (None, "", devices.request) for devices in claim.accelerators):
            yield index, name, True


def holds_accelerators(container: JsonObject, template: PodTemplate, signs: Signs) -> bool:
    """Whether a container holds accelerators, as a resource or as a claim.

    A quantity of zero holds nothing; a placeholder may hold some.
    """
    if any(_is_some(quantity) for _, _, quantity in container_accelerators(container, signs)):
        return True
    return any(claimed_accelerators(container, template, signs))


def _is_some(quantity: object) -> bool:
    if is_placeholder(quantity):
        return True
    amount = parse_quantity(quantity)
    return amount is not None and amount > 0


def template_accelerators(template: PodTemplate, signs: Signs) -> TemplateAccelerators:
    """What one Pod of the template asks for."""
    held: list[tuple[str, Amounts]] = []
    unknown = ""
    resources: set[str] = set()
    evidence: list[Evidence] = []
    for path, container, role in containers_of(template, with_resources=True):
        asked: dict[str, Quantity] = {}
        for section, resource, raw in container_accelerators(container, signs):
            if is_placeholder(raw):
                unknown = PLACEHOLDER
                resources.add(resource)
                evidence.append(Evidence((*path, "resources", section, resource), str(raw), "a placeholder"))
                continue
            quantity = parse_quantity(raw)
            # Limits come first; a request counts only where no limit is given (the API server refuses the two differing).
            if quantity is None or quantity <= 0 or resource in asked:
                continue
            asked[resource] = quantity
            evidence.append(Evidence((*path, "resources", section, resource), str(raw)))
        if asked:
            asked = _devices(asked, signs)
        for at, claim, known in claimed_accelerators(container, template, signs):
            if not known:
                unknown = unknown or _UNKNOWN_CLAIM
                evidence.append(Evidence((*path, "resources", "claims", at), claim, "what the claim asks for is not known"))
        if asked:
            held.append((role, asked))
    running = held_at_once(held)
    if template.asked:
        asked_for = _asked_flatly(template, signs, running, resources, evidence)
        unknown = unknown or asked_for
    vendors: dict[str, str] = {}
    shared: dict[str, dict[str, Quantity]] = {}
    if template.claims:
        unknown = _claimed(template, running, vendors, shared, evidence) or unknown
    if (
        not running
        and not unknown
        and signs.accelerator_annotations
        and shares_by_annotation(template, signs, running, evidence)
    ):
        unknown = PLACEHOLDER
    return TemplateAccelerators(
        running, unknown, tuple(evidence), frozenset(resources.union(running, vendors)), vendors, shared
    )


def _claimed(
    template: PodTemplate,
    running: dict[str, Quantity],
    vendors: dict[str, str],
    shared: dict[str, dict[str, Quantity]],
    evidence: list[Evidence],
) -> str:
    """Adds what the claims of a Pod ask for, by device class; says why, where it is not known how much that is."""
    unknown = ""
    for claim in template.claims.values():
        if claim.accelerators is None or (claim.shared and claim.of in shared):
            continue
        of_all = shared.setdefault(claim.of, {}) if claim.shared else {}
        for devices in claim.accelerators:
            resource = devices.device_class
            vendors[resource] = devices.vendor
            if devices.count is None:
                unknown = _ANY_NUMBER
            else:
                running[resource] = running.get(resource, 0) + devices.count
                of_all[resource] = of_all.get(resource, 0) + devices.count
            many = "any number" if devices.count is None else devices.count
            among = f", one of {devices.alternatives} alternatives" if devices.alternatives > 1 else ""
            together = ", for all Pods together" if claim.shared else ""
            path = (*template.spec_path, "resourceClaims", claim.index, claim.field)
            evidence.append(Evidence(path, claim.of, f"asks for {many} of device class {resource}{among}{together}"))
    return unknown


def _devices(asked: dict[str, Quantity], signs: Signs) -> dict[str, Quantity]:
    """Counts of devices: an amount of memory or of cores beside one says how much of each; alone it is a share of one."""
    signs_of = {resource: sign for resource in asked if (sign := signs.accelerator(resource)) is not None}
    if any(sign.percent for sign in signs_of.values()):
        asked = {
            resource: Fraction(quantity, 100) if resource in signs_of and signs_of[resource].percent else quantity
            for resource, quantity in asked.items()
        }
    shares = [resource for resource, sign in signs_of.items() if sign.share]
    if not shares:
        return asked
    counted = {resource: quantity for resource, quantity in asked.items() if resource not in shares}
    return counted or {shares[0]: 1}


def _asked_flatly(
    template: PodTemplate, signs: Signs, running: dict[str, Quantity], resources: set[str], evidence: list[Evidence]
) -> str:
    """Adds what fields of the kind's own ask for; says why, where one does not say how much."""
    unknown = ""
    counted: set[str] = set()
    for asked in template.asked:
        if asked.quantity is None:
            why = _BY_MACHINE if asked.stands else _ELSEWHERE
            unknown = unknown or why
            evidence.append(Evidence(asked.path, asked.stands, why))
        elif signs.accelerator(asked.resource) is None or asked.resource in counted:
            # Limits come before requests, as for a container.
            continue
        elif is_placeholder(asked.quantity):
            unknown = PLACEHOLDER
            resources.add(asked.resource)
            evidence.append(Evidence(asked.path, str(asked.quantity), "a placeholder"))
        else:
            quantity = parse_quantity(asked.quantity)
            if quantity is not None and quantity > 0:
                counted.add(asked.resource)
                running[asked.resource] = running.get(asked.resource, 0) + quantity
                evidence.append(Evidence(asked.path, str(asked.quantity)))
    return unknown


def total_by_resource(templates: Sequence[PodTemplate], parts: Sequence[TemplateAccelerators]) -> dict[str, Quantity]:
    """What the Pods of all templates ask for together; a number of Pods that is not known counts as one."""
    totals: dict[str, Quantity] = {}
    counted: set[str] = set()
    for template, part in zip(templates, parts, strict=True):
        pods = 1 if template.pods is None else template.pods
        for resource, quantity in part.per_pod.items():
            totals[resource] = totals.get(resource, 0) + quantity * pods
        if not pods:
            continue
        for claim, amounts in part.shared.items():
            again = pods if claim in counted else pods - 1
            counted.add(claim)
            for resource, quantity in amounts.items():
                totals[resource] -= quantity * again
    return totals


def sum_accelerators(templates: tuple[PodTemplate, ...], parts: tuple[TemplateAccelerators, ...], signs: Signs) -> Accelerators:
    """All templates together, with each one's part: summed in total, the largest per Pod."""
    per_pod: Quantity = 0
    unknown = ""
    resources: dict[str, None] = {}
    vendors: dict[str, None] = {}
    evidence: list[Evidence] = []
    for template, part in zip(templates, parts, strict=True):
        unknown = unknown or part.unknown
        evidence += part.evidence
        pod = sum(part.per_pod.values(), 0)
        if template.pods is None and pod > 0:
            # The Pods' number is a placeholder: at least one is made, and the total is not to be trusted.
            unknown = unknown or PLACEHOLDER
        per_pod = max(per_pod, pod)
        for resource in sorted(part.resources):
            resources[resource] = None
            sign = signs.accelerator(resource)
            vendors[part.vendors.get(resource) or (sign.vendor if sign else "nvidia")] = None
    total = sum(total_by_resource(templates, parts).values(), 0)
    return Accelerators(
        per_pod, total, bool(unknown), tuple(resources), tuple(vendors), tuple(evidence), unknown or PLACEHOLDER
    )
