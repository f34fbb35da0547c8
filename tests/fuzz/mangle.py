"""One manifest made another: values replaced, taken out, taken over from elsewhere, wrapped, repeated, forged."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson

from signalbox.fieldpath import format_path
from tests.fuzz.corpus import Corpus, Place
from tests.fuzz.values import KEYS, TEXTS, anything, deep, many

_HOW_OFTEN = (0, 0, 1, 1, 1, 2, 2, 3, 4, 6, 10)


def mangled(rng: Random, corpus: Corpus, index: int) -> dict[str, Any]:
    """The manifest of that index, changed in none to ten places; now and then one of them grows long or deep."""
    manifest: dict[str, Any] = orjson.loads(corpus.manifests[index])
    places = corpus.places[index]
    if rng.random() < 0.03:
        _grow(rng, manifest, rng.choice(places))
    for _ in range(rng.choice(_HOW_OFTEN)):
        _change(rng, corpus, manifest, rng.choice(places))
    if rng.random() < 0.06:
        metadata = manifest.get("metadata")
        if isinstance(metadata, dict):
            annotations = metadata.setdefault("annotations", {})
            if isinstance(annotations, dict):
                annotations["workload.ai/injected"] = forged_record(rng, places)
    return manifest


def forged_record(rng: Random, places: list[Place]) -> Any:
    """What somebody might write as the record of what we injected."""
    entries: dict[str, Any] = {}
    for _ in range(rng.randrange(4)):
        path = format_path(rng.choice(places)) if rng.random() < 0.7 else rng.choice((*TEXTS, *_RECORDED))
        entry: Any = {"set": _recorded(rng), "was": _recorded(rng), "by": rng.choice(("research", "judgement", "signalbox", 5))}
        if rng.random() < 0.2:
            del entry[rng.choice(("set", "was", "by"))]
        entries[path] = entry if rng.random() < 0.9 else anything(rng)
    text = orjson.dumps(entries).decode()
    return text if rng.random() < 0.85 else rng.choice((text[: len(text) // 2], entries, [text], "[]", "{}", text * 3))


_RECORDED = (
    "metadata.labels[kueue.x-k8s.io/queue-name]",
    "metadata.labels[workload.ai/type]",
    "spec.suspend",
    "spec.template.spec.tolerations",
    "spec.template.spec.terminationGracePeriodSeconds",
    "spec.template.spec.priorityClassName",
    "spec.template.spec.nodeSelector[pool]",
    "spec.template.spec.containers[trainer].env[NCCL_DEBUG]",
    "spec.terminationGracePeriodSeconds",
    "spec.replicatedJobs[workers].template.spec.template.spec.tolerations",
)


def _recorded(rng: Random) -> Any:
    usual: tuple[Any, ...] = (
        "training-large",
        "training",
        300,
        30,
        None,
        True,
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    )
    return rng.choice(usual) if rng.random() < 0.7 else anything(rng, 4)


def _grow(rng: Random, manifest: dict[str, Any], place: Place) -> None:
    parent: Any = manifest
    for step in place[:-1]:
        parent = parent[step]
    last: Any = place[-1]
    if place not in (("apiVersion",), ("kind",)):
        parent[last] = deep(rng) if rng.random() < 0.3 else many(rng, parent[last] if rng.random() < 0.7 else anything(rng, 3))


def _change(rng: Random, corpus: Corpus, manifest: dict[str, Any], place: Place) -> None:
    parent: Any = manifest
    for step in place[:-1]:
        parent = parent[step] if _has(parent, step) else None
    last: Any = place[-1]
    if not _has(parent, last) or (len(place) == 1 and last in ("apiVersion", "kind")):
        return
    chosen = rng.random()
    if chosen < 0.30:
        parent[last] = anything(rng)
    elif chosen < 0.50:
        parent[last] = _elsewhere(rng, corpus, last)
    elif chosen < 0.62:
        del parent[last]
    elif chosen < 0.74:
        parent[last] = _like(rng, parent[last])
    elif chosen < 0.92:
        _add(rng, corpus, parent[last] if isinstance(parent[last], dict) else parent)
    else:
        parent[last] = rng.choice(([parent[last]], {"x": parent[last]}, rng.choice(TEXTS)))


def _elsewhere(rng: Random, corpus: Corpus, key: Any) -> Any:
    """What stands under that key in some manifest."""
    found = corpus.values.get(key) if isinstance(key, str) else None
    return orjson.loads(rng.choice(found)) if found else anything(rng)


def _add(rng: Random, corpus: Corpus, parent: Any) -> None:
    if isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), anything(rng))
    elif rng.random() < 0.6:
        key = rng.choice(corpus.keys)
        parent[key] = _elsewhere(rng, corpus, key)
    else:
        key = rng.choice(KEYS)
        parent[key] = rng.choice(TEXTS) if rng.random() < 0.7 else anything(rng)


def _like(rng: Random, value: Any) -> Any:
    """A value of the same type, another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        larger = value * 1000 if abs(value) < 2**40 else 0
        return rng.choice((larger, -value if abs(value) < 2**62 else 1, str(value), float(value)))
    if isinstance(value, str):
        return rng.choice(
            (value + rng.choice(TEXTS), rng.choice(TEXTS) + value, value[: len(value) // 2], value.upper(), value * 9)
        )
    if isinstance(value, list):
        return rng.choice((value[::-1], value + value, value[:1], [], [None, *value]))
    if isinstance(value, dict):
        return dict(rng.sample(list(value.items()), rng.randrange(len(value) + 1)))
    return anything(rng)


def _has(parent: Any, step: str | int) -> bool:
    if isinstance(parent, list):
        return isinstance(step, int) and step < len(parent)
    return isinstance(parent, dict) and step in parent
