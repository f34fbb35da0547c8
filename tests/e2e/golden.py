"""Texts kept as files, as kubectl printed them. `SIGNALBOX_E2E_GOLDEN=write` writes them anew: read the diff then."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
# What differs from run to run and is nobody's decision.
_VOLATILE = (
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"\[::1\]:\d+"), "127.0.0.1:PORT"),
    (re.compile(r"signalbox-system\.svc:\d+"), "signalbox-system.svc:PORT"),
)


def assert_golden(name: str, text: str) -> None:
    """The text is the one in golden/<name>.txt."""
    for pattern, stands_for in _VOLATILE:
        text = pattern.sub(stands_for, text)
    text = text.rstrip("\n") + "\n"
    path = FOLDER / f"{name}.txt"
    if os.environ.get("SIGNALBOX_E2E_GOLDEN") == "write":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
        return
    assert path.exists(), f"no {path.name} yet; SIGNALBOX_E2E_GOLDEN=write makes it:\n{text}"
    kept = path.read_text()
    difference = difflib.unified_diff(kept.splitlines(), text.splitlines(), f"golden/{path.name}", "printed now", lineterm="")
    assert text == kept, "\n" + "\n".join(difference)
