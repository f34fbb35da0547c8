"""A ``match`` as its author wrote it, in words: for whom a policy is, at a glance."""

from collections.abc import Callable, Iterable
from typing import Any

from signalbox.plain_text import clean
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

EVERYTHING = "every workload"


def match_words(match: JsonObject) -> str:
    """``namespace team-a or team-b-*; trains; not (named test-*)``; keys that must all hold are parted by semicolons."""
    parts = [words(match[key]) for key, words in _WORDS.items() if match.get(key) is not None]
    return "; ".join(part for part in parts if part) or EVERYTHING


def _any_of(start: str, none: str = "") -> Callable[[Any], str]:
    def words(values: Any) -> str:
        named = [clean(value) for value in members(values) if value != ""]
        found = [f"{start} {_or(named)}"] if named else []
        return _or([*found, none] if "" in members(values) else found)

    return words


def _flag(yes: str, no: str) -> Callable[[Any], str]:
    return lambda value: yes if value else no


def _or(words: Iterable[str]) -> str:
    return " or ".join(words)


def _labels(start: str) -> Callable[[Any], str]:
    def words(selector: Any) -> str:
        written = mapping(selector)
        whole = written.keys() & {"matchLabels", "matchExpressions"}
        labels = mapping(written.get("matchLabels")) if whole else written
        parts = [f"{clean(key)}={clean(value)}" for key, value in labels.items()]
        for one in members(written.get("matchExpressions")) if whole else ():
            values = f" ({', '.join(clean(value) for value in members(one.get('values')))})" if one.get("values") else ""
            parts.append(f"{clean(one.get('key'))} {clean(one.get('operator'))}{values}")
        return f"{start} {', '.join(parts)}"

    return words


def _accelerators(written: Any) -> str:
    parts = [
        _range(name, mapping(written[key])) for key, name in (("total", "in total"), ("perPod", "a Pod")) if key in written
    ]
    for key, name in (("vendors", "vendor"), ("resources", "resource")):
        if key in written:
            parts.append(f"any {name}" if written[key] == ["*"] else f"{name} {_or(map(clean, written[key]))}")
    return f"accelerators: {', '.join(parts)}"


def _range(name: str, written: JsonObject) -> str:
    least, most = written.get("min"), written.get("max")
    if least is not None and most is not None:
        return f"{least:g} to {most:g} {name}"
    return f"at least {least:g} {name}" if least is not None else f"at most {most:g} {name}"


def _priority(written: Any) -> str:
    parts = [
        f"{name} {written[key]}" for key, name in (("atLeast", "at least"), ("below", "below")) if written.get(key) is not None
    ]
    if "unset" in written:
        parts.append("not set" if written["unset"] else "set")
    return f"priority {' and '.join(parts)}"


_WORDS: dict[str, Callable[[Any], str]] = {
    "namespaces": _any_of("namespace"),
    "namespaceSelector": _labels("namespace labelled"),
    "kinds": _any_of("kind"),
    "names": _any_of("named"),
    "labels": _labels("labelled"),
    "types": _any_of("type"),
    "trains": _flag("trains", "does not train"),
    "distributed": _flag("distributed", "not distributed"),
    "frameworks": _any_of("framework"),
    "accelerators": _accelerators,
    "queues": _any_of("queue", "no queue"),
    "spot": _any_of("spot"),
    "checkpoint": _any_of("checkpoint"),
    "resume": _any_of("resume"),
    "priority": _priority,
    "users": _any_of("user"),
    "groups": _any_of("group"),
    "operations": _any_of("on"),
    "not": lambda inner: f"not ({match_words(mapping(inner))})",
    "any": lambda alternatives: "either " + _or(f"({match_words(mapping(one))})" for one in members(alternatives)),
}
