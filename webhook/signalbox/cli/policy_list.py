"""What the policies say, at a glance: as text for people, as data for machines."""

from signalbox.check.table import CHECKS
from signalbox.cli.changes import shown
from signalbox.cli.match_words import match_words
from signalbox.cli.terminal import Terminal
from signalbox.configuration import LoadedSetup
from signalbox.plain_text import clean, wrap
from signalbox.policy.policy_set import Injection, Policy, PolicyException
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping


def write_policies(loaded: LoadedSetup, out: Terminal) -> None:
    """Every policy and every exception, in at most 80 columns, and the checks that are there to be asked for."""
    found = loaded.setup.policies
    for policy in found.policies:
        _write(policy, _match(loaded, "WorkloadPolicy", policy.name), out)
    for exception in found.exceptions:
        out.line(f"exception {exception.name}", "bold")
        _write_wrapped(f"for {match_words(_match(loaded, 'PolicyException', exception.name))}", out)
        _write_wrapped(f"{', '.join(exception.rules)} until {exception.until}: {clean(exception.reason, 300)}", out)
        _write_wrapped(f"approved by {clean(exception.approved_by)}", out)
    asked = {rule.check for policy in found.policies for rule in policy.rules}
    left = [name for name in CHECKS if name not in asked]
    if left:
        out.line()
        for line in wrap("", f"no rule asks for: {', '.join(left)}", "", "  "):
            out.line(line, "dim")


def policies_json(loaded: LoadedSetup) -> list[JsonObject]:
    """Every policy as data, with the exceptions from its rules."""
    found = loaded.setup.policies
    return [
        {
            **_as_json(policy, _match(loaded, "WorkloadPolicy", policy.name)),
            "exceptions": [
                _exception_json(exception, _match(loaded, "PolicyException", exception.name))
                for exception in found.exceptions
                if any(exception.covers(rule.id) for rule in policy.rules)
            ],
        }
        for policy in found.policies
    ]


def _match(loaded: LoadedSetup, kind: str, name: str) -> JsonObject:
    """The match as it is written: a compiled one has no words."""
    return mapping(mapping(loaded.documents[f"{kind}/{name}"].value["spec"]).get("match"))


def _write(policy: Policy, match: JsonObject, out: Terminal) -> None:
    about = f"precedence {policy.precedence}" + (f", owner {clean(policy.owner)}" if policy.owner else "")
    out.line(f"{out.styled(policy.name, 'bold')}  {out.styled(about, 'dim')}")
    if policy.description:
        _write_wrapped(clean(policy.description, 300), out)
    _write_wrapped(f"for {match_words(match)}", out)
    for name, value in _injected_fields(policy.inject).items():
        for one in value if isinstance(value, list) else [value]:
            _write_wrapped(f"+ {name}: {shown(one)}", out, "green")
    width = max((len(rule.name) for rule in policy.rules), default=0)
    for rule in policy.rules:
        what = rule.check or "cel"
        overridden = f", {len(rule.overrides)} override{'' if len(rule.overrides) == 1 else 's'}" if rule.overrides else ""
        out.line(f"  {rule.name:<{width}}  {rule.mode.text:<8}  {what}{overridden}")


def _write_wrapped(text: str, out: Terminal, *styles: str) -> None:
    for line in wrap("", text, "  ", "    "):
        out.line(line, *styles)


def _as_json(policy: Policy, match: JsonObject) -> JsonObject:
    return {
        "name": policy.name,
        "description": policy.description,
        "owner": policy.owner,
        "precedence": policy.precedence,
        "match": match,
        "inject": _injected_fields(policy.inject),
        "rules": [
            {"name": rule.name, "check": rule.check or "cel", "mode": rule.mode.text, "overrides": len(rule.overrides)}
            for rule in policy.rules
        ],
    }


def _exception_json(exception: PolicyException, match: JsonObject) -> JsonObject:
    return {
        "name": exception.name,
        "rules": list(exception.rules),
        "match": match,
        "until": str(exception.until),
        "reason": exception.reason,
        "approvedBy": exception.approved_by,
    }


def _injected_fields(injection: Injection | None) -> JsonObject:
    """What a policy injects, by the names of the policy language; empty where it injects nothing."""
    if injection is None:
        return {}
    fields: JsonObject = {
        "queue": injection.queue,
        "priorityClassName": injection.priority_class_name,
        "tolerations": list(injection.tolerations),
        "terminationGracePeriodSeconds": injection.termination_grace_period_seconds,
        "labels": injection.labels,
        "annotations": injection.annotations,
        "env": injection.env,
        "nodeSelector": injection.node_selector,
        "force": injection.force,
    }
    return {name: value for name, value in fields.items() if value}
