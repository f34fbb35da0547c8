"""Builds one program from its Go module; a module proxy is all that is needed, no container image, no release download."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from pathlib import Path

from .programs import Program
from .progress import CommandFailed, run

GO_LINE = "go 1.26.0\n\ngodebug default=go1.26\n"
_STAGED = re.compile(r"^\s*(?:replace\s+)?(\S+) => \./staging/", re.MULTILINE)


class GoMissing(Exception):
    """There is no Go here to build with."""


def go() -> str:
    """Path of the go command."""
    found = shutil.which("go")
    if found is None:
        raise GoMissing(
            "Go is not on the PATH. The end-to-end tests build etcd, kube-apiserver, kube-controller-manager and kubectl "
            "with it once: install Go 1.26 or later, or set KUBEBUILDER_ASSETS to a folder that holds all four."
        )
    return found


def build(program: Program, workspace: Path, into: Path) -> None:
    """Build every binary of a program into a folder; the workspace holds the go.mod made for it."""
    workspace.mkdir(parents=True)
    into.mkdir(parents=True, exist_ok=True)
    title = f"{program.name} {program.version}"
    _write_go_mod(program, workspace)
    if program.packages:
        _go(f"{title}: fetching modules", workspace, "mod", "tidy")
    flags = f"-s -w -X k8s.io/component-base/version.gitVersion=v{program.version}" if program.staging else "-s -w"
    for binary, package in program.packages.items():
        command = ("build", "-v", "-trimpath", "-ldflags", flags, "-o", str(into / binary), package)
        _go(f"{title}: compiling {binary}", workspace, *command)
    if program.manifests:
        _copy(_module_folder(program, workspace) / program.manifests, into / "config")


def _write_go_mod(program: Program, workspace: Path) -> None:
    tools = "".join(f"tool {package}\n" for package in program.packages.values())
    text = f"module signalbox.test/{program.name}\n\n{GO_LINE}\n{tools}\nrequire {program.module} v{program.version}\n"
    (workspace / "go.mod").write_text(text)
    if program.staging:
        # Its requirements say v0.0.0 for the staging modules, which exists nowhere: each is pinned by hand.
        _go(
            f"{program.name} {program.version}: fetching go.mod",
            workspace,
            "mod",
            "download",
            f"{program.module}@v{program.version}",
        )
        own = _module_cache(workspace) / "cache/download" / program.module / "@v" / f"v{program.version}.mod"
        staged = sorted(set(_STAGED.findall(own.read_text())))
        replaced = "".join(f"replace {module} => {module} v{program.staging}\n" for module in staged)
        (workspace / "go.mod").write_text(f"{text}\n{replaced}")


def _module_cache(workspace: Path) -> Path:
    return Path(_go("go env", workspace, "env", "GOMODCACHE"))


def _module_folder(program: Program, workspace: Path) -> Path:
    wanted = f"{program.module}@v{program.version}"
    printed = _go(f"{program.name}: fetching its manifests", workspace, "mod", "download", "-json", wanted)
    return Path(json.loads(printed[printed.index("{") :])["Dir"])


def _copy(source: Path, target: Path) -> None:
    """The module cache is read-only down to its folders; a copy must be deletable."""
    shutil.copytree(source, target)
    for path in (target, *target.rglob("*")):
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def _go(what: str, workspace: Path, *arguments: str) -> str:
    # A go.work file around the cache folder would pull these modules into someone else's workspace.
    environment = {**os.environ, "GOWORK": "off"}
    try:
        return run(what, (go(), *arguments), folder=workspace, environment=environment)
    except CommandFailed as failure:
        if "GOPROXY" in str(failure) or "dial tcp" in str(failure):
            raise CommandFailed(f"{failure}\nIs the Go module proxy reachable? `go env GOPROXY` names it.") from None
        raise
