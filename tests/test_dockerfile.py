"""The Dockerfile without Docker: what it copies exists, and what it starts is there. Its install steps are run in tests/e2e."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINES = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def instructions(word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(word + " ")]


def test_every_path_it_copies_exists_and_is_not_ignored() -> None:
    ignore = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for copied in instructions("COPY"):
        if copied.startswith("--from"):
            continue
        for source in copied.split()[:-1]:
            assert (ROOT / source).exists(), source
            assert f"!{source.split('/')[0]}" in ignore, source


def test_it_runs_as_nobody_and_starts_the_server() -> None:
    assert instructions("USER") == ["65532:65532"]
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["signalbox"]
    options = json.loads(instructions("CMD")[0])
    run = subprocess.run([ROOT / ".venv/bin/signalbox", *options, "--help"], capture_output=True, text=True, check=True)
    assert "Run the webhook" in run.stdout
    for option in options:
        assert not option.startswith("--") or option in run.stdout, option
