"""What a Pod claims (dynamic resource allocation): its resourceClaims, with what the objects say that they name.

A claim is had by the Pod as a whole, however many of its containers use it (kubernetes ``core/v1``: PodResourceClaim).
"""

from collections.abc import Iterator

from signalbox.cluster.objects import ResourceClaim as KnownClaim
from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.review import JsonObject
from signalbox.workload.device_class import NO_ACCELERATOR, OTHER_VENDOR, vendor_of_class
from signalbox.workload.kinds.claim import Claim, ClaimedDevices
from signalbox.workload.kinds.kind import members
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, holds_any, name_words

# Nobody writes more. The rest count as for accelerators, how many is not known: else claims of no use would hide them.
_MOST_KNOWN = 64
_FIELDS = (("resourceClaimTemplateName", "ResourceClaimTemplate"), ("resourceClaimName", "ResourceClaim"))


def read_claims(spec: JsonObject, namespace: str, cluster: ClusterView, signs: Signs) -> dict[str, Claim]:
    """The claims of a PodSpec by the names that its containers use; of two with one name the first."""
    found: dict[str, Claim] = {}
    looked_up: dict[tuple[str, str], KnownClaim | None] = {}
    classes: dict[str, str | None] = {}
    for index, entry in enumerate(members(spec.get("resourceClaims"))):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name in found:
            continue
        field, kind, of = _named(entry)
        if of and (kind, of) not in looked_up and len(looked_up) < _MOST_KNOWN:
            known = cluster.resource_claim(kind, namespace, of)
            # One that is missing may be made together with the work.
            looked_up[kind, of] = None if known is UNKNOWN else known
        further = len(found) >= _MOST_KNOWN
        claim = None if further else looked_up.get((kind, of))
        called_so = further or (claim is None and _is_called_so(name[:MAX_NAME], of, signs))
        devices = None if claim is None else tuple(_accelerators(claim, f"{name[:MAX_NAME]} {of}", classes, cluster, signs))
        found[name] = Claim(index, field, of, kind == "ResourceClaim", called_so, devices)
    return found


def _named(entry: JsonObject) -> tuple[str, str, str]:
    for field, kind in _FIELDS:
        of = entry.get(field)
        if isinstance(of, str) and of:
            return field, kind, of[:MAX_NAME]
    return "name", "", ""


def _accelerators(
    claim: KnownClaim, names: str, classes: dict[str, str | None], cluster: ClusterView, signs: Signs
) -> Iterator[ClaimedDevices]:
    """Those of its requests that are for accelerators. ``classes``: whose those of each class are, once that was asked."""
    for request in claim.requests:
        for devices in request.alternatives:
            name = devices.device_class
            if name not in classes:
                classes[name] = vendor_of_class(name, cluster, signs)
            vendor = classes[name]
            if vendor is None and _is_called_so(names, request.name[:MAX_NAME], signs):
                # Nothing says what the class has.
                vendor = OTHER_VENDOR
            if vendor is not None and vendor != NO_ACCELERATOR:
                # Which alternative it will be is not known; they stand in the order in which they are wanted.
                yield ClaimedDevices(request.name, name, vendor, devices.count, len(request.alternatives))
                break


def _is_called_so(name: str, of: str, signs: Signs) -> bool:
    return holds_any(name_words(f"{name} {of}"), signs.accelerator_claims)
