"""Whether the Pods of a template are kept on one node."""

from signalbox.workload.kinds.kind import PodTemplate, mapping, members

_HOSTNAME = "kubernetes.io/hostname"


def is_pinned(template: PodTemplate) -> bool:
    """Whether a node is named for them."""
    spec = template.spec
    return bool(spec.get("nodeName") or mapping(spec.get("nodeSelector")).get(_HOSTNAME))


def stays_together(template: PodTemplate) -> bool:
    """Whether they go to the node of another Pod, or of each other."""
    affinity = mapping(mapping(template.spec.get("affinity")).get("podAffinity"))
    required = members(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    return any(mapping(term).get("topologyKey") == _HOSTNAME for term in required)
