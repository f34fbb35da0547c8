"""Spot: does the workload demand, prefer or permit capacity that is taken back without notice?

A node selector or a required node affinity *demands* spot where no other node fits it: every alternative and every value
it allows must be a spot one. A toleration of the taint only *permits* it, and so does one without a key, which tolerates
every taint; neither counts where the selector rules spot nodes out. A queue may demand or permit it too (``spot_queue``).
"""

from typing import TYPE_CHECKING, Any

from signalbox.fieldpath import Path
from signalbox.workload.judgement import SPOT_STATES, Evidence, Judgement
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.signs import Signs, SpotLabel
from signalbox.workload.spot_queue import NOT_SPOT, judge_queue

if TYPE_CHECKING:
    from signalbox.workload.view import WorkloadView

# More of the same says nothing new.
_MAX_EVIDENCE = 16
_EVERY_TAINT = "tolerates every taint"
_NO: Judgement = Judgement("no")


def judge_spot(view: "WorkloadView") -> Judgement:
    """The strongest of all templates: ``demanded``, ``preferred``, ``permitted``, ``no``."""
    best = _NO
    open_to_it = []
    for template in view.running_templates:
        found = _judge_template(template, view.signs)
        if found is None:
            continue
        open_to_it.append(template)
        best = _stronger(found, best)
    if open_to_it and view.kueue_queue and best.state != "demanded":
        by_queue = judge_queue(view, open_to_it)
        if by_queue is not None:
            best = _stronger(by_queue, best)
    return best


def _stronger(one: Judgement, other: Judgement) -> Judgement:
    return one if SPOT_STATES.index(one.state or "no") < SPOT_STATES.index(other.state or "no") else other


def _judge_template(template: PodTemplate, signs: Signs) -> Judgement | None:
    """What a template says by itself; None where it rules spot nodes out."""
    spec = template.spec
    selector = mapping(spec.get("nodeSelector"))
    affinity = spec.get("affinity")
    tolerations = members(spec.get("tolerations"))
    if not selector and not affinity and not tolerations and not signs.spot_resources:
        return _NO
    excluded = False
    evidence: list[Evidence] = []
    for key, value in selector.items():
        label = signs.spot_label(key)
        if label is None:
            continue
        if label.matches(_text(value)):
            evidence.append(Evidence((*template.spec_path, "nodeSelector", key), _text(value)))
        elif label.excludes(_text(value)):
            excluded = True
    node_affinity = mapping(mapping(affinity).get("nodeAffinity")) if affinity else {}
    permitted: list[Evidence] = []
    if node_affinity:
        demands, allows, forbids = _required(node_affinity, template.spec_path, signs)
        evidence += demands
        permitted += allows
        excluded = excluded or forbids
    evidence += _resources(template, signs)
    if evidence:
        return Judgement("demanded", tuple(evidence))
    if excluded:
        return None
    if node_affinity:
        preferred = _preferred(node_affinity, template.spec_path, signs)
        if preferred:
            return Judgement("preferred", tuple(preferred))
    permitted += _tolerated(tolerations, template.spec_path, signs)
    return Judgement("permitted", tuple(permitted)) if permitted else _NO


