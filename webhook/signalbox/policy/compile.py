"""From one validated document to a compiled policy or exception; its expressions, templates and field paths are linted on
the way, also where the rest of the document is wrong, so that one run shows every fault."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError

from signalbox.fieldpath import FieldPathError, Path, parse_path
from signalbox.policy.documents import (
    InjectDocument,
    OverrideDocument,
    PolicyExceptionDocument,
    RuleDocument,
    WorkloadPolicyDocument,
)
from signalbox.policy.expression import Expression, compile_expression
from signalbox.policy.expression_syntax import InvalidExpressionError
from signalbox.policy.match import Matcher, compile_match
from signalbox.policy.match_document import MatchDocument
from signalbox.policy.nearest import nearest
from signalbox.policy.policy_set import Edit, Injection, Override, Policy, PolicyException, Rule, RuleFix
from signalbox.policy.problem import Problems
from signalbox.policy.template import Template, TemplateError, compile_template
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

Checks = Mapping[str, type[BaseModel]]


@dataclass(slots=True)
class RuleParts:
    """What of a rule is compiled from its raw YAML."""

    expression: Expression | None = None
    amount: Expression | None = None
    message: Template | None = None
    fix_text: Template | None = None
    edits: tuple[Edit, ...] = ()
    parameters: BaseModel | None = None


def compile_rule_parts(raw: JsonObject, path: Path, checks: Checks, problems: Problems) -> RuleParts:
    """Lints and compiles the parts of a rule that its model knows only as text."""
    parts = RuleParts()
    if isinstance(raw.get("cel"), str) and raw["cel"]:
        parts.expression = _expression(raw["cel"], (*path, "cel"), problems)
    if isinstance(raw.get("amount"), str) and raw["amount"]:
        parts.amount = _expression(raw["amount"], (*path, "amount"), problems, number=True)
    parts.message = _template(raw.get("message"), (*path, "message"), problems)
    fix = raw.get("fix")
    if isinstance(fix, dict):
        parts.fix_text = _template(fix.get("text"), (*path, "fix", "text"), problems)
        if isinstance(fix.get("set"), dict):
            parts.edits = _edits(fix["set"], (*path, "fix", "set"), problems)
    if isinstance(raw.get("check"), str) and raw["check"]:
        parts.parameters = _parameters(raw, path, checks, problems)
    return parts


def _expression(text: str, path: Path, problems: Problems, number: bool = False) -> Expression | None:
    try:
        return compile_expression(text, number)
    except InvalidExpressionError as error:
        where = f"line {error.line}, column {error.column}" if "\n" in text.strip() else f"column {error.column}"
        problems.add(path, f"{error.message} ({where} of the expression)")
        return None


def _template(text: Any, path: Path, problems: Problems) -> Template | None:
    if not isinstance(text, str):
        return None
    try:
        return compile_template(text)
    except TemplateError as error:
        problems.add(path, f"{error.message} (column {error.column} of the text)")
        return None


def _edits(edits: JsonObject, path: Path, problems: Problems) -> tuple[Edit, ...]:
    compiled: list[Edit] = []
    for text, value in edits.items():
        try:
            compiled.append((parse_path(text), value))
        except FieldPathError as error:
            problems.add((*path, text), str(error), key=True)
    return tuple(compiled)


def _parameters(raw: JsonObject, path: Path, checks: Checks, problems: Problems) -> BaseModel | None:
    name = raw["check"]
    model = checks.get(name)
    if model is None:
        problems.add((*path, "check"), f"unknown check {name!r}{nearest(name, checks)}")
        return None
    given = raw.get("with", {})
    if not isinstance(given, dict):
        # The rule's model says so.
        return None
    try:
        return model.model_validate(given)
    except ValidationError as error:
        base = (*path, "with") if "with" in raw else path
        problems.add_validation(error, model, base)
        return None


def compile_policy(document: WorkloadPolicyDocument, parts: list[RuleParts]) -> Policy:
    """The compiled policy; ``parts`` are those of its rules."""
    spec, name = document.spec, document.metadata.name
    return Policy(
        name=name,
        description=spec.description,
        precedence=spec.precedence,
        match=_match(spec.match),
        inject=_injection(spec.inject),
        rules=tuple(_rule(rule, name, part, spec.help) for rule, part in zip(spec.rules, parts, strict=True)),
        owner=spec.owner,
        help=spec.help,
    )


def compile_exception(document: PolicyExceptionDocument) -> PolicyException:
    """The compiled exception."""
    spec = document.spec
    return PolicyException(
        name=document.metadata.name,
        rules=tuple(spec.rules),
        match=compile_match(spec.match),
        until=spec.until,
        reason=spec.reason,
        approved_by=spec.approvedBy,
    )


def _match(document: MatchDocument | None) -> Matcher | None:
    return compile_match(document) if document is not None and document.model_fields_set else None


def _injection(document: InjectDocument | None) -> Injection | None:
    if document is None:
        return None
    return Injection(
        queue=document.queue or "",
        priority_class_name=document.priorityClassName or "",
        tolerations=tuple(toleration.model_dump(exclude_unset=True) for toleration in document.tolerations),
        termination_grace_period_seconds=document.terminationGracePeriodSeconds,
        labels=dict(document.labels),
        annotations=dict(document.annotations),
        env=dict(document.env),
        node_selector=dict(document.nodeSelector),
        force=document.force,
    )


def _rule(document: RuleDocument, policy: str, parts: RuleParts, help_link: str) -> Rule:
    fix = RuleFix(parts.fix_text, parts.edits) if document.fix is not None else None
    return Rule(
        name=document.name,
        policy=policy,
        mode=document.mode,
        check=document.check,
        parameters=parts.parameters,
        expression=parts.expression,
        amount=parts.amount,
        message=parts.message,
        fix=fix,
        when=_match(document.when),
        overrides=tuple(_override(override) for override in document.overrides),
        refuse_on_error=document.onError == "refuse",
        help=help_link,
    )


def _override(document: OverrideDocument) -> Override:
    matching = document.model_fields_set - {"mode", "until"}
    return Override(document.mode, compile_match(document) if matching else None, document.until)


def expired_days(raw: Any, today: date) -> list[Path]:
    """Where in a raw policy an override stands whose day is over."""
    found: list[Path] = []
    for index, rule in enumerate(members(mapping(mapping(raw).get("spec")).get("rules"))):
        for number, override in enumerate(members(mapping(rule).get("overrides"))):
            until = mapping(override).get("until")
            # Days as they are written sort like days.
            if isinstance(until, str) and len(until) == 10 and until < today.isoformat():
                found.append(("spec", "rules", index, "overrides", number, "until"))
    return found
