"""The parts of docs/operations.md and docs/refused.md that the code and the manifests say, as `make docs` writes them."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from signalbox.check.table import CHECKS
from signalbox.workload.kinds.table import KINDS
from tests.code_facts import events, metrics
from tests.yaml_files import read_all

ROOT = Path(__file__).parent.parent
OPERATIONS_PAGE = ROOT / "docs" / "operations.md"
REFUSED_PAGE = ROOT / "docs" / "refused.md"
BASE = ROOT / "manifests" / "base"


def operations_page(text: str) -> str:
    """The page with its tables as things are. What an event means is kept as it was written; of a new one it is empty."""
    tables = {"outage": _outage(), "access": _access(), "metrics": _metrics(), "events": _events(meanings(text))}
    for name, rows in tables.items():
        text = _with_table(text, name, rows)
    return text


def refused_page(text: str) -> str:
    """The page for users with the checks as they are."""
    return _with_table(text, "checks", _checks())


def _with_table(text: str, name: str, rows: Iterable[str]) -> str:
    start, end = f"<!-- {name}: written by make docs -->", f"<!-- /{name} -->"
    before, _, rest = text.partition(start)
    return "\n".join([before + start, *rows, end]) + rest.partition(end)[2]


def _checks() -> Iterator[str]:
    yield from ("| check | what it wants |", "| --- | --- |")
    for name, check in sorted(CHECKS.items()):
        yield f"| [{name}](checks.md#{name}) | {check.doc.strip().splitlines()[0]} |"
    yield "| [cel](checks.md#cel) | A rule of your platform team's own; its message says what. |"


def _metrics() -> Iterator[str]:
    yield from ("| name | of | type | labels | unit | what it says |", "| --- | --- | --- | --- | --- | --- |")
    for metric in metrics().values():
        of = " and ".join(sorted({"controller" if module.startswith("controller/") else "serve" for module in metric.modules}))
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        unit = "time" if "timestamp" in metric.name else metric.unit
        yield f"| `{metric.name}` | {of} | {metric.type} | {labels} | {unit} | {metric.text} |"


def _events(meanings: dict[str, str]) -> Iterator[str]:
    yield from ("| event | level | fields | what it says |", "| --- | --- | --- | --- |")
    for event in events().values():
        levels, fields = ", ".join(sorted(event.levels)), ", ".join(f"`{field}`" for field in sorted(event.fields))
        yield f"| `{event.name}` | {levels} | {fields} | {meanings.get(event.name, '')} |"


def meanings(text: str) -> dict[str, str]:
    """What the page of operations says of each event."""
    section = text.partition("<!-- events: written by make docs -->")[2].partition("<!-- /events -->")[0]
    return dict(re.findall(r"^\| `([^`]+)` \|[^|]*\|[^|]*\| (.*?) ?\|$", section, re.MULTILINE))


def _outage() -> Iterator[str]:
    generator = _generator()
    built_in = [kind for kind in KINDS if kind[0] in generator.VERSIONS]
    by_content = [kind for kind in KINDS if generator._judged_by_content(*kind)]
    whole = [kind for kind in KINDS if kind not in built_in and kind not in by_content]
    yield from ("| kinds | AI work | everything else of that kind |", "| --- | --- | --- |")
    waits, let_in = "waits: `validate.policy.workload.ai`", "let in unjudged: `validate-open.policy.workload.ai`"
    yield f"| {_texts(built_in)} | {waits} | {let_in}, and so is what a known controller makes of them |"
    yield f"| {_texts(by_content)} | {waits} | {let_in} |"
    yield f"| {_texts(whole)} | {waits}, whatever stands in it | |"
    taken = "taken without the words of `lint`: `policies.policy.workload.ai`"
    yield f"| policies, exceptions, signs and kinds as objects | | {taken} |"


def _texts(kinds: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"`{KINDS[kind].text}`" for kind in sorted(kinds, key=lambda kind: KINDS[kind].text))


def _generator() -> Any:
    specification = importlib.util.spec_from_file_location("manifests_generate", ROOT / "manifests" / "generate.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _access() -> Iterator[str]:
    yield from ("| account | where | verbs | on |", "| --- | --- | --- | --- |")
    documents = [one for path in sorted(BASE.glob("*.yaml")) for one in read_all(path)]
    roles = {(one["kind"], one["metadata"]["name"]): one for one in documents if one["kind"] in ("Role", "ClusterRole")}
    rows: dict[tuple[str, str, str], list[str]] = {}
    for binding in documents:
        if binding["kind"] not in ("RoleBinding", "ClusterRoleBinding"):
            continue
        role = roles[binding["roleRef"]["kind"], binding["roleRef"]["name"]]
        where = "the cluster" if binding["kind"] == "ClusterRoleBinding" else binding["metadata"]["namespace"]
        for subject in binding["subjects"]:
            for rule in role["rules"]:
                rows.setdefault((f"`{subject['name']}`", where, ", ".join(rule["verbs"])), []).append(_resources(rule))
    for key, resources in sorted(rows.items()):
        yield f"| {' | '.join(key)} | {', '.join(dict.fromkeys(resources))} |"


def _resources(rule: dict[str, Any]) -> str:
    [group] = rule["apiGroups"]
    names = [f"`{resource}.{group}`" if group else f"`{resource}`" for resource in rule["resources"]]
    named = rule.get("resourceNames", [])
    return ", ".join(names) + (f" named {', '.join(f'`{name}`' for name in named)}" if named else "")
