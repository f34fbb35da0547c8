"""Whether the Pods of a template are kept on one node."""

from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import PodTemplate, mapping, members

_HOSTNAME = "kubernetes.io/hostname"


def node_of(template: PodTemplate) -> str:
    """The node that is named for them: in `nodeName`, the selector, or each alternative of a required affinity; else empty."""
    spec = template.spec
    name = spec.get("nodeName") or mapping(spec.get("nodeSelector")).get(_HOSTNAME)
    if name:
        return str(name)
    affinity = mapping(mapping(spec.get("affinity")).get("nodeAffinity"))
    terms = members(mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution")).get("nodeSelectorTerms"))
    named = {_only(mapping(term)) for term in terms}
    return named.pop() if len(named) == 1 else ""


def _only(term: JsonObject) -> str:
    """The only node that a term allows; empty where it allows several."""
    for expression in members(term.get("matchExpressions")):
        asked = mapping(expression)
        values = members(asked.get("values"))
        if asked.get("key") == _HOSTNAME and asked.get("operator") == "In" and len(values) == 1 and type(values[0]) is str:
            return str(values[0])
    return ""


def stays_together(template: PodTemplate) -> bool:
    """Whether they go to the node of another Pod, or of each other."""
    affinity = mapping(mapping(template.spec.get("affinity")).get("podAffinity"))
    required = members(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return any(mapping(term).get("topologyKey") == _HOSTNAME for term in required)
