"""`make demo CLUSTER=1`, run as a person runs it, in a cluster of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from .golden import assert_golden
from .webhook import ROOT

# What differs from run to run: made-up names, identifiers, times, and how far the Pod's status has come.
_VOLATILE = (
    (re.compile(r"\bnotebook-[a-z0-9]{5}\b"), "notebook-xxxxx"),
    (re.compile(r"\b((?:job|jobset|pod)-[a-z-]+)-[0-9a-f]{5}\b"), r"\1-00000"),
    (re.compile(r"\d+s$", re.MULTILINE), "0s"),
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "00000000-0000-0000-0000-000000000000"),
    (re.compile(r'"\d{4}-\d\d-\d\dT[0-9:]+Z"'), '"2026-11-29T12:00:00Z"'),
    (re.compile(r'resourceVersion: "\d+"'), 'resourceVersion: "1"'),
    (re.compile(r"^status:\n(?:[ -].*\n)+", re.MULTILINE), "status: …\n"),
)


@pytest.mark.usefixtures("quiet_machine")
def test_the_demo_in_a_cluster_prints_what_is_kept_and_refuses_in_the_words_of_the_readme() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.e2e.demo"], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert run.returncode == 0, run.stderr
    told = re.findall(r"^Error from server.*?(?=\n\n# |\n```)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert told
    assert [text for text in told if text not in run.stdout] == []
    text = run.stdout
    for pattern, stands_for in _VOLATILE:
        text = pattern.sub(stands_for, text)
    assert_golden("demo", text)
