"""An explanation as a short page for a person, in 80 columns."""

from collections.abc import Iterable
from dataclasses import replace

from signalbox.cli.changes import write_changes
from signalbox.cli.explained import Explanation, Fact, Seen, Template
from signalbox.cli.rule_outcomes import (
    NOT_FOR_THIS,
    NOT_JUDGED,
    PASSES,
    RECORDED,
    REFUSES,
    RESULTS,
    WARNS,
    PolicyOutcome,
    RuleOutcome,
)
from signalbox.cli.terminal import Terminal
from signalbox.cli.type_signs import AGREES, DECIDES, OUTVOTED, STRENGTHS, TypeSign
from signalbox.fieldpath import format_path
from signalbox.manifests import STDIN
from signalbox.message import describe, evidence_text
from signalbox.plain_text import clean, wrap
from signalbox.policy.policy_set import Policy
from signalbox.quantity import format_quantity
from signalbox.record import JUDGEMENT
from signalbox.workload.judgement import Evidence

# More of the same says nothing new to a tired reader; -o json has it all.
_MOST_SEEN = 4
_MOST_SIGNS = 8
_WIDEST_RULE = 48
_SIGN_STYLES = {DECIDES: ("green", "bold"), AGREES: ("green",), OUTVOTED: ("yellow",)}
_RULE_STYLES = {REFUSES: "red", WARNS: "yellow", NOT_JUDGED: "yellow", PASSES: "green"}


def write_page(explanation: Explanation, out: Terminal) -> None:
    """The whole page of one workload."""
    manifest = explanation.manifest
    for line in wrap("", describe(explanation.view), "", "  "):
        out.line(line, "bold")
    file = "standard input" if manifest.file == STDIN else clean(manifest.file, 200)
    out.line(f"  {file}:{manifest.document.line}", "dim")
    for fact in explanation.facts:
        if fact.name == "owner" and fact.state is None:
            continue
        if fact.name == "resume" and fact.state == "unsaid" and not explanation.view.trains:
            # It makes no progress that could be read back.
            continue
        _write_fact(fact, explanation, out)
        if fact.name == "kind":
            _write_templates(explanation.templates, out)
    _write_injected(explanation, out)
    _write_rules(explanation, out)
    _write_ways(explanation, out)


def _write_fact(fact: Fact, explanation: Explanation, out: Terminal) -> None:
    state, remark = _state(fact, explanation), _remark(fact, explanation)
    if fact.declared:
        remark += ", as your annotation says" if fact.name == "checkpoint" else ", as your label says"
    _write_wrapped(f"  {fact.name:<14}", state, remark, " " * 16, out)
    if fact.name == "type":
        _write_signs(fact, explanation, out)
        return
    if fact.name == "kind":
        return
    for seen in fact.seen[:_MOST_SEEN]:
        _write_seen(seen, explanation, out)
    _write_rest(len(fact.seen) - _MOST_SEEN, "    ", out)


def _remark(fact: Fact, explanation: Explanation) -> str:
    remark = f": {fact.remark}" if fact.remark else ""
    after = explanation.admission.decided.view
    if after is None or not explanation.changes:
        return remark
    injected = {"queue": after.queue, "priority": after.priority.class_name}.get(fact.name)
    written = {"queue": explanation.view.queue, "priority": explanation.view.priority.class_name}.get(fact.name)
    return f"{remark}; {clean(injected)} is injected" if injected and injected != written else remark


def _state(fact: Fact, explanation: Explanation) -> str:
    if fact.name == "accelerators":
        asked = explanation.view.accelerators
        if not asked.any:
            return "none"
        count = f"{format_quantity(asked.per_pod)} a Pod, {format_quantity(asked.total)} in total"
        if not asked.placeholder:
            return count
        return "asked for, how many is not known" if not asked.total else f"{count}, and some whose number is not known"
    if isinstance(fact.state, bool):
        return "yes" if fact.state else "no"
    if fact.state is None:
        return "none" if fact.name in ("queue", "owner") else "not known"
    return clean(fact.state)


def _write_templates(templates: tuple[Template, ...], out: Terminal) -> None:
    for number, template in enumerate(templates):
        pods = "how many is not known" if template.pods is None else f"{template.pods}"
        each = [f"{format_quantity(quantity)} {clean(resource)}" for resource, quantity in template.per_pod.items()]
        each += ["accelerators whose number is not known"] if template.placeholder else []
        name = f"{clean(template.name)}: " if template.name else ""
        text = f" with {' and '.join(each)}{' each' if template.pods != 1 else ''}" if each else " without accelerators"
        place = f"  ({template.place.text})" if template.place.text else ""
        _write_wrapped("  Pods          " if not number else " " * 16, f"{name}{pods}", f"{text}{place}", " " * 18, out)


