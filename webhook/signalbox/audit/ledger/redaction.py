"""What is kept of an object in the ledger, and what is taken away before it is written. Pure.

Kept is what judgements read, so that the request can be judged again: the value of an environment variable whose name the
signs know (``CHECKPOINT_DIR``), that a command refers to, that a policy injects, or that ``keep_env`` names. Every other
value goes, and whatever looks like a secret goes even there. A value that is taken away leaves ``<removed 1>``, which
judgements take for a placeholder; equal values of one entry have equal numbers, so that what an UPDATE changed still shows.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import orjson

from signalbox.audit.ledger.options import Redaction
from signalbox.audit.ledger.secret_names import is_beside_secret, is_secret_name
from signalbox.audit.ledger.secret_text import mask_text, mask_words
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.kinds.rayruntime import read_runtime
from signalbox.workload.labels import INJECTED
from signalbox.workload.meaning import meaning_of
from signalbox.workload.signs import Signs

_DEEPEST = 200
_LONGEST_ANNOTATION = 2048
_LONGEST_VARIABLE = 128
# Checks read this variable by its name (gpu-bypass).
_READ_BY_CHECKS = frozenset({"NVIDIA_VISIBLE_DEVICES"})
_LABEL_MAPS = frozenset({"labels", "matchLabels", "nodeSelector", "limits", "requests", "selector"})
_ENV_KEYS = frozenset(
    {"env", "envs", "envvars", "environment", "extraenv", "extraenvs", "extraenvvars", "environmentvariables"}
)
_RUNTIME = "runtimeEnvYAML"
_GIVEN = ("value", "default")
_PAYLOADS = {"Secret": ("data", "stringData"), "ConfigMap": ("data", "binaryData")}
_REFERENCE = re.compile(r"\$(?:\(([A-Za-z_][\w.-]*)\)|\{([A-Za-z_]\w*)|([A-Za-z_]\w*))")
_MANIFEST = re.compile(r"\A\s*[{\[].*\"kind\"|^kind:\s", re.DOTALL | re.MULTILINE)
_RECORDED_VARIABLE = re.compile(r"\benv\[([^\]]*)\]")
# One word of capitals, small letters and digits: no path, no name of a model.
_PASSWORD_LIKE = re.compile(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z0-9!@#$%^&*+=~?]{10,128}")
_LONG_KEY = 20
_LONGEST_TEXT = 64 * 1024
_TOO_LONG = "a text of more than 64 kB"
_TOO_DEEP = "what stands deeper than 200 levels"


@dataclass(frozen=True, slots=True)
class Redacted:
    """The objects without what must not be kept.

    ``doubts`` names, in words, what was taken away though a judgement reads it.
    """

    object: JsonObject | None
    old_object: JsonObject | None
    doubts: tuple[str, ...] = ()


def redact(
    obj: JsonObject | None,
    old: JsonObject | None,
    rules: Redaction,
    signs: Signs,
    injected: Collection[tuple[str, str]] = frozenset(),
) -> Redacted:
    """Both objects of one request; neither is changed. ``injected`` are the names that policies inject, by section."""
    walk = _Walk(rules, signs, injected)
    new_object = None if obj is None else walk.value(obj, 0)
    new_old = None if old is None else walk.value(old, 0)
    walk.fill_environments()
    return Redacted(new_object, new_old, tuple(walk.doubts))


def mask(text: str) -> str:
    """One text without what looks like a secret."""
    return mask_text(text, lambda _: "<removed>")


class _Walk:
    """One pass over the objects of a request. Environments come last: what a command refers to must be known by then."""

    __slots__ = ("_environments", "_injected", "_numbers", "_references", "_rules", "_runtimes", "_signs", "doubts")

    def __init__(self, rules: Redaction, signs: Signs, injected: Collection[tuple[str, str]]) -> None:
        self._rules = rules
        self._signs = signs
        self._injected = injected
        self._numbers: dict[str, int] = {}
        # By name, whether something that a judgement reads hangs on it.
        self._references: dict[str, bool] = {}
        self._environments: list[tuple[Any, Any]] = []
        self._runtimes: list[tuple[JsonObject, JsonObject, str]] = []
        self.doubts: dict[str, None] = {}

    def mark(self, text: object) -> str:
        """What stands in for a value."""
        return f"<removed {self._numbers.setdefault(str(text), len(self._numbers) + 1)}>"

    def value(self, value: Any, depth: int, within: bool = False) -> Any:
        """A copy of any value. ``within``: of something that is named like a secret."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict):
            return self._mapping(value, depth + 1, within=within)
        if isinstance(value, list):
            return self._list(value, depth + 1, within)
        return value

    def _text(self, text: str) -> str:
        if len(text) > _LONGEST_TEXT:
            # To look through it would hold up requests, and nobody's command is that long.
            self.doubts[_TOO_LONG] = None
            return self.mark(text)
        masked = mask_text(text, self.mark, self._told)
        if "$" in masked:
            self._refer(masked)
        return masked

    def _told(self, name: str) -> None:
        if meaning_of(name, self._signs) is not None:
            self.doubts[f"the value of {name[:_LONGEST_VARIABLE]}"] = None

    def _refer(self, text: str) -> None:
        for found in _REFERENCE.finditer(text):
            name = found.group(1) or found.group(2) or found.group(3)
            beside = text[max(found.start() - 1, 0) : found.start()] + text[found.end() : found.end() + 2]
            is_read = any(character in "/=:" for character in beside)
            self._references[name] = self._references.get(name, False) or is_read

    def _list(self, members: list[Any], depth: int, within: bool) -> list[Any]:
        if depth > _DEEPEST:
            self.doubts[_TOO_DEEP] = None
            return []
        if within:
            return [self.mark(member) if _is_scalar(member) else self.value(member, depth, within) for member in members]
        if any(isinstance(member, str) for member in members):
            # Whatever it is, it may be a command line.
            short = [self._text(one) if isinstance(one, str) and len(one) > _LONGEST_TEXT else one for one in members]
            masked = mask_words(short, self.mark, self._told)
            for member in masked:
                if isinstance(member, str) and "$" in member:
                    self._refer(member)
            return [member if isinstance(member, str) else self.value(member, depth) for member in masked]
        return [self.value(member, depth) for member in members]

    def _mapping(self, found: JsonObject, depth: int, labels: bool = False, within: bool = False) -> JsonObject:
        """``labels``: its keys are names that somebody chose, which say nothing of the values, and policies match by them."""
        if depth > _DEEPEST:
            self.doubts[_TOO_DEEP] = None
            return {}
        payloads = _PAYLOADS.get(found["kind"], ()) if isinstance(found.get("kind"), str) else ()
        given = any(key in found for key in _GIVEN)
        named_secret = given and any(_is_secret(found.get(key)) for key in ("name", "key"))
        kept: JsonObject = {}
        for key, value in found.items():
            if key == "managedFields":
                continue
            if key == "parameters" and isinstance(value, list):
                self._doubt_parameters(value)
            secret = not labels and (is_secret_name(key) or (within and not is_beside_secret(key)))
            if key in payloads or key == "stringData":
                kept[key] = self._payload(value)
            elif isinstance(value, dict):
                if key == "annotations":
                    kept[key] = {self._key(name): self._annotation(name, text, depth) for name, text in value.items()}
                elif _is_environment(key):
                    kept[key] = {}
                    self._environments.append((kept[key], value))
                else:
                    kept[self._key(key)] = self._mapping(value, depth + 1, key in _LABEL_MAPS, secret or within)
            elif isinstance(value, list) and _is_environment(key):
                kept[key] = []
                self._environments.append((kept[key], value))
            elif key == _RUNTIME and isinstance(value, str):
                kept[key] = self._runtime(value, kept)
            elif _is_scalar(value) and not labels and (secret or (key in _GIVEN and named_secret)):
                kept[self._key(key)] = self.mark(value)
            else:
                kept[self._key(key)] = self.value(value, depth, secret or within)
        return kept

    def _doubt_parameters(self, parameters: list[Any]) -> None:
        """Commands refer to the parameters of a workflow by name, also to one that is named like a secret."""
        for one in map(mapping, parameters):
            name = one.get("name")
            if isinstance(name, str) and is_secret_name(name) and any(_is_scalar(one.get(key)) for key in _GIVEN):
                self.doubts[f"the value of {name[:_LONGEST_VARIABLE]}"] = None

    def _key(self, key: str) -> str:
        """Fields have short names; a long one may be an address, or worse."""
        return key if len(key) < _LONG_KEY else mask_text(key, self.mark)

    def _payload(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._key(name): self.mark(content) for name, content in value.items()}
        return self.mark(value) if _is_scalar(value) else _emptied(value)

    def _runtime(self, text: str, kept: JsonObject) -> str:
        """A document in a text: of Ray's runtime environment what judgements read stays, as JSON."""
        found = read_runtime(text)
        if not found.env and not found.working_dir:
            return self.mark(text)
        variables: JsonObject = {}
        self._environments.append((variables, {entry["name"]: entry["value"] for entry in found.env}))
        self._runtimes.append((kept, variables, self._text(found.working_dir)))
        return ""

    def _annotation(self, name: str, value: Any, depth: int) -> Any:
        if not isinstance(value, str):
            return self.value(value, depth)
        if name == INJECTED:
            return self._record(value)
        if is_secret_name(name.rpartition("/")[2]) or "last-applied" in name:
            return self.mark(value)
        kept = any(fnmatchcase(name, pattern) for pattern in self._rules.keep_annotations)
        if not kept and (len(value) > _LONGEST_ANNOTATION or _MANIFEST.search(value)):
            return self.mark(value)
        return self._text(value)

    def _record(self, text: str) -> str:
        """Our own note of what was injected, which holds the values of variables too."""
        try:
            entries = orjson.loads(text)
        except ValueError:
            return self._text(text)
        if not isinstance(entries, dict):
            return self._text(text)
        kept = {}
        for field, entry in entries.items():
            variable = _RECORDED_VARIABLE.search(field)
            if variable is not None and not self._may_stay(variable.group(1)):
                continue
            kept[field] = self.value(entry, 0)
        return orjson.dumps(kept).decode()

    def fill_environments(self) -> None:
        """Decides on every variable, now that it is known which of them commands refer to."""
        self._follow_references()
        for kept, found in self._environments:
            if isinstance(found, list):
                kept.extend(self._variable(entry) for entry in found)
            else:
                kept.update({self._key(name): self._variable_value(name, value) for name, value in found.items()})
        for holder, variables, folder in self._runtimes:
            holder[_RUNTIME] = orjson.dumps({"env_vars": variables, "working_dir": folder}).decode()

    def _follow_references(self) -> None:
        """A variable that is referred to may refer to others in turn."""
        values: dict[str, list[str]] = {}
        for _, found in self._environments:
            pairs = found.items() if isinstance(found, dict) else [_pair(entry) for entry in found]
            for name, value in pairs:
                if isinstance(name, str) and isinstance(value, str) and "$" in value:
                    values.setdefault(name, []).append(value)
        waiting = [name for name in values if self._may_stay(name)]
        seen = set(waiting)
        while waiting:
            for text in values[waiting.pop()]:
                self._refer(mask_text(text, self.mark))
            more = [name for name in values if name not in seen and self._may_stay(name)]
            seen.update(more)
            waiting += more

    def _variable(self, entry: Any) -> Any:
        name, value = _pair(entry)
        if not isinstance(entry, dict) or "value" not in entry:
            return self.value(entry, 0)
        kept = self._mapping({key: item for key, item in entry.items() if key != "value"}, 0)
        if isinstance(name, str):
            kept["value"] = self._variable_value(name, value)
        else:
            kept["value"] = self.mark(value) if _is_scalar(value) else self.value(value, 0)
        # The order of keys is that of the manifest.
        return {key: kept[key] for key in entry if key in kept}

    def _variable_value(self, name: str, value: Any) -> Any:
        if value is None or value == "":
            return value
        if not self._may_stay(name):
            if meaning_of(name, self._signs) is not None or self._references.get(name):
                self.doubts[f"the value of {name[:_LONGEST_VARIABLE]}"] = None
            return self.mark(value) if _is_scalar(value) else _emptied(value)
        if isinstance(value, str) and not self._is_known(name) and _PASSWORD_LIKE.fullmatch(value):
            # It stays for the sake of a command alone, which may well hand it to a door.
            self.doubts[f"the value of {name[:_LONGEST_VARIABLE]}"] = None
            return self.mark(value)
        masked = self.value(value, 0)
        if isinstance(value, str) and masked.startswith("<removed") and masked != value:
            self._told(name)
        return masked

    def _may_stay(self, name: str) -> bool:
        if any(fnmatchcase(name, pattern) for pattern in self._rules.keep_env):
            return True
        return not is_secret_name(name) and (name in self._references or self._is_known(name))

    def _is_known(self, name: str) -> bool:
        """Whether what the variable is for is known, whoever refers to it."""
        if any(fnmatchcase(name, pattern) for pattern in self._rules.keep_env):
            return True
        return name in _READ_BY_CHECKS or ("env", name) in self._injected or meaning_of(name, self._signs) is not None


def _pair(entry: Any) -> tuple[Any, Any]:
    found = mapping(entry)
    return found.get("name"), found.get("value")


def _is_secret(name: Any) -> bool:
    return isinstance(name, str) and is_secret_name(name)


def _is_environment(key: str) -> bool:
    return key.lower().replace("_", "") in _ENV_KEYS


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def _emptied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {}
    return [] if isinstance(value, list) else value
