"""A PostgreSQL of its own on loopback: Debian's, in a folder that goes away with it, under a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

from .processes import Process, Processes, free_ports
from .progress import say
from .waiting import eventually

INSTALL = "no PostgreSQL found (initdb, postgres): apt-get install postgresql, or put its bin folder into PATH"
_DEBIAN = Path("/usr/lib/postgresql")
_USER = "signalbox"
_PASSWORD = "not-a-secret"


def programs() -> Path:
    """The folder of `initdb` and `postgres`; where there is none, the test is left out, and says how to get them."""
    found = shutil.which("initdb")
    candidates = [Path(found).parent] if found else sorted(_DEBIAN.glob("*/bin"), reverse=True)
    for folder in candidates:
        if os.access(folder / "initdb", os.X_OK) and os.access(folder / "postgres", os.X_OK):
            return folder
    say(f"left out: {INSTALL}")
    pytest.skip(INSTALL)


class Postgres:
    """A server that can be stopped, killed and started again; `url` names a database of it."""

    def __init__(self) -> None:
        self._programs = programs()
        self.folder = Path(tempfile.mkdtemp(prefix="signalbox-postgres-"))
        # It refuses to run as root, so root hands the folder to somebody else.
        self._as: list[str] = []
        if os.geteuid() == 0:
            account = _account()
            os.chown(self.folder, account.pw_uid, account.pw_gid)
            identity = [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
            self._as = ["setpriv", *identity, "--pdeathsig=QUIT"]
        (self.port,) = free_ports(1)
        self._processes = Processes(self.folder)
        self._process: Process | None = None
        self._make()
        self.start()

    def url(self, database: str = "postgres", user: str = _USER) -> str:
        """The address of a database."""
        return f"postgresql://{user}:{_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """A new, empty database; its address."""
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run a statement as the owner of everything."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def start(self) -> None:
        """Start, and wait until it answers."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            # Nothing here has to survive a power cut.
            "fsync": "off",
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [*self._as, self._programs / "postgres", "-D", self.folder / "data", *words]
        self._process = self._processes.start("postgres", command, orphaned=signal.SIGQUIT)
        eventually(self._answers, "PostgreSQL answers")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT as an administrator would, SIGQUIT as a crash."""
        assert self._process is not None
        os.kill(self._process.pid, how)
        process = self._process
        eventually(lambda: not process.running, "PostgreSQL has ended")

    def remove(self) -> None:
        """End it and take its folder away."""
        self._processes.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        assert self._process is not None
        self._process.check()
        try:
            psycopg.connect(self.url(), connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True

    def _make(self) -> None:
        words = self.folder / "password"
        words.write_text(_PASSWORD)
        words.chmod(0o644)
        options = ["-A", "scram-sha-256", "-U", _USER, f"--pwfile={words}", "--no-sync", "--no-instructions", "-E", "UTF8"]
        command = [*self._as, self._programs / "initdb", "-D", self.folder / "data", *options, "--locale=C"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=self.folder)
        assert done.returncode == 0, done.stderr


def _account() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("PostgreSQL does not run as root, and there is no user postgres or nobody to run it")