def _write_signs(fact: Fact, explanation: Explanation, out: Terminal) -> None:
    """The label that was believed, then what spoke for which type."""
    signs = explanation.signs
    if fact.declared:
        for seen in fact.seen:
            _write_seen(seen, explanation, out)
        without = explanation.inferred.state or "not known"
        _write_wrapped("    ", f"without the label it would be {without}", "", "      ", out)
    elif not any(sign.result == DECIDES for sign in signs):
        for seen in fact.seen:
            _write_seen(seen, explanation, out)
    for sign in signs[:_MOST_SIGNS]:
        _write_sign(sign, explanation, out)
    _write_rest(len(signs) - _MOST_SIGNS, "    ", out)


def _write_sign(sign: TypeSign, explanation: Explanation, out: Terminal) -> None:
    place = explanation.places.of(sign.evidence).text
    evidence = replace(sign.evidence, note="")
    result = sign.result if sign.result != OUTVOTED or explanation.inferred.state else "too thin"
    text = f"{place}  {_evidence(evidence, explanation)}"
    start = f"    {result:<9} "
    lines = wrap("", text, " " * len(start), " " * (len(start) + 2))
    out.line(out.styled(start, *_SIGN_STYLES[sign.result]) + lines[0][len(start) :])
    for line in lines[1:]:
        out.line(line)
    why = f"; {sign.why}" if sign.why else ""
    reason = f" ({clean(sign.reason, 200)})" if sign.reason else ""
    said = f"{STRENGTHS[sign.strength].format(sign.says)}{reason}{why}"
    for line in wrap("", said, " " * len(start), " " * (len(start) + 2)):
        out.line(line, "dim")


def _write_seen(seen: Seen, explanation: Explanation, out: Terminal) -> None:
    place = f"{seen.place.text}  " if seen.place.text else ""
    lines = wrap("", f"{place}{_evidence(seen.evidence, explanation)}", "    ", "      ")
    head = f"    {place.strip()}"
    if place and lines[0].startswith(head):
        lines[0] = "    " + out.styled(place.strip(), "dim") + lines[0][len(head) :]
    for line in lines:
        out.line(line)


def _evidence(evidence: Evidence, explanation: Explanation) -> str:
    """The field within its PodSpec, behind the template's name where there are several: the line says where that is."""
    view = explanation.view
    if evidence.path == ("kind",):
        note = f" ({clean(evidence.note)})" if evidence.note else ""
        return f"kind: {clean(evidence.value)}{note}"
    for template in view.templates:
        base = template.spec_path
        if evidence.path[: len(base)] == base and len(evidence.path) > len(base):
            name = f"{clean(template.name)}: " if template.name and len(view.templates) > 1 else ""
            return name + evidence_text(replace(evidence, path=evidence.path[len(base) :]), template.spec)
    return evidence_text(evidence, view.object)


def _write_rest(left: int, indent: str, out: Terminal) -> None:
    if left > 0:
        out.line(f"{indent}and {left} more, see -o json", "dim")


def _write_injected(explanation: Explanation, out: Terminal) -> None:
    out.line()
    changes, injecting = explanation.changes, explanation.injecting
    refused = not explanation.admission.mutation.response.allowed
    if refused:
        out.line("Injected: nothing, it is refused before that", "bold")
        return
    out.line("Injected" if changes else "Injected: nothing", "bold")
    write_changes(changes, out)
    sources = {name for change in changes for name in change.by.split(",")}
    behind = [policy for policy in injecting.matching if policy.name in sources]
    left = {name for one in explanation.left_out for name in one.policies}
    idle = [policy.name for policy in injecting.matching if policy.name not in sources]
    held_back = [name for name in idle if name in injecting.held_back]
    idle = [name for name in idle if name not in injecting.held_back and name not in left]
    if changes:
        out.line("  why", "dim")
    for policy in behind:
        about = f": {clean(policy.description, 300)}" if policy.description else ""
        _write_wrapped("    ", clean(policy.name), about, "      ", out)
    if JUDGEMENT in sources:
        _write_wrapped("    ", "inferred", ": what it was taken for, so that people and quotas can see it", "      ", out)
    if idle:
        text = f"{', '.join(map(clean, idle))}: nothing left to inject, your own values stand"
        _write_wrapped("  matches too  ", "", text, "    ", out)
    if held_back:
        text = f"{', '.join(map(clean, held_back))}: injects no queue, priority or nodes for a type that is not certain"
        _write_wrapped("  matches too  ", "", text, "    ", out)
    for policy, unknown in injecting.unknown:
        text = f": injects nothing, not known: {clean(', '.join(unknown), 200)}"
        _write_wrapped("    ", clean(policy.name), text, "      ", out)
    for one in explanation.left_out:
        _write_wrapped("  not written   ", "", clean(one.text, 400), "    ", out)
    for warning in explanation.admission.mutation.response.warnings:
        _write_wrapped("  ", "", f"Warning: {warning}", "    ", out)


