"""The webhook at its job: certificates, a server over TLS, manifests good and bad, and what `kubectl apply` would print.

Nothing here needs a cluster. What the API server does around the webhook is done here: its defaults, one AdmissionReview to
/mutate, the patch applied, one to /validate. The policies are the shipped ones, the cluster (priority classes, queues,
namespaces) is the folder that their tests use.
"""

import argparse
import base64
import difflib
import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonpatch
import yaml

from signalbox.cluster.folder import read_cluster
from signalbox.defaults import apply_defaults
from signalbox.source import read_documents

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CLUSTER = ROOT / "policies" / "tests" / "cluster"
SIGNALBOX = Path(sys.executable).with_name("signalbox")
RECORD = "workload.ai/injected"

BOLD, RED, GREEN, YELLOW, DIM, PLAIN = ("\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[2m", "\x1b[0m")
if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
    BOLD = RED = GREEN = YELLOW = DIM = PLAIN = ""


@contextmanager
def webhook(folder: Path) -> Iterator[http.client.HTTPSConnection]:
    """A server of its own, on a free port of loopback, with certificates made for it."""
    run = [str(SIGNALBOX), "certs", "issue", "--out", str(folder)]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    log = (folder / "log").open("w+")
    started = time.monotonic()
    serve = [
        str(SIGNALBOX),
        "serve",
        "--cert",
        str(folder / "tls.crt"),
        "--key",
        str(folder / "tls.key"),
        "--address",
        "127.0.0.1",
    ]
    options = ["--port", "0", "--no-metrics", "--drain-seconds", "0", "--cluster", str(CLUSTER)]
    process = subprocess.Popen([*serve, *options], stderr=log)
    try:
        port = wait_for_port(process, Path(log.name))
        trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", port, context=trust, timeout=10)
        wait_until_ready(connection)
        print(f"{DIM}webhook ready on https://127.0.0.1:{port} after {time.monotonic() - started:.1f} s{PLAIN}")
        yield connection
    finally:
        process.terminate()
        process.wait(timeout=20)
        log.close()


def wait_until_ready(connection: http.client.HTTPSConnection) -> None:
    """Asks /readyz until it says so."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            answer.read()
            if answer.status == http.client.OK:
                return
        except OSError:
            connection.close()
        time.sleep(0.02)
    sys.exit("the webhook was not ready after 20 s")


def wait_for_port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """The port that the server says it has taken."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("event") == "serving":
                return int(entry["port"])
        if process.poll() is not None:
            break
        time.sleep(0.02)
    sys.exit(f"the webhook did not start:\n{log.read_text()}")


def review(manifest: dict[str, Any], obj: dict[str, Any], user: str, groups: list[str]) -> dict[str, Any]:
    """The AdmissionReview of a CREATE."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    metadata = manifest["metadata"]
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": group, "version": version, "kind": manifest["kind"]},
        "operation": "CREATE",
        "namespace": metadata["namespace"],
        "name": metadata.get("name", ""),
        "userInfo": {"username": user, "groups": groups},
        "object": obj,
        "dryRun": False,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def ask(connection: http.client.HTTPSConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """One review, as the API server sends it."""
    connection.request("POST", f"{path}?timeout=5s", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    response: dict[str, Any] = json.loads(answer.read())["response"]
    return response


def apply(connection: http.client.HTTPSConnection, file: Path, user: str, groups: list[str]) -> bool:
    """Applies one manifest and prints what kubectl would; whether it was created."""
    text = file.read_text()
    manifest = read_documents(text, str(file))[0].value
    comment = "\n".join(line for line in text.splitlines() if line.startswith("#"))
    who = "" if user == "ann" else f" --as {user}" + "".join(f" --as-group {group}" for group in groups)
    print(f"\n{DIM}{comment}{PLAIN}\n{BOLD}$ kubectl apply -f {file.name}{who}{PLAIN}")
    cluster, _ = read_cluster(str(CLUSTER))
    asked = apply_defaults(manifest, manifest["metadata"]["namespace"], cluster)
    after = asked
    for path, name in (("/mutate", "mutate.policy.workload.ai"), ("/validate", "validate.policy.workload.ai")):
        response = ask(connection, path, review(manifest, after, user, groups))
        for warning in response.get("warnings", []):
            print(f"{YELLOW}Warning:{PLAIN} {warning}")
        if not response["allowed"]:
            where = f'error when creating "{file.name}": admission webhook "{name}" denied the request: '
            print(f"{RED}Error from server (Forbidden):{PLAIN} {where}{response['status']['message']}")
            return False
        if "patch" in response:
            after = jsonpatch.apply_patch(after, json.loads(base64.b64decode(response["patch"])))
    metadata = manifest["metadata"]
    group = str(manifest["apiVersion"]).rpartition("/")[0]
    kind = manifest["kind"].lower() + (f".{group}" if group else "")
    print(f"{kind}/{metadata.get('name') or metadata['generateName'] + '7xq2f'} created")
    show_difference(asked, after)
    return True


def show_difference(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The injected fields, as lines of YAML."""
    if before == after:
        print(f"{DIM}  (nothing injected){PLAIN}")
        return
    old, new = (yaml.safe_dump(without_record(obj), width=200).splitlines() for obj in (before, after))
    for line in difflib.unified_diff(old, new, lineterm="", n=0):
        if line.startswith("+") and not line.startswith("+++"):
            print(f"  {GREEN}{line}{PLAIN}")
        elif line.startswith("-") and not line.startswith("---"):
            print(f"  {RED}{line}{PLAIN}")


def without_record(obj: dict[str, Any]) -> dict[str, Any]:
    """The object without the annotation in which Signalbox notes what it set: long, and of no interest here."""
    metadata = dict(obj["metadata"])
    annotations = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != RECORD}
    metadata.pop("annotations", None)
    return {**obj, "metadata": {**metadata, "annotations": annotations} if annotations else metadata}


def main() -> None:
    """Runs the demo."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    files = sorted((HERE / "manifests").glob("*.yaml"))
    with tempfile.TemporaryDirectory() as folder, webhook(Path(folder)) as connection:
        created = [apply(connection, file, "ann", ["ml-engineers"]) for file in files]
        urgent = next(file for file in files if "urgent" in file.name)
        created.append(apply(connection, urgent, "ben", ["release-managers"]))
    print(f"\n{BOLD}{created.count(True)} created, {created.count(False)} refused.{PLAIN}")
    if (created.count(True), created.count(False)) != (8, 5):
        sys.exit("that is not what the policies say: 8 should be created and 5 refused")


if __name__ == "__main__":
    main()
