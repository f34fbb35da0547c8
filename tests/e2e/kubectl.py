"""kubectl as a person uses it: what it prints is what counts."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

# Under load the API server loses a definition that is being deleted: its storage "is (re)initializing", and the second try ends
# in a conflict that is not tried again (crd_finalizer.go). It looks again every five minutes, and kubectl waits as long.
UNINSTALL_SECONDS = 420.0


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Both streams, warnings first, as a terminal shows them."""
        return self.err + self.out


class Kubectl:
    """kubectl with the kubeconfig of the cluster; as somebody else if told so."""

    def __init__(self, binary: Path, kubeconfig: Path, folder: Path, user: str = "", groups: tuple[str, ...] = ()) -> None:
        self._binary, self._kubeconfig, self._folder = binary, kubeconfig, folder
        self._who = [*(["--as", user] if user else []), *(part for group in groups for part in ("--as-group", group))]

    def as_user(self, user: str, *groups: str) -> Kubectl:
        """The same for another user."""
        return Kubectl(self._binary, self._kubeconfig, self._folder, user, groups)

    def inside(self, folder: Path) -> Kubectl:
        """The same, run in another folder."""
        return Kubectl(self._binary, self._kubeconfig, folder)

    def run(self, *arguments: str | Path, stdin: str = "", seconds: float = 120) -> Printed:
        """Run it, whatever its exit code."""
        command = [str(self._binary), "--kubeconfig", str(self._kubeconfig), *self._who, *(str(part) for part in arguments)]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd=self._folder,
            env={"HOME": str(self._kubeconfig.parent), "PATH": "/usr/bin:/bin", "KUBECTL_EXTERNAL_DIFF": "diff -u"},
        )
        return Printed(done.returncode, done.stdout, done.stderr)

    def __call__(self, *arguments: str | Path, stdin: str = "", seconds: float = 120) -> str:
        """Run it and return standard output; it must succeed."""
        printed = self.run(*arguments, stdin=stdin, seconds=seconds)
        assert printed.code == 0, f"kubectl {' '.join(map(str, arguments))} ended with {printed.code}:\n{printed.text}"
        return printed.out

    def apply(self, *objects: dict[str, Any], arguments: tuple[str, ...] = (), verb: str = "apply") -> Printed:
        """`kubectl apply -f -` of these objects."""
        return self.run(verb, "-f", "-", *arguments, stdin=yaml.safe_dump_all(objects, sort_keys=False))

    def uninstall(self, folder: Path) -> None:
        """`kubectl delete -k`, until the last object is gone; what is gone already is no fault."""
        self("delete", "-k", folder, "--ignore-not-found", seconds=UNINSTALL_SECONDS)

    def read(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        """`kubectl get -o yaml`, parsed."""
        found: dict[str, Any] = yaml.safe_load(self("get", kind, name, "-n", namespace, "-o", "yaml"))
        return found

    def read_json(self, *arguments: str) -> dict[str, Any]:
        """Any `kubectl … -o json`, parsed."""
        found: dict[str, Any] = json.loads(self(*arguments, "-o", "json"))
        return found