def _write_rules(explanation: Explanation, out: Terminal) -> None:
    out.line()
    admission, policies = explanation.admission, explanation.policies
    if admission.decided.view is None:
        out.line("Rules: none is asked about this, whoever sends it", "bold")
        return
    counts = _counts(policies)
    verdict = "it would be let in" if admission.allowed else "it would be refused"
    out.line(f"Rules: {', '.join(counts) or 'none looks at it'}; {verdict}", "bold")
    told = [(outcome.policy, rule) for outcome in policies for rule in outcome.rules]
    width = min(max((len(rule.rule.id) for _, rule in told), default=0), _WIDEST_RULE)
    # What stops it comes first, what passes last.
    for policy, rule in sorted(told, key=lambda one: RESULTS.index(one[1].result)):
        _write_rule(policy, rule, width, out)
    idle = [clean(outcome.policy.name) for outcome in policies if not outcome.rules]
    if idle:
        _write_wrapped("  ", "", f"match too, but none of their rules looks at this: {', '.join(idle)}", "    ", out)


def _counts(policies: Iterable[PolicyOutcome]) -> list[str]:
    results = [rule.result for outcome in policies for rule in outcome.rules]
    verbs = {
        REFUSES: ("refuses", "refuse"),
        WARNS: ("warns", "warn"),
        PASSES: ("passes", "pass"),
        NOT_FOR_THIS: ("does not apply", "do not apply"),
    }
    counts = []
    for result in RESULTS:
        number = results.count(result)
        if number:
            one, many = verbs.get(result, (result, result))
            counts.append(f"{number} {one if number == 1 else many}")
    return counts


def _write_rule(policy: Policy, outcome: RuleOutcome, width: int, out: Terminal) -> None:
    """One line; below it, where it does not pass, what is wrong, and in a refusal or warning what the policy is for."""
    marks = {PASSES: out.marks.fine, WARNS: out.marks.warned, REFUSES: out.marks.refused}
    mark = marks.get(outcome.result, "?" if outcome.result == NOT_JUDGED else "-")
    style = _RULE_STYLES.get(outcome.result, "dim")
    mark = f"{mark:<{len(out.marks.fine)}}"
    start = f"  {mark} {clean(outcome.rule.id):<{width}}  {outcome.result}"
    message = clean(outcome.message, 300) + (f" (and {outcome.more} more)" if outcome.more else "")
    out.line(start.replace(mark, out.styled(mark, style), 1))
    for line in wrap("", message, "      ", "      ") if message else ():
        out.line(line)
    mender = outcome.finding.fixed_by if outcome.finding is not None and outcome.result in (REFUSES, WARNS, RECORDED) else ""
    if mender:
        out.line(f"      A policy can inject what it lacks: see the injector {mender}.", "dim")
    about = clean(policy.description, 300) if outcome.result in (REFUSES, WARNS) else ""
    for line in wrap("", about, "      ", "      ") if about else ():
        out.line(line, "dim")


def _write_ways(explanation: Explanation, out: Terminal) -> None:
    if not explanation.ways:
        return
    out.line()
    out.line("If a judgement is not what you meant, write", "bold")
    for way in explanation.ways:
        field = f"{clean(format_path(way.path, explanation.view.object), 200)}: {way.value}"
        for line in wrap("", field, "  ", "      "):
            out.line(line)
        for line in wrap("", way.words, "      ", "      "):
            out.line(line, "dim")


def _write_wrapped(start: str, strong: str, rest: str, below: str, out: Terminal) -> None:
    """``start`` and ``strong``, which is bold, and the rest behind them."""
    lines = wrap("", f"{strong}{rest}", " " * len(start), below)
    first = lines[0][len(start) :]
    if strong and first.startswith(strong):
        first = out.styled(strong, "bold") + first[len(strong) :]
    out.line(f"{start}{first}")
    for line in lines[1:]:
        out.line(line)