def _required(affinity: dict[str, Any], spec: Path, signs: Signs) -> tuple[list[Evidence], list[Evidence], bool]:
    """What required terms demand, what they merely allow, and whether they leave no spot node at all.

    Terms are alternatives: spot is demanded only where each of them does.
    """
    required = mapping(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    # A term without an expression matches no node (kubernetes `NodeSelectorTerm`): it is no way round the others.
    terms = [term for term in members(required.get("nodeSelectorTerms")) if isinstance(term, dict) and _asks(term)]
    base: Path = (*spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    demands: list[Evidence] = []
    allows: list[Evidence] = []
    demanding = forbidding = 0
    for index, term in enumerate(terms):
        seen, verdict = _term(term, (*base, index), signs)
        demanding += verdict == "demands"
        forbidding += verdict == "forbids"
        if verdict == "demands":
            demands += seen
        elif verdict == "allows":
            allows += seen
    if terms and demanding == len(terms):
        return demands, [], False
    return [], demands + allows, bool(terms) and forbidding == len(terms)


def _asks(term: dict[str, Any]) -> bool:
    return bool(term.get("matchExpressions") or term.get("matchFields"))


def _term(term: dict[str, Any], path: Path, signs: Signs) -> tuple[list[Evidence], str]:
    """What the expressions of one term, which hold together, say: ``demands``, ``allows``, ``forbids`` or nothing."""
    seen: list[Evidence] = []
    verdict = ""
    for index, expression in enumerate(members(term.get("matchExpressions"))):
        if not isinstance(expression, dict):
            continue
        key = expression.get("key")
        label = signs.spot_label(key)
        if label is None:
            continue
        said = _expression(expression, label)
        if said == "forbids":
            return [], "forbids"
        if said:
            verdict = "demands" if "demands" in (said, verdict) else said
            seen.append(Evidence((*path, "matchExpressions", index), _expression_text(expression)))
    return seen, verdict


def _expression(expression: dict[str, Any], label: SpotLabel) -> str:
    operator = expression.get("operator")
    if operator == "Exists":
        return "demands" if label.presence else ""
    if operator == "DoesNotExist":
        return "forbids" if label.presence else ""
    values = [_text(value) for value in members(expression.get("values"))]
    matching = sum(label.matches(value) for value in values)
    if operator == "In" and values:
        if matching == len(values):
            return "demands"
        if matching:
            return "allows"
        return "forbids" if all(label.excludes(value) for value in values) else ""
    if operator == "NotIn":
        if matching:
            return "forbids"
        return "demands" if any(label.is_other(value) for value in values) else ""
    return ""


def _preferred(affinity: dict[str, Any], spec: Path, signs: Signs) -> list[Evidence]:
    base: Path = (*spec, "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
    found: list[Evidence] = []
    for index, entry in enumerate(members(affinity.get("preferredDuringSchedulingIgnoredDuringExecution"))):
        preference = mapping(mapping(entry).get("preference"))
        seen, verdict = _term(preference, (*base, index, "preference"), signs)
        if verdict in ("demands", "allows"):
            found += seen
    return found


def _tolerated(tolerations: list[Any], spec: Path, signs: Signs) -> list[Evidence]:
    found: list[Evidence] = []
    for index, toleration in enumerate(tolerations):
        if len(found) == _MAX_EVIDENCE:
            break
        if not isinstance(toleration, dict):
            continue
        key, value, operator = toleration.get("key"), toleration.get("value"), toleration.get("operator")
        path: Path = (*spec, "tolerations", index)
        if not key:
            # The taints of spot nodes keep new Pods off: tolerating eviction alone (NoExecute) lets none in.
            if operator == "Exists" and toleration.get("effect") in (None, "", "NoSchedule"):
                found.append(Evidence(path, "operator: Exists", _EVERY_TAINT))
            continue
        label = signs.spot_label(key)
        if label is None or (label.named and not label.matches(_text(value))):
            continue
        if operator == "Exists" or _text(value).lower() not in NOT_SPOT:
            found.append(Evidence(path, f"{key}={_text(value)}" if value is not None else _text(key)))
    return found


def _resources(template: PodTemplate, signs: Signs) -> list[Evidence]:
    if not signs.spot_resources:
        return []
    found: list[Evidence] = []
    for path, container, _ in containers_of(template, with_resources=True):
        resources = mapping(container.get("resources"))
        for section in ("limits", "requests"):
            for resource, quantity in mapping(resources.get(section)).items():
                if isinstance(resource, str) and "/" in resource and signs.is_spot_resource(resource):
                    found.append(Evidence((*path, "resources", section, resource), _text(quantity)))
    return found


def _expression_text(expression: dict[str, Any]) -> str:
    values = ", ".join(_text(value) for value in members(expression.get("values")))
    return f"{_text(expression.get('key'))} {_text(expression.get('operator'))} {values}".rstrip()


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    # A list or mapping stands for nothing here, and may be nested too deeply to be shown.
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
