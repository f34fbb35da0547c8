"""Writes docs/checks.md, tables of other pages and the README's printed texts from the thing itself: ``make docs``.

Tests hold them current.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from signalbox.check import cel
from signalbox.check.check import Parameters
from signalbox.check.table import CHECKS
from signalbox.fieldpath import format_path
from signalbox.inject.table import MODULES
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS
from tests.audit_docs import PAGE as AUDIT_PAGE
from tests.audit_docs import audit_page
from tests.examples import sections
from tests.operations_page import OPERATIONS_PAGE, REFUSED_PAGE, operations_page, refused_page

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "checks.md"
README = ROOT / "README.md"
KINDS_PAGE = ROOT / "docs" / "kinds.md"

HEAD = """# Checks and injectors

Generated from the checks themselves by `make docs`; change the docstring, not this page. The language around them is
described in [policies.md](policies.md).

A **check** is named by a rule (`check:`, with its parameters below `with:`). Each refused example below is refused by the
rule above it, and passes once its fix is applied: both are tests.
"""

INJECTORS = """# Injectors

What a policy's `inject:` writes. A value of the user's own stays, unless the policy says `force: true`.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    parts += [check_section(name, check.doc, check.parameters) for name, check in sorted(CHECKS.items())]
    parts.append(check_section("cel", cel.__doc__ or "", None))
    parts.append(INJECTORS)
    parts += [injector_section(name, module.__doc__ or "") for name, module in MODULES.items()]
    return "\n".join(parts)


def check_section(name: str, doc: str, parameters: type[Parameters] | None) -> str:
    """One check: what and why, its parameters, an example."""
    found = sections(doc)
    lines = [f"## {name}", "", prose(doc), ""]
    if parameters is not None and parameters.model_fields:
        lines += [*table(parameters), ""]
    lines += ["```yaml", "# the rule", found["Rule"].rstrip(), "mode: enforce", "```", ""]
    if "Cluster" in found:
        lines += ["In the cluster:", "", "```yaml", found["Cluster"].rstrip(), "```", ""]
    if "Before" in found:
        lines += ["Before the update:", "", "```yaml", found["Before"].rstrip(), "```", ""]
    lines += ["Refused:", "", "```yaml", found["Refused"].rstrip(), "```", ""]
    lines += ["Passes:", "", "```yaml", found["Passes"].rstrip(), "```", ""]
    return "\n".join(lines)


def injector_section(name: str, doc: str) -> str:
    """One injector: what and why, an example with the fields as they stand after it."""
    found = sections(doc)
    lines = [f"## {name}", "", prose(doc), "", "```yaml", found["Example"].rstrip(), "```", ""]
    lines += ["Before:", "", "```yaml", found["Before"].rstrip(), "```", ""]
    lines += ["After:", "", "```", found["After"].rstrip(), "```", ""]
    return "\n".join(lines)


def prose(doc: str) -> str:
    """The text of a docstring before its examples."""
    lines = doc.strip("\n").splitlines()
    end = next(index for index, line in enumerate(lines) if line in ("Rule:", "Example:"))
    return "\n".join(lines[:end]).strip().replace("``", "`")


def table(parameters: type[Parameters]) -> list[str]:
    """The parameters as a table: name, values, default."""
    schema: dict[str, Any] = parameters.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    lines = ["| parameter | value | default |", "| --- | --- | --- |"]
    for name, field in schema["properties"].items():
        default = "required" if name in required else shown(field.get("default"))
        lines.append(f"| `{name}` | {value_text(field)} | {default} |")
    return lines


def value_text(field: dict[str, Any]) -> str:
    """A JSON schema's type in words."""
    if "anyOf" in field:
        return " or ".join(value_text(option) for option in field["anyOf"] if option.get("type") != "null")
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if field.get("type") == "array":
        return f"list of {value_text(field['items'])}"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}[field["type"]]


def shown(default: Any) -> str:
    """A default as one would write it."""
    if default is None or default in ("", []):
        return "none"
    return f"`[{', '.join(map(str, default))}]`" if isinstance(default, list) else f"`{default}`"


def kinds_page(text: str) -> str:
    """The page of kinds with its table as the code has it."""
    rows = ["| kind | queue label | suspended by | made for |", "| --- | --- | --- | --- |"]
    rows += [kind_row(kind) for kind in sorted(KINDS.values(), key=lambda kind: (kind.text != kind.kind, kind.text))]
    start, end = "<!-- kinds: written by make docs -->", "<!-- /kinds -->"
    before, _, rest = text.partition(start)
    return "\n".join([before + start, *rows, end]) + rest.partition(end)[2]


def kind_row(kind: WorkloadKind) -> str:
    """One kind's line."""
    queue = "" if kind.queue is None else f"`{format_path(kind.queue)}`"
    suspend = "" if kind.suspend is None or kind.queue is None else f"`{format_path(kind.suspend)}`"
    made_for = (kind.type or "") + (" (always)" if kind.type_decides else "")
    return f"| `{kind.text}` | {queue} | {suspend} | {made_for} |"


def demo_text() -> str:
    """What the demo prints, with the port and the time of its first line left open."""
    run = subprocess.run(
        [sys.executable, str(ROOT / "tests/demo/demo.py")], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return re.sub(r":\d+ after [0-9.]+ s", ":PORT after N s", run.stdout)


def readme(text: str, demo: str) -> str:
    """The README with the demo's text, and the refusal in it, in their places."""
    refusal = re.search(r"^\$ kubectl apply -f 02.*?(?=\n\n# )", demo, re.MULTILINE | re.DOTALL)
    if refusal is None:
        raise ValueError("the demo refuses nothing")
    for name, block in (("demo", demo.strip("\n")), ("refusal", refusal.group(0).strip("\n"))):
        start, end = f"<!-- {name}: written by make docs -->", f"<!-- /{name} -->"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n```\n{block}\n```\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    KINDS_PAGE.write_text(kinds_page(KINDS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(README.read_text(encoding="utf-8"), demo_text()), encoding="utf-8")
    OPERATIONS_PAGE.write_text(operations_page(OPERATIONS_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    AUDIT_PAGE.write_text(audit_page(AUDIT_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    REFUSED_PAGE.write_text(refused_page(REFUSED_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
