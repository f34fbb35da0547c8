"""One cluster a run, shared by all tests; the plain `pytest` of the fast suite collects nothing here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest
import yaml

from .api import ApiError
from .binaries import ensure
from .cluster import Cluster
from .controllers import start_jobset, start_kueue
from .go_build import GoMissing
from .kubectl import Kubectl
from .objects import Manifest
from .processes import Process, end_cleanly_on_sigterm
from .programs import CERT_MANAGER, PROGRAMS
from .progress import CommandFailed, say
from .waiting import eventually
from .webhook import PEOPLE, Webhook

# `python -m tests.e2e` sets it; a run of minutes that builds a Kubernetes is nothing to stumble into.
COLLECTED = os.environ.get("SIGNALBOX_E2E") == "1"
collect_ignore_glob = [] if COLLECTED else ["test_*.py"]

TEAM_RESOURCES = ("cronjobs", "jobsets", "jobs", "deployments", "statefulsets", "daemonsets", "replicasets", "pods")
_GONE = ("jobs", "pods", "workloads")
_FOLDER = pytest.StashKey[Path]()
_LAST = ("kueue", "quiet_machine", "jobset")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make e2e E2E=--short-drills`."""
    parser.addoption("--short-drills", action="store_true", help="drills under load take some seconds instead of a minute each")
    parser.addoption("--page-pictures", action="store_true", help="write the pictures in docs/images anew")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs Kueue or JobSet comes last: their binaries may still be building, and Kueue's webhooks reach everything."""

    def rank(item: pytest.Item) -> int:
        fixtures = getattr(item, "fixturenames", ())
        return max((len(_LAST) - index for index, name in enumerate(_LAST) if name in fixtures), default=0)

    items.sort(key=rank)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the logs of a run that failed, and say where they are."""
    folder = session.config.stash.get(_FOLDER, None)
    if folder is None:
        return
    if exitstatus:
        say(f"logs of etcd, the API server, its controllers and signalbox are kept in {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)


def shown(config: pytest.Config) -> AbstractContextManager[object]:
    """Progress of what takes minutes goes past pytest's capturing."""
    capture = config.pluginmanager.getplugin("capturemanager")
    return nullcontext() if capture is None else capture.global_and_fixture_disabled()


@contextmanager
def _or_nothing(what: str) -> Iterator[None]:
    """Without it no test means anything: one text instead of a hundred equal errors."""
    try:
        yield
    except (AssertionError, ApiError, CommandFailed, GoMissing, OSError, subprocess.SubprocessError) as failure:
        pytest.exit(f"{what} did not start: {type(failure).__name__}: {failure}", returncode=1)


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """etcd, API server and controller manager."""
    folder = Path(tempfile.mkdtemp(prefix="signalbox-e2e-"))
    request.config.stash[_FOLDER] = folder
    end_cleanly_on_sigterm()
    with shown(request.config), _or_nothing("the cluster"):
        started = Cluster(folder)
    yield started
    started.stop()


@pytest.fixture(scope="session")
def webhook(cluster: Cluster) -> Webhook:
    """Signalbox, installed and answering."""
    with _or_nothing("signalbox"):
        return Webhook(cluster)


@pytest.fixture(scope="session")
def fresh(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """An API server that nothing was ever installed into."""
    folder = Path(tempfile.mkdtemp(prefix="signalbox-e2e-fresh-"))
    with shown(request.config):
        started = Cluster(folder)
        definitions = ensure(CERT_MANAGER) / "config"
    printed = started.kubectl.apply(*map(_definition, sorted(definitions.glob("crd-*.yaml"))), arguments=("--server-side",))
    assert printed.code == 0, printed.text
    started.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=60s")
    yield started
    started.stop()
    shutil.rmtree(folder, ignore_errors=True)


def _definition(path: Path) -> Manifest:
    """A resource definition of cert-manager, whose labels a chart would fill in."""
    found: Manifest = yaml.safe_load(path.read_text())
    del found["metadata"]["labels"]
    return found


@pytest.fixture(autouse=True)
def _no_faults_of_ours(request: pytest.FixtureRequest) -> Iterator[None]:
    if "webhook" not in request.fixturenames:
        yield
        return
    installed: Webhook = request.getfixturevalue("webhook")
    before = len(installed.crashes())
    yield
    if not installed.running:
        log = (installed.cluster.folder / "signalbox.log").read_text().splitlines()
        pytest.exit("signalbox has ended, so nothing more can be shown; its last lines:\n" + "\n".join(log[-10:]), returncode=1)
    assert installed.crashes()[before:] == []


@pytest.fixture
def kubectl(webhook: Webhook) -> Kubectl:
    """kubectl of ann, who is nobody special; Signalbox is installed."""
    return webhook.cluster.kubectl.as_user("ann", PEOPLE)


@pytest.fixture
def namespace(webhook: Webhook, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, of no team."""
    # The same in every run: refusals that are kept as files name it.
    name = f"t-{zlib.crc32(request.node.name.encode()):08x}"
    api = webhook.cluster.api
    api.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    webhook.cluster.wait_for_namespace(name)
    yield name
    _empty(webhook, name)
    api.delete("namespaces", "", name)


@pytest.fixture
def team(webhook: Webhook) -> Iterator[Callable[[str], str]]:
    """`team("research")` is that team's namespace, emptied after the test: the shipped policies know teams by name."""
    used: list[str] = []

    def take(name: str) -> str:
        used.append(f"team-{name}")
        return used[-1]

    yield take
    for one in used:
        _empty(webhook, one)


@pytest.fixture
def research(team: Callable[[str], str]) -> str:
    """The namespace of the research team."""
    return team("research")


def _empty(webhook: Webhook, namespace: str) -> None:
    api = webhook.cluster.api
    for resource in TEAM_RESOURCES:
        api.delete_all(resource, namespace)
    eventually(lambda: not any(api.list(one, namespace) for one in _GONE), f"{namespace} is empty", 60)


@pytest.fixture(scope="session")
def jobset(request: pytest.FixtureRequest, webhook: Webhook) -> Process:
    """JobSet's controller; Signalbox was there before it."""
    with shown(request.config):
        return start_jobset(webhook.cluster)


@pytest.fixture(scope="session")
def quiet_machine(request: pytest.FixtureRequest) -> None:
    """Nothing is being built any more: what is measured now has the machine for itself."""
    with shown(request.config), _or_nothing("a build"):
        for program in PROGRAMS.values():
            ensure(program)


@pytest.fixture(scope="session")
def kueue(request: pytest.FixtureRequest, webhook: Webhook, jobset: Process) -> Process:
    """Kueue, with the queues of the example. From here on nothing is created without it."""
    with shown(request.config):
        started = start_kueue(webhook.cluster)
    printed = webhook.cluster.kubectl.apply(*webhook.example())
    assert printed.code == 0, printed.text
    return started
