"""Where the programs are: KUBEBUILDER_ASSETS when it holds them, else a cache outside the repository, filled once."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .go_build import GoMissing, build
from .processes import end_cleanly_on_sigterm
from .programs import CONTROL_PLANE, ETCD, PROGRAMS, Program
from .progress import INTERVAL, CommandFailed, elapsed, say

_ASSETS = (ETCD, CONTROL_PLANE)


def cache_root() -> Path:
    """Folder that holds one folder a program and version."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "signalbox-e2e"


def find(program: Program) -> Path | None:
    """Folder with the program's binaries if they are there already."""
    if program in _ASSETS and (assets := _assets()) is not None:
        return assets
    folder = cache_root() / program.folder
    return folder if folder.is_dir() else None


def ensure(program: Program) -> Path:
    """Folder with the program's binaries, built now if they are nowhere."""
    found = find(program)
    if found is not None:
        return found
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    folder = root / program.folder
    with _only_one(root / f"{program.folder}.lock", program):
        if folder.is_dir():
            return folder
        began = time.monotonic()
        say(f"building {program.name} {program.version} into {folder} (once; a cold build takes minutes)")
        # Only the holder of the lock is here, so what an interrupted run left can go; Go's own cache keeps its work.
        workspace, unfinished = root / f".{program.folder}.module", root / f".{program.folder}.unfinished"
        shutil.rmtree(workspace, ignore_errors=True)
        shutil.rmtree(unfinished, ignore_errors=True)
        build(program, workspace, unfinished)
        shutil.rmtree(workspace)
        unfinished.rename(folder)
        say(f"built {program.name} {program.version} in {elapsed(began)}")
    return folder


def _assets() -> Path | None:
    named = os.environ.get("KUBEBUILDER_ASSETS")
    if not named:
        return None
    # All or nothing: a controller manager of one version beside an API server of another would be a cluster nobody runs.
    wanted = [binary for program in _ASSETS for binary in program.packages]
    missing = [binary for binary in wanted if not os.access(Path(named) / binary, os.X_OK)]
    if missing:
        say(f"KUBEBUILDER_ASSETS={named} lacks {', '.join(missing)}; not used")
        return None
    return Path(named)


@contextmanager
def _only_one(path: Path, program: Program) -> Iterator[IO[str]]:
    with path.open("w") as lock:
        began = said = time.monotonic()
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - said >= INTERVAL:
                    said = time.monotonic()
                    say(f"{program.name} {program.version}: another run is building it, waiting since {elapsed(began)}")
                time.sleep(0.5)
        yield lock


def main(names: list[str]) -> int:
    """Build the named programs, or all of them, in the order the tests need them."""
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are {', '.join(PROGRAMS)}", file=sys.stderr)
        return 2
    end_cleanly_on_sigterm()
    try:
        for program in PROGRAMS.values():
            if not names or program.name in names:
                say(f"{program.name} {program.version} is in {ensure(program)}")
    except (GoMissing, CommandFailed) as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
