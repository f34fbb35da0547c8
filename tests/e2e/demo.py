"""`python -m tests.e2e.demo`: the demo's manifests applied with kubectl to a real API server, and what it prints.

With `--keep` the cluster stays up until Ctrl-C, and the kubeconfig to reach it is printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import yaml

from .binaries import ensure
from .cluster import Cluster
from .controllers import start_jobset, start_kueue
from .go_build import GoMissing
from .kubectl import Kubectl
from .objects import Manifest
from .processes import end_cleanly_on_sigterm
from .programs import PROGRAMS
from .progress import CommandFailed, say
from .waiting import eventually
from .webhook import PEOPLE, ROOT, Webhook

MANIFESTS = ROOT / "tests" / "demo" / "manifests"
URGENT = "11-job-urgent.yaml"
EXPECTED = (8, 5)
ADMITTED = 3
BOLD, DIM, PLAIN = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else ("",) * 3


def show(kubectl: Kubectl, text: str, *arguments: str) -> bool:
    """One kubectl command as a person would type it, and what it prints."""
    print(f"\n{BOLD}$ kubectl {text}{PLAIN}", flush=True)
    printed = kubectl.run(*arguments)
    print(printed.text.rstrip(), flush=True)
    return printed.code == 0


def apply(kubectl: Kubectl, file: Path, who: str = "") -> bool:
    """Apply one of the demo's manifests; its comment says what it is about."""
    comment = "\n".join(line for line in file.read_text().splitlines() if line.startswith("#"))
    print(f"\n{DIM}{comment}{PLAIN}", end="")
    # A generated name cannot be applied, only created.
    verb = "create" if "generateName:" in file.read_text() else "apply"
    return show(kubectl, f"{verb} -f {file.name}{who}", verb, "-f", file.name)


def play(cluster: Cluster) -> tuple[int, int]:
    """Apply everything and show what Kueue made of it: how many were created, how many refused."""
    ann = cluster.kubectl.inside(MANIFESTS).as_user("ann", PEOPLE, "ml-engineers")
    ben = cluster.kubectl.inside(MANIFESTS).as_user("ben", PEOPLE, "release-managers")
    files = sorted(MANIFESTS.glob("*.yaml"))
    created = [apply(ann, files[0])]
    first = next(one for one in yaml.safe_load_all(files[0].read_text()) if one)
    name, namespace = first["metadata"]["name"], first["metadata"]["namespace"]
    # What comes after it wants the same GPUs: whoever is first has them.
    eventually(lambda: cluster.kubectl.read("job", name, namespace)["spec"]["suspend"] is False, f"Kueue admits {name}")
    created += [apply(ann, file) for file in files[1:]]
    created.append(apply(ben, MANIFESTS / URGENT, " --as ben --as-group release-managers"))
    eventually(lambda: all(map(_was_looked_at, cluster.api.list("workloads"))), "Kueue has looked at everything")
    # What is told to wait at a first look may be let in at the next.
    eventually(lambda: sum(map(_is_admitted, cluster.api.list("workloads"))) == ADMITTED, "Kueue admits what there is room for")
    show(cluster.kubectl, "get workloads -A", "get", "workloads", "-A")
    show(cluster.kubectl, f"get job {name} -n {namespace} -o yaml", "get", "job", name, "-n", namespace, "-o", "yaml")
    print(f"\n{BOLD}{created.count(True)} created, {created.count(False)} refused.{PLAIN}")
    return created.count(True), created.count(False)


def _was_looked_at(workload: Manifest) -> bool:
    """Admitted, or told that it has to wait."""
    return any(one["type"] == "QuotaReserved" for one in workload.get("status", {}).get("conditions", ()))


def _is_admitted(workload: Manifest) -> bool:
    conditions = workload.get("status", {}).get("conditions", ())
    return any((one["type"], one["status"]) == ("Admitted", "True") for one in conditions)


def run(folder: Path, keep: bool) -> int:
    """Start everything and play."""
    for program in PROGRAMS.values():
        ensure(program)
    cluster = Cluster(folder)
    try:
        webhook = Webhook(cluster)
        start_jobset(cluster)
        start_kueue(cluster)
        printed = cluster.kubectl.apply(*webhook.example())
        assert printed.code == 0, printed.text
        found = play(cluster)
        if found != EXPECTED:
            print("that is not what the policies say: {} should be created and {} refused".format(*EXPECTED), file=sys.stderr)
            return 1
        if keep:
            say(f"the cluster stays until Ctrl-C: kubectl --kubeconfig {cluster.kubeconfig}")
            while True:
                time.sleep(1)
    finally:
        cluster.stop()
    return 0


def main() -> int:
    """Run the demo in a folder of its own, which is removed."""
    parser = argparse.ArgumentParser(description="The demo in a real API server, with Kueue and JobSet beside Signalbox.")
    parser.add_argument("--keep", action="store_true", help="keep the cluster until Ctrl-C")
    given = parser.parse_args()
    end_cleanly_on_sigterm()
    folder = Path(tempfile.mkdtemp(prefix="signalbox-demo-"))
    try:
        return run(folder, given.keep)
    except (CommandFailed, GoMissing) as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
