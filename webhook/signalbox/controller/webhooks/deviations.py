"""How a webhook configuration in the cluster differs from the one shipped. Pure.

It is told, never mended: whoever deleted or loosened one may be ending an outage, or taking Signalbox out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from signalbox.controller.webhooks.shipped import Shipped
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

# What the API server fills in where nothing is written, so that what is absent on one side is no difference.
_DEFAULTS: Mapping[str, Any] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "sideEffects": None,
    "timeoutSeconds": 10,
    "reinvocationPolicy": "Never",
    "namespaceSelector": {},
    "objectSelector": {},
}
_RULE_LISTS = ("apiGroups", "apiVersions", "operations", "resources")
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Deviation:
    """One difference. ``webhook`` and ``field`` are empty where a whole configuration or webhook is missing."""

    configuration: str
    webhook: str
    field: str
    text: str


def deviations(shipped: Shipped, found: JsonObject | None, *, fails_open: bool = False) -> list[Deviation]:
    """What is missing or other than shipped; ``found`` None where the configuration is not there.

    ``fails_open`` is for the overlay audit-only: nothing is injected, and no entry closes anything when we are down.
    """
    configuration = shipped.name
    if found is None:
        if fails_open and shipped.kind == "MutatingWebhookConfiguration":
            return []
        return [Deviation(configuration, "", "", f"{shipped.kind} {configuration} is not there: nothing of it is asked of us")]
    webhooks = found.get("webhooks")
    named = {str(one.get("name")): one for one in webhooks if isinstance(one, dict)} if isinstance(webhooks, list) else {}
    result: list[Deviation] = []
    for webhook in shipped.webhooks:
        name = str(webhook.get("name"))
        present = named.get(name)
        if present is None:
            result.append(Deviation(configuration, name, "", f"{name} is missing in {shipped.kind} {configuration}"))
            continue
        expected = {**webhook, "failurePolicy": "Ignore"} if fails_open else webhook
        result += [Deviation(configuration, name, field, f"{name}: {text}") for field, text in _differences(expected, present)]
    return result


def _differences(shipped: JsonObject, found: JsonObject) -> Iterator[tuple[str, str]]:
    for field, default in _DEFAULTS.items():
        wanted, present = _or(shipped, field, default), _or(found, field, default)
        if wanted != present:
            yield field, f"{field} is {_shown(present)}, shipped: {_shown(wanted)}"
    yield from _service(shipped, found)
    wanted_rules, present_rules = _rules(shipped), _rules(found)
    if missing := sorted(wanted_rules - present_rules):
        yield "rules", f"rules lack {_listed(missing)}"
    if more := sorted(present_rules - wanted_rules):
        yield "rules", f"rules have {_listed(more)}, not shipped"
    yield from _conditions(shipped, found)


def _service(shipped: JsonObject, found: JsonObject) -> Iterator[tuple[str, str]]:
    wanted, present = (mapping(mapping(one.get("clientConfig")).get("service")) for one in (shipped, found))
    # The port is left out: another one is followed by the Service, or is seen at once.
    for key in ("namespace", "name", "path"):
        if wanted.get(key) != present.get(key):
            text = f"clientConfig.service.{key} is {_shown(present.get(key))}, shipped: {_shown(wanted.get(key))}"
            yield "clientConfig", text


def _conditions(shipped: JsonObject, found: JsonObject) -> Iterator[tuple[str, str]]:
    wanted, present = _expressions(shipped), _expressions(found)
    for name in sorted(wanted.keys() | present.keys()):
        if name not in present:
            yield "matchConditions", f"matchConditions lack {name}"
        elif name not in wanted:
            yield "matchConditions", f"matchConditions have {name}, not shipped"
        elif wanted[name] != present[name]:
            yield "matchConditions", f"matchConditions: {name} is another expression than shipped"


def _expressions(webhook: JsonObject) -> dict[str, str]:
    conditions = webhook.get("matchConditions")
    return {
        str(one.get("name")): " ".join(str(one.get("expression")).split())
        for one in (conditions if isinstance(conditions, list) else ())
        if isinstance(one, dict)
    }


def _rules(webhook: JsonObject) -> set[str]:
    """Each operation on each resource for itself, so that rules written in another way are the same rules."""
    result = set()
    rules = webhook.get("rules")
    for rule in rules if isinstance(rules, list) else ():
        if not isinstance(rule, dict):
            continue
        groups, versions, operations, resources = (_texts(rule.get(key)) for key in _RULE_LISTS)
        scope = rule.get("scope") or "*"
        for group in groups:
            for version in versions:
                for resource in resources:
                    named = f"{resource}.{group}" if group else resource
                    version_text = "" if version == "v1" else f" in {version}"
                    scope_text = "" if scope == "Namespaced" else f" with scope {scope}"
                    result |= {f"{operation} of {named}{version_text}{scope_text}" for operation in operations}
    return result


def _or(webhook: JsonObject, field: str, default: Any) -> Any:
    value = webhook.get(field)
    return default if value is None else value


def _texts(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []


def _listed(texts: list[str]) -> str:
    shown = ", ".join(texts[:4])
    return shown if len(texts) <= 4 else f"{shown} and {len(texts) - 4} more"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
