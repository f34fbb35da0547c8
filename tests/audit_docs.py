"""What docs/audit.md shows of the commands, printed by the commands themselves over the platform of page_world.

The clock stands, the API server is in memory, and the folder of the story is the one they run in: the text is the same in
every run.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import yaml

from signalbox.audit.background import ScanSettings, scan_once
from signalbox.audit.reports.kinds import OPEN_REPORT
from signalbox.cli.main import main
from signalbox.configuration import load_setup
from signalbox.engine import Setup
from tests.fake_api_server import FakeApiServer
from tests.page_world import DOCUMENTS, EXCEPTIONS, Manifest, run, standing, write_ledger
from tests.world import NOW, Cluster

PAGE = Path(__file__).parent.parent / "docs" / "audit.md"
RULE = "interruptible/checkpoint"
_CLOCKS = ("readiness", "audit_scan", "diff", "replay", "check")
_MODE = re.compile(r"(unknown: warn\}\n +mode: )\w+")


class _Clock(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return NOW if tz is None else NOW.astimezone(tz)


@dataclass(frozen=True)
class Step:
    """One block of the page: the command as it is written down, and how it ends.

    ``live``: it asks the cluster. ``lines``: how many are shown of its beginning and of its end.
    """

    words: str
    code: int
    live: bool = False
    lines: tuple[int, int] = (60, 0)


STEPS = {
    "audit": Step(f"signalbox audit --policies policies/ --rule {RULE}", 0, live=True, lines=(21, 1)),
    "not-yet": Step(f"signalbox audit readiness {RULE} --policies policies/", 1, live=True, lines=(20, 4)),
    "diff": Step("signalbox diff policies/ enforced/ --live", 1, live=True, lines=(9, 2)),
    "replay": Step("signalbox replay --policies enforced/ --since 7d", 1),
    "warned": Step("signalbox check sft.yaml --policies warned/", 0),
    "ready": Step(f"signalbox audit readiness {RULE} --policies warned/", 0, live=True),
    "refused": Step("signalbox check sft.yaml --policies enforced/", 1),
}


def audit_page(text: str) -> str:
    """The page with the commands' output as it is now."""
    for name, block in blocks().items():
        start, end = f"<!-- {name}: written by make docs -->", f"<!-- /{name} -->"
        before, found, rest = text.partition(start)
        assert found, f"docs/audit.md has no {start}"
        text = f"{before}{start}\n```{'yaml' if name == 'report' else ''}\n{block}\n```\n{end}{rest.partition(end)[2]}"
    return text


def blocks() -> dict[str, str]:
    """Every block, by its name."""
    made: dict[str, str] = {}
    with _story() as fake:
        for name, step in STEPS.items():
            if name == "ready":
                _mend(fake)
            made[name] = _printed(step)
        made["report"] = _report(fake)
    return made


@contextmanager
def _story() -> Iterator[FakeApiServer]:
    """A folder with three policy sets, a cluster with what stands in it, and two weeks of requests."""
    here = Path.cwd()
    with TemporaryDirectory() as folder, FakeApiServer() as fake:
        root = Path(folder)
        for name, mode in (("policies", "audit"), ("warned", "warn"), ("enforced", "enforce")):
            (root / name).mkdir()
            (root / name / "platform.yaml").write_text(policies(mode))
        (root / "sft.yaml").write_text(yaml.safe_dump(_bare(unsafe_job()), sort_keys=False))
        (root / "kubeconfig").write_text(yaml.safe_dump(_kubeconfig(fake.url)))
        _fill(fake, standing())
        write_ledger(root / "ledger.db", 8, by=_judging(root / "policies"))
        variables = {"SIGNALBOX_LEDGER": str(root / "ledger.db"), "NO_COLOR": "1"}
        os.chdir(root)
        try:
            with patch.dict(os.environ, variables):
                yield fake
        finally:
            os.chdir(here)


