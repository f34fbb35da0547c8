"""The pages in a real browser, over a real cluster and a real PostgreSQL: followed, measured, and without a complaint."""

from __future__ import annotations

import csv
import http.client
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger, Wanted

from .browser import Browser, Tab
from .kubectl import Kubectl
from .objects import SPOT, gpu_mismatch, job, template
from .outage import before_signalbox
from .page_checks import low_contrasts, sticking_out
from .page_pictures import take_pictures
from .postgres import Postgres
from .processes import free_ports
from .test_audit import RULE, UNSAFE, background
from .waiting import eventually
from .webhook import PEOPLE, Webhook

HTML = "<img src=x onerror=alert(1)>"
WIDTHS = (400, 800, 1400)


@dataclass(frozen=True)
class Shown:
    """The pages, and what they are about."""

    address: str
    namespace: str
    postgres: Postgres


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


@pytest.fixture(scope="module")
def shown(webhook: Webhook) -> Iterator[Shown]:
    """The controller's pages under its own account; webhook and controller share a ledger in PostgreSQL."""
    postgres, [port] = Postgres(), free_ports(1)
    ledger = postgres.database("page")
    with _environment(SIGNALBOX_LEDGER=ledger, SIGNALBOX_LEDGER_ALLOWED="all", SIGNALBOX_PAGE_PORT=str(port)):
        webhook.controller.stop()
        webhook.controller.start()
    with _environment(SIGNALBOX_LEDGER=ledger, SIGNALBOX_LEDGER_ALLOWED="all"):
        webhook.stop()
        webhook.start()
        webhook.wait_until_called()
        namespace = "t-page"
        api = webhook.cluster.api
        api.create("namespaces", "", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        webhook.cluster.wait_for_namespace(namespace)
        _work(webhook, namespace, ledger)
    yield Shown(f"http://localhost:{port}", namespace, postgres)
    api.delete("namespaces", "", namespace)
    for process in (webhook.controller, webhook):
        process.stop()
        process.start()
    webhook.wait_until_called()
    postgres.remove()


def _work(webhook: Webhook, namespace: str, ledger: str) -> None:
    ann, bad = (webhook.cluster.kubectl.as_user(user, PEOPLE) for user in ("ann", HTML))
    with before_signalbox(webhook):
        for name, user in (("old", ann), ("odd", bad)):
            command = f"{UNSAFE}/{HTML.replace(' ', '')}" if name == "odd" else UNSAFE
            assert user.apply(job(name, namespace, template(8, command, nodeSelector=SPOT))).code == 0
    assert bad.apply(job("refused", namespace, template(4, UNSAFE, nodeSelector=SPOT))).code == 1
    assert ann.apply(gpu_mismatch(namespace=namespace)).code == 1
    fine = template(2, "torchrun train.py --output_dir=s3://bucket/llm")
    assert ann.apply(job("fine", namespace, fine)).code == 0
    assert background(webhook)["kept"]
    eventually(lambda: _written(ledger, namespace) == 3, "what was asked is in the ledger")


def _written(url: str, namespace: str) -> int:
    try:
        ledger = Ledger.open(url)
    except LedgerError:
        return 0
    try:
        return ledger.extent(Wanted(namespace=namespace)).entries
    finally:
        ledger.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, installed where it may be."""
    started = Browser()
    yield started
    started.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Tab]:
    """A page of a fresh window. Whatever it complained of fails the test."""
    made = browser.tab()
    made.resize(1400)
    yield made
    assert made.faults == []


def test_from_the_first_page_to_a_rule_a_workload_and_a_download(shown: Shown, tab: Tab, tmp_path: Path) -> None:
    assert tab.open(f"{shown.address}/?namespace={shown.namespace}") == 200
    assert "Who is refused, and who would be" in tab.text("h1")
    tab.click(f'a[href^="/rule?"][href$="rule={RULE.replace("/", "%2F")}"]')
    assert tab.text("h1").startswith(RULE)
    assert "By the numbers: not yet" in tab.text(".verdict h2")
    tab.click('a[href^="/workload?"][href*="name=old"]')
    assert tab.text("h1") == f"Job {shown.namespace}/old"
    assert "Spot work is interrupted without notice" in tab.text(".finding")
    assert "--output_dir=/tmp/out" in tab.text(".finding")
    tab.click(".finding a")
    tab.click('a[href^="/workloads?"]')
    file = tab.download('a[href^="/workloads.csv"]', tmp_path)
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    here = {row["name"] for row in rows if row["namespace"] == shown.namespace}
    assert here == {"old", "odd"}
    assert {row["rule"] for row in rows} >= {RULE}


def test_what_was_asked_is_followed_to_its_object(shown: Shown, tab: Tab) -> None:
    tab.open(f"{shown.address}/requests?namespace={shown.namespace}&decision=refused")
    assert tab.text("tbody").count("refused") >= 2
    tab.click('a[href^="/request?"]')
    assert "Create of Job" in tab.text("h1")
    assert "kind: Job" in tab.text("pre.object")
    assert "uid, as in log and audit log" in tab.text(".facts")


def test_a_filter_is_chosen_by_its_form_and_stands_in_the_address(shown: Shown, tab: Tab) -> None:
    tab.open(f"{shown.address}/")
    tab.run("document.querySelector('.filter').open = true")
    tab.run(f"document.querySelector('[name=namespace]').value = {shown.namespace!r}")
    tab.click(".filter button")
    assert f"namespace={shown.namespace}" in tab.address
    assert shown.namespace in tab.text(".filter summary")


def test_html_in_names_is_text(shown: Shown, tab: Tab) -> None:
    for path in (f"/requests?namespace={shown.namespace}", f"/workload?kind=Job&namespace={shown.namespace}&name=odd"):
        tab.open(f"{shown.address}{path}")
        assert "onerror=alert(1)>" in tab.text("main")
        assert tab.run("document.querySelectorAll('main img, script').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_at_every_width(shown: Shown, tab: Tab, scheme: str) -> None:
    tab.colours(scheme)
    rule = f"/rule?rule={RULE}"
    workload = f"/workload?kind=Job&namespace={shown.namespace}&name=old"
    for path in ("/", rule, "/workloads", workload, "/requests", "/accelerators", "/exceptions"):
        for width in WIDTHS:
            tab.resize(width)
            assert tab.open(f"{shown.address}{path}") == 200
            assert low_contrasts(tab) == [], f"{path} {width}"
            assert sticking_out(tab) == [], f"{path} {width}"


def test_the_keyboard_reaches_everything_and_is_seen_there(shown: Shown, tab: Tab) -> None:
    tab.open(f"{shown.address}/")
    tab.run("document.querySelector('nav a').focus({focusVisible: true})")
    assert tab.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert tab.run("[...document.querySelectorAll('[tabindex]')].every(one => one.tabIndex === 0)")


def test_a_name_that_leads_to_loopback_shows_nothing(shown: Shown) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", int(shown.address.rpartition(":")[2]), timeout=10)
    connection.request("GET", "/workloads.csv", headers={"Host": "rebound.example"})
    answer = connection.getresponse()
    assert answer.status == 421
    assert b"old" not in answer.read()


def test_nobody_waits_for_a_ledger_that_is_away(shown: Shown, tab: Tab, kubectl: Kubectl) -> None:
    shown.postgres.stop()
    try:
        began = datetime.now(UTC)
        assert tab.open(f"{shown.address}/") == 200
        assert (datetime.now(UTC) - began).total_seconds() < 10
        assert "Not everything is known." in tab.text("main")
        assert "Standing in the cluster" in tab.text("main")
        fine = job("meanwhile", shown.namespace, template(1, "torchrun train.py --output_dir=s3://bucket/llm"))
        assert kubectl.apply(fine).code == 0
    finally:
        shown.postgres.start()


def test_the_pictures_of_the_documentation(browser: Browser, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """`python -m tests.e2e -k pictures --page-pictures` writes docs/images anew; without the option they are only taken."""
    folder = Path(__file__).parents[2] / "docs" / "images"
    wanted = folder if request.config.getoption("--page-pictures") else tmp_path
    taken = take_pictures(browser.tab(), wanted, tmp_path)
    assert {file.name for file in taken} == {file.name for file in folder.glob("*.png")}
    assert all(file.stat().st_size < 200_000 for file in taken)
