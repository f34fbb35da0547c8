"""The command line as people see it: each file in cases/cli is a session, commands behind ``$`` and what they print.

stdout and stderr stand there as a terminal shows them; an exit code other than 0 follows in brackets. After a change that is
meant, ``python tests/test_cli_cases.py`` writes what the commands print now: read the difference before it is committed.
"""

import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from signalbox.cli.main import main

CASES = Path(__file__).parent / "cases" / "cli"
SESSIONS = sorted(CASES.glob("*.txt"))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda path: path.stem)
def test_a_session_prints_what_it_shows(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES / "files")
    assert play(session, monkeypatch) == session.read_text()


def play(session: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return "\n".join(f"$ {command}\n{run(command, monkeypatch)}" for command in commands(session.read_text()))


def commands(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("$ "):
            yield line.removeprefix("$ ")


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints, as on a terminal without colour."""
    program, *words = shlex.split(command)
    assert program == "signalbox"
    stdin = b""
    if "<" in words:
        at = words.index("<")
        stdin = Path(words[at + 1]).read_bytes()
        words = words[:at]
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", screen)
        patched.setattr(sys, "stderr", screen)
        patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(words)
    buffer = screen.buffer
    assert isinstance(buffer, io.BytesIO)
    printed = buffer.getvalue().decode()
    return printed + (f"[exit {code}]\n" if code else "")


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(CASES / "files")
        for case in SESSIONS:
            case.write_text(play(case, patch))