def _judging(folder: Path) -> Setup:
    """The webhook with these policies, in a cluster that it knows."""
    return replace(load_setup([folder]).setup, cluster=Cluster(default="train-normal"))


def policies(mode: str) -> str:
    """The platform's policies with the rule in this mode, and no exception but those of other rules."""
    documents = [_MODE.sub(rf"\g<1>{mode}", one) for one in DOCUMENTS if one != EXCEPTIONS]
    return "\n---\n".join(documents)


def unsafe_job() -> Manifest:
    """What somebody applies while the rule warns, and again when it is enforced."""
    return run("llama-sft", "team-research", 8, "torchrun sft.py --output_dir=/tmp/out", team="research")


def _bare(obj: Manifest) -> Manifest:
    kept = ("name", "namespace", "labels")
    return {**obj, "metadata": {key: obj["metadata"][key] for key in kept}}


def _mend(fake: FakeApiServer) -> None:
    """Two weeks later: every team keeps its checkpoints, and new requests say so."""
    for obj in standing():
        fake.remove(obj["kind"], obj["metadata"]["name"], obj["metadata"]["namespace"])
    _fill(fake, (obj for obj in standing() if "=/" not in " ".join(_command(obj))))
    file = Path(os.environ["SIGNALBOX_LEDGER"])
    file.unlink()
    write_ledger(file, 8, by=_judging(Path("warned")), safe=True)


def _command(obj: Manifest) -> list[str]:
    words: list[str] = obj["spec"]["template"]["spec"]["containers"][0]["command"]
    return words


def _fill(fake: FakeApiServer, objects: Iterator[Manifest]) -> None:
    default = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "train-normal"}}
    fake.put({**default, "value": 10000, "globalDefault": True})
    for obj in objects:
        fake.put(obj)


def _printed(step: Step) -> str:
    """The command and what it says, on one screen."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        modules = [import_module(f"signalbox.cli.{name}") for name in _CLOCKS]
        clocks = [patch.object(module, "datetime", _Clock) for module in modules if hasattr(module, "datetime")]
        for clock in clocks:
            clock.start()
        try:
            # A kubeconfig in the environment is read once a process, by a library.
            code = main([*step.words.split()[1:], *(("--kubeconfig", "kubeconfig") if step.live else ())])
        finally:
            for clock in clocks:
                clock.stop()
    text = re.sub(r" in [0-9.]+ s\b", " in N s", out.getvalue().rstrip())
    assert code == step.code, f"{step.words}: {code}\n{text}\n{err.getvalue()}"
    assert not err.getvalue(), err.getvalue()
    shown, (first, last) = text.splitlines(), step.lines
    if len(shown) > first + last:
        shown = [*shown[:first], "…", *shown[len(shown) - last :]]
    return "\n".join([f"$ {step.words}", *shown, "$ echo $?", str(code)])


def _report(fake: FakeApiServer) -> str:
    """One report object, as `kubectl get report -o yaml` shows it."""
    fake.install(OPEN_REPORT.group, OPEN_REPORT.version, OPEN_REPORT.plural, OPEN_REPORT.kind)
    stored = next(obj for obj in standing() if obj["metadata"]["name"] == "llama-sft-00")
    fake.put(stored)
    scan_once(fake.api(), ScanSettings("signalbox-system", policies=("policies",)), NOW)
    report = fake.object("Report", f"signalbox-{stored['metadata']['uid']}", "team-research")
    assert report is not None
    for field in ("resourceVersion", "uid", "creationTimestamp"):
        report["metadata"].pop(field, None)
    results = report.pop("results")
    one = next(result for result in results if f"{result['policy']}/{result['rule']}" == RULE)
    above = yaml.safe_dump(report, sort_keys=False, width=120)
    return f"{above}# one of {len(results)}\n{yaml.safe_dump({'results': [one]}, sort_keys=False, width=120)}".rstrip()


def _kubeconfig(url: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
