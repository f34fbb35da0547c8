"""The pictures that docs/audit.md shows, taken of `signalbox audit page` over the platform of tests/page_world.py."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from tests.page_world import TEXT, write_ledger, write_scan_file

from .browser import Tab
from .webhook import SIGNALBOX

_PICTURES = (
    ("page-overview.png", "/", 1000, "light", 860),
    ("page-rule.png", "/rule?rule=interruptible/checkpoint", 1000, "light", 860),
    ("page-workload.png", "/workload?kind=Job&namespace=team-research&name=llama-sft-00", 900, "dark", 620),
    ("page-narrow.png", "/", 400, "dark", 760),
)


def take_pictures(tab: Tab, folder: Path, work: Path) -> list[Path]:
    """Each into a file of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = []
    with _pages(work) as address:
        for name, path, width, scheme, height in _PICTURES:
            tab.resize(width, height)
            tab.colours(scheme)
            assert tab.open(f"{address}{path}") == 200
            tab.picture(folder / name, whole=False)
            taken.append(folder / name)
    return taken


@contextmanager
def _pages(work: Path) -> Iterator[str]:
    """The command as a person runs it; its address."""
    now = datetime.now(UTC)
    policies, scan, ledger = work / "policies.yaml", work / "scan.json", work / "ledger.db"
    policies.write_text(TEXT)
    write_scan_file(scan, now)
    write_ledger(ledger, 40, now)
    files = ("--policies", policies, "--scan", scan, "--ledger", ledger)
    command = [SIGNALBOX, "audit", "page", "--no-cluster", "--port", "0", *files]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().split()[4].rstrip("/")
        finally:
            process.terminate()
