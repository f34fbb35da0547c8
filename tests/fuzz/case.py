"""One case: which world, which objects, in which envelope. A seed and a number always give the same."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from random import Random
from typing import Any

import orjson

from signalbox.controllers import default_controllers
from tests.fuzz.corpus import Corpus
from tests.fuzz.mangle import mangled
from tests.fuzz.values import TEXTS, anything, with_raw_numbers

_CONTROLLERS = default_controllers()
_USERS = (
    "ann",
    "ben@example.com",
    "system:admin",
    *sorted(controller.username for controller in _CONTROLLERS.known),
    *sorted(_CONTROLLERS.never_judged),
)
_NAMESPACES = ("team-research", "team-serving", "team-platform", "sandbox", "default", "unheard-of")
_OPERATIONS = ("CREATE", "CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE", "CONNECT")


@dataclass(frozen=True, slots=True)
class Case:
    """A request about ``object`` (and ``old``), and ``later``, to which somebody then changes what came of it.

    ``raw`` is a body that may be no review at all.
    """

    number: int
    world: int
    object: Any
    old: Any
    envelope: dict[str, Any]
    later: Any = None
    raw: bytes | None = None

    def body(self, obj: Any, old: Any, operation: Any) -> bytes:
        """The AdmissionReview about an object, as bytes."""
        request = {**self.envelope, "operation": operation, "object": obj, "oldObject": old}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        return with_raw_numbers(dumped(review))


def dumped(value: Any) -> bytes:
    """JSON, however deep."""
    try:
        return orjson.dumps(value)
    except TypeError:
        # Deeper than orjson writes, not deeper than it reads.
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            return json.dumps(value, separators=(",", ":")).encode()
        finally:
            sys.setrecursionlimit(usual)


def make_case(corpus: Corpus, worlds: int, seed: int, number: int) -> Case:
    """The case of that number."""
    rng = Random((seed << 40) + number)
    index = rng.randrange(len(corpus.manifests))
    obj = mangled(rng, corpus, index)
    operation = rng.choice(_OPERATIONS) if rng.random() < 0.98 else anything(rng)
    old = None
    if operation in ("UPDATE", "DELETE") or rng.random() < 0.02:
        # Mostly what the same manifest was before; sometimes something else altogether.
        old = mangled(rng, corpus, index if rng.random() < 0.9 else rng.randrange(len(corpus.manifests)))
    envelope = _envelope(rng, obj, operation, number)
    world = rng.randrange(worlds)
    later = mangled(rng, corpus, index) if operation == "CREATE" and rng.random() < 0.3 else None
    case = Case(number, world, obj, old, envelope, later)
    if rng.random() >= 0.03:
        return case
    return Case(number, world, obj, old, envelope, raw=_damaged(rng, case.body(obj, old, operation)))


def _envelope(rng: Random, obj: dict[str, Any], operation: Any, number: int) -> dict[str, Any]:
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    envelope: dict[str, Any] = {
        "uid": f"case-{number}",
        "kind": {"group": group, "version": version, "kind": obj.get("kind")},
        "operation": operation,
        "name": name if isinstance(name, str) else "",
        "namespace": rng.choice(_NAMESPACES),
        "userInfo": {"username": rng.choice(_USERS), "groups": ["research", "system:authenticated"]},
        "dryRun": rng.random() < 0.2,
    }
    if rng.random() < 0.08:
        field = rng.choice(("kind", "name", "namespace", "userInfo", "dryRun", "subResource", "options", "requestKind", "uid"))
        envelope[field] = anything(rng)
    if rng.random() < 0.04:
        envelope["userInfo"] = {"username": anything(rng), "groups": [anything(rng), rng.choice(TEXTS)], "extra": anything(rng)}
    if rng.random() < 0.02:
        envelope["kind"] = {"group": anything(rng), "version": anything(rng), "kind": rng.choice(("Job", "Pod", "", 5))}
    return envelope


def _damaged(rng: Random, body: bytes) -> bytes:
    chosen = rng.random()
    at = rng.randrange(len(body))
    if chosen < 0.3:
        return body[:at]
    if chosen < 0.6:
        return body[:at] + bytes([rng.randrange(256)]) + body[at + 1 :]
    if chosen < 0.7:
        return (
            body[:at] + rng.choice((b"\xff\xfe", b"\\ud800", b"\x00", b"NaN", b"Infinity", b',"a":1', b"[" * 2000)) + body[at:]
        )
    if chosen < 0.8:
        return orjson.dumps(anything(rng))
    if chosen < 0.9:
        return body + body[:at]
    field = rng.choice((b'"object"', b'"request"', b'"kind"', b'"uid"', b'"apiVersion"', b'"metadata"', b'"spec"'))
    return body.replace(field, rng.choice((b'"x"', b'"uid"', b'""')), rng.randrange(1, 3))
