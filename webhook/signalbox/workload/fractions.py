"""Fractional GPUs that KAI and its like are asked for by annotation alone, with no resource at all."""

from signalbox.quantity import Quantity, is_placeholder, parse_quantity
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping
from signalbox.workload.signs import Signs

# The same share of several devices (kai-scheduler ``pkg/common/constants``).
_OF_SEVERAL = "gpu-fraction-num-devices"
_MOST_SHARED = 64


def shares_by_annotation(template: PodTemplate, signs: Signs, running: dict[str, Quantity], evidence: list[Evidence]) -> bool:
    """Adds fractional GPUs asked for by annotation alone (``gpu-fraction: "0.5"``); True where one is a placeholder."""
    annotations = mapping(template.metadata.get("annotations"))
    for name in signs.accelerator_annotations:
        raw = annotations.get(name)
        if raw is None:
            continue
        if isinstance(raw, dict | list):
            # No annotation; it may be nested too deeply to be shown.
            continue
        path = (*template.path, "metadata", "annotations", name)
        evidence.append(Evidence(path, str(raw)))
        if is_placeholder(raw):
            return True
        fraction = parse_quantity(raw)
        # An amount of memory is no count of devices: it asks for a share of one.
        share = fraction if fraction is not None and 0 < fraction <= 1 else 1
        number = annotations.get(_OF_SEVERAL)
        if is_placeholder(number):
            evidence.append(Evidence((*path[:-1], _OF_SEVERAL), str(number)))
            return True
        several = parse_quantity(number)
        if several is not None and 1 < several <= _MOST_SHARED:
            evidence.append(Evidence((*path[:-1], _OF_SEVERAL), str(number)))
            share *= several
        running[name] = share
        return False
    return False
