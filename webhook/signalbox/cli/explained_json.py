"""An explanation as data, one object a line; ``signalbox explain --help`` shows its shape."""

from signalbox.cli.explained import Explanation, Fact
from signalbox.cli.json_line import json_line
from signalbox.cli.place import BY_DEFAULT
from signalbox.cli.rule_outcomes import PolicyOutcome
from signalbox.cli.terminal import Terminal
from signalbox.cli.type_signs import TypeSign
from signalbox.fieldpath import format_path
from signalbox.finding import Finding
from signalbox.policy.workload_value import number
from signalbox.review import JsonObject
from signalbox.workload.judgement import Evidence


def write_json(explanation: Explanation, out: Terminal) -> None:
    """One line of JSON."""
    out.line(json_line(explanation_json(explanation)))


def explanation_json(explanation: Explanation) -> JsonObject:
    """The same as the page, and nothing left out."""
    manifest, view = explanation.manifest, explanation.view
    return {
        "file": manifest.file,
        "document": manifest.index,
        "line": manifest.document.line,
        "kind": manifest.kind,
        "name": view.name,
        "namespace": view.namespace,
        "allowed": explanation.admission.allowed,
        "judgements": {fact.name: _fact(fact, explanation) for fact in explanation.facts},
        "templates": [
            {
                "name": template.name,
                "pods": template.pods,
                "perPod": {resource: number(quantity) for resource, quantity in template.per_pod.items()},
                "placeholder": template.placeholder,
                "line": template.place.line,
            }
            for template in explanation.templates
        ],
        "typeSigns": [_sign(sign, explanation) for sign in explanation.signs],
        "injected": [change.as_json() for change in explanation.changes],
        "notInjected": [*explanation.admission.mutation.response.warnings, *(one.text for one in explanation.left_out)],
        "policies": [_policy(outcome) for outcome in explanation.policies],
        "write": [
            {"judgement": way.name, "path": format_path(way.path, view.object), "value": way.value, "words": way.words}
            for way in explanation.ways
        ],
    }


def _fact(fact: Fact, explanation: Explanation) -> JsonObject:
    return {
        "state": fact.state,
        "declared": fact.declared,
        "remark": fact.remark,
        "evidence": [_evidence(seen.evidence, explanation) for seen in fact.seen],
    }


def _evidence(evidence: Evidence, explanation: Explanation) -> JsonObject:
    place = explanation.places.of(evidence)
    return {**evidence.as_json(explanation.view.object), "line": place.line, "default": place.text == BY_DEFAULT}


def _sign(sign: TypeSign, explanation: Explanation) -> JsonObject:
    return {
        "result": sign.result,
        "says": sign.says,
        "strength": sign.strength.name.lower(),
        **_evidence(sign.evidence, explanation),
        "reason": sign.reason,
        "why": sign.why,
    }


def _policy(outcome: PolicyOutcome) -> JsonObject:
    return {
        "name": outcome.policy.name,
        "description": outcome.policy.description,
        "rules": [
            {
                "rule": rule.rule.id,
                "mode": rule.mode.text,
                "result": rule.result,
                "message": rule.message,
                "more": rule.more,
                **_finding(rule.finding),
            }
            for rule in outcome.rules
        ],
    }


def _finding(finding: Finding | None) -> JsonObject:
    return {
        "fixedBy": (finding.fixed_by or None) if finding else None,
        "exceptedBy": (finding.excepted_by or None) if finding else None,
        "approvedBy": (finding.approved_by or None) if finding else None,
    }
