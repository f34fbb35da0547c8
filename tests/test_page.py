"""The pages for people: what they say, what they lead to, and what they say where something is missing."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from signalbox.audit.from_json import KnownScan, ScanJsonError, read_scan_json
from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.page.known import Known, Refreshed, TroubleError
from signalbox.audit.page.render import ago, days_left
from signalbox.process.logs import Log
from tests.ledgers import recording
from tests.manifests import gpu_job
from tests.page_app import FixedSources, Pages, known_scan, known_setup, links, read, tags
from tests.page_world import scan_of, standing, world, write_ledger
from tests.world import NOW

RULE = "interruptible/checkpoint"
PAGES = ("/", "/workloads", "/requests", "/accelerators", "/exceptions", f"/rule?rule={RULE}")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    file = tmp_path_factory.mktemp("page") / "ledger.db"
    write_ledger(file, per_day=6)
    return Ledger.open(str(file))


@pytest.fixture(scope="module")
def sources(ledger: Ledger) -> FixedSources:
    return FixedSources(Known(ledger), known_scan(), known_setup())


@pytest.fixture(scope="module")
def pages(sources: FixedSources) -> Pages:
    return Pages(sources)


def test_the_first_page_says_who_is_refused_and_who_would_be(pages: Pages) -> None:
    text = pages.text("/")
    figures = read_figures(pages.html("/"))
    assert "2 refused if made again today, 68 accelerators" in figures
    assert "31 more if every rule were enforced, 349 accelerators" in figures
    assert "Not enforced yet: whom each rule would hit" in text
    assert f"{RULE} warn 25 told only, 6 excepted 13" in text
    assert "research , platform , research-sandbox not yet" in text
    assert "grace/long-enough audit 43 mended by injection 0 0 0 – ready" in text
    assert "nightly-eval" in text
    assert "ends in 5 days" in text


def test_its_numbers_are_the_ledgers_and_the_scans(pages: Pages, ledger: Ledger) -> None:
    refused = next(count.requests for count in ledger.counts("decision") if count.key == "refused")
    assert f"{refused:g} requests refused" in read_figures(pages.html("/"))


def read_figures(html: str) -> str:
    # A figure stands above its words, and behind them in the source.
    words = []
    for part in html.split("<div><dt>")[1:]:
        label, _, rest = part.partition("</dt>")
        words.append(f"{read(rest.partition('</dd>')[0])} {read(label)}")
    return "; ".join(words)


def test_every_link_of_every_page_leads_to_a_page(pages: Pages) -> None:
    seen: set[str] = set()
    waiting = ["/"]
    while waiting:
        address = waiting.pop()
        if address in seen or address.startswith("#"):
            continue
        seen.add(address)
        page = pages.get(address)
        assert page.status == 200, f"{address}: {page.status}"
        # Each kind of page once or twice is enough: a list leads to hundreds of the same kind.
        if page.content_type.startswith("text/html") and len(seen) < 40:
            waiting += [link for link in links(page.body.decode()) if link not in seen]
    assert {path.partition("?")[0] for path in seen} >= {
        "/", "/rule", "/workloads", "/workload", "/requests", "/request", "/accelerators", "/exceptions", "/workloads.csv",
    }  # fmt: skip


def test_a_rules_page_has_the_verdict_its_numbers_and_a_list_for_each_team(pages: Pages) -> None:
    text = pages.text(f"/rule?rule={RULE}")
    assert "To enforce it: not yet" in text
    assert "13 standing workloads would be refused if made again" in text
    assert "exception nightly-eval ends on 2026-12-04" in text
    assert "Team research" in text
    assert "Job team-research/pretrain-3-large in the cluster 128" in text
    assert "the cluster was not looked at" not in text


def test_the_verdict_of_a_page_is_that_of_the_command(pages: Pages, ledger: Ledger) -> None:
    from signalbox.audit.readiness import Evidence, Fate
    from signalbox.audit.seen import seen_in

    evidence = Evidence(world(), RULE, NOW, 14, seen_in(ledger, NOW, 14))
    from signalbox.audit.ledger.reading import Wanted

    for recorded in ledger.replayable(Wanted(since=NOW - timedelta(days=14), rule=RULE)):
        evidence.add_request(recorded)
    assert evidence.requests.fates[Fate.REFUSED]
    assert f"would be refused {evidence.requests.fates[Fate.REFUSED]} 13" in pages.text(f"/rule?rule={RULE}")


def test_an_enforced_rule_says_whom_it_hits(pages: Pages) -> None:
    text = pages.text("/rule?rule=limits/within-reach")
    assert "limits/within-reach enforce" in text
    assert "Requests by day: refused" in text
    assert "Job team-research/pretrain-4" in text


def test_a_rule_that_nobody_knows_is_told_with_the_nearest(pages: Pages) -> None:
    assert f'did you mean "{RULE}"?' in pages.text("/rule?rule=interruptible/checkpiont", 404)


def test_a_workloads_page_has_what_was_found_with_its_evidence_and_fix(pages: Pages) -> None:
    text = pages.text("/workload?kind=Job&namespace=team-research&name=llama-sft-00")
    assert f"{RULE} warn refused if enforced" in text
    assert "spec.template.spec.containers[main].command = --output_dir=/tmp/out" in text
    assert "fix mount a PersistentVolumeClaim" in text
    assert "mended by injection (termination-grace)" in text


def test_a_requests_page_has_who_asked_what_was_found_and_the_object_as_it_was_kept(pages: Pages, ledger: Ledger) -> None:
    entry = next(one for one in ledger.entries(limit=500) if one.decision == "warned")
    text = pages.text(f"/request?id={entry.id}")
    assert f"Create of {entry.subject}" in text
    assert f"Asked by {entry.user}" in text
    assert "Let in with a warning" in text
    assert "type fine-tuning" in text or "type training" in text
    assert "kind: Job" in text
    assert pages.text(f"/workload?kind=Job&namespace={entry.namespace}&name={entry.name}").count("let in with a warning") == 1


@pytest.mark.parametrize(
    ("address", "there", "gone"),
    [
        ("/workloads?team=platform", "reward-sweep", "llama-sft"),
        ("/workloads?namespace=team-eval", "nightly-distill", "llama-sft"),
        ("/workloads?kind=Deployment", "reward-model", "llama-sft"),
        ("/workloads?rule=limits/within-reach", "pretrain-4", "llama-sft"),
        ("/workloads?result=excepted&rule=interruptible/checkpoint", "nightly-distill", "pretrain-4"),
        ("/requests?decision=refused", "refused", "let in with a warning Job"),
        ("/requests?team=platform", "team-platform/", "team-research/"),
        ("/requests?user=ann", "Only by ann", "eval-bot"),
        ("/?team=platform", "with a finding 10", "research 2"),
        (f"/rule?rule={RULE}&team=platform", "reward-sweep", "pretrain-4"),
    ],
)
def test_filters_stand_in_the_address(pages: Pages, address: str, there: str, gone: str) -> None:
    text = pages.text(address)
    assert there in text
    assert gone not in text


def test_a_filter_goes_along_to_the_next_page(pages: Pages) -> None:
    html = pages.html("/?team=platform&since=7d")
    assert "/workloads?since=7d&amp;team=platform" in html
    assert f"/rule?since=7d&amp;team=platform&amp;rule={RULE.replace('/', '%2F')}" in html


def test_a_shorter_time_holds_fewer_requests(pages: Pages) -> None:
    def refused(since: str) -> float:
        return float(read_figures(pages.html(f"/?since={since}")).partition(" requests refused")[0].rpartition(" ")[2])

    assert refused("1d") <= refused("7d") < refused("14d")


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("/?since=yesterday", "write 12h, 7d or 4w"),
        ("/?since=0d", "is no time"),
        ("/?since=9999w", "at most 366d"),
        ("/workloads?page=0", "the first is 1"),
        ("/workloads?page=-1", "is no number"),
        ("/workloads?page=%D9%A3", "is no number"),
        ("/workloads?result=sunny", "is none of refused"),
        ("/requests?decision=perhaps", "is none of refused"),
        ("/requests?after=1%3BDROP", "is no number"),
        ("/request", "id says which"),
        ("/request?id=99999999999999999999", "is no number"),
        ("/workload?name=x", "kind, namespace and name"),
        ("/?" + "&".join(f"f{number}=1" for number in range(30)), "more than 20 fields"),
        ("/?team=" + "x" * 700, "longer than any name"),
    ],
)
def test_an_address_that_cannot_be_used_says_what_would_be_right(pages: Pages, address: str, says: str) -> None:
    assert says in pages.text(address, 400)


@pytest.mark.parametrize("address", ["/nowhere", "/request?id=123456", "/workload?kind=Job&namespace=a&name=b", "/style.css/x"])
def test_what_is_not_there_is_a_page_too(pages: Pages, address: str) -> None:
    assert "Not found" in pages.text(address, 404)


@pytest.mark.parametrize("address", [*PAGES, "/nowhere", "/?since=x", "/style.css", "/mark.svg", "/workloads.csv"])
def test_every_answer_forbids_what_a_page_of_ours_does_not_need(pages: Pages, address: str) -> None:
    headers = dict(pages.get(address).headers)
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert "script-src" not in policy
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("address", PAGES)
def test_no_page_needs_a_script_a_style_of_its_own_or_anything_from_elsewhere(pages: Pages, address: str) -> None:
    for tag, attributes in tags(pages.html(address)):
        assert tag not in ("script", "style", "iframe", "object", "embed", "base"), tag
        assert not [name for name in attributes if name == "style" or name.startswith("on")], (tag, attributes)
        for name in ("href", "src", "action"):
            assert (attributes.get(name) or "/").startswith(("/", "#")), (tag, attributes)


@pytest.mark.parametrize("address", PAGES)
def test_every_field_has_a_label_and_every_chart_its_words(pages: Pages, address: str) -> None:
    html = pages.html(address)
    for tag, attributes in tags(html):
        if tag == "svg" and attributes.get("aria-hidden") != "true" and attributes.get("viewbox") != "0 0 8 8":
            assert attributes.get("role") == "img"
            assert attributes.get("aria-label")
        if tag == "th" and "meter" not in (attributes.get("class") or ""):
            assert attributes.get("scope"), attributes
    assert html.count("<label>") == html.count("<select name") + html.count("<input name")
    assert "<html lang=" in html


def test_the_numbers_of_a_chart_stand_in_a_table_beneath(pages: Pages, ledger: Ledger) -> None:
    text = pages.text("/")
    day = max(ledger.counts("day"), key=lambda count: count.refused)
    assert f"{day.key} {day.refused} {day.warned} {day.audited}" in text


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9091", "127.0.0.1:8080", "[::1]:9091", "LOCALHOST:1", "pages.example:443"]
)
def test_it_is_asked_by_a_name_of_its_own(sources: FixedSources, host: str) -> None:
    assert Pages(sources, hosts=("pages.example",)).get("/", host).status == 200


STRANGERS = (
    *("", "evil.example", "evil.example:9091", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("a@localhost", "127.0.0.2", "localhost:9091:80", "[::1", "localhost\tx"),
)


@pytest.mark.parametrize("host", STRANGERS)
def test_a_name_that_was_made_to_lead_here_reads_nothing(sources: FixedSources, host: str) -> None:
    for address in ("/", "/workloads.csv", "/style.css"):
        page = Pages(sources).get(address, host)
        assert page.status == 421
        assert b"llama" not in page.body


def test_where_nothing_is_known_every_page_says_what_to_do() -> None:
    pages = Pages(FixedSources())
    for address in ("/", "/workloads", "/requests", "/accelerators", "/exceptions"):
        text = pages.text(address)
        assert "Not everything is known. the policies cannot be read: nobody answers" in text
    assert "No ledger is named." in pages.text("/")
    assert "No scan is known." in pages.text("/accelerators")
    assert "No ledger is named." in pages.text("/requests")
    assert "No scan is known." in pages.text("/workloads.csv", 404)


def test_an_empty_ledger_and_a_clean_cluster_are_good_news(tmp_path: Path) -> None:
    with recording(tmp_path / "l.db", world()) as made:
        made.offer(gpu_job("gone", "nowhere"), now=NOW - timedelta(days=300))
        made.settled(1)
    clean = Known(read_scan_json(scan_of(iter(()))))
    pages = Pages(FixedSources(Known(made.read()), clean, known_setup()))
    text = pages.text("/")
    assert "Nothing was refused, warned of or recorded in the last 14 days" in text
    assert "No rule that is not enforced finds anything" in text
    assert "7 rules found nothing" in text
    assert "No rule finds anything in any of 0 workloads" in pages.text("/workloads")
    assert "None in the last 14 days" in pages.text("/requests")


def test_without_policies_what_was_found_is_shown_all_the_same(ledger: Ledger) -> None:
    pages = Pages(FixedSources(Known(ledger), known_scan()))
    assert RULE in pages.text("/")
    assert "The policies are not known, so nothing can be judged again." in pages.text(f"/rule?rule={RULE}")


def test_a_ledger_that_breaks_is_told_and_the_rest_is_shown(tmp_path: Path, sources: FixedSources) -> None:
    file = tmp_path / "ledger.db"
    write_ledger(file, per_day=1)
    broken = Ledger.open(str(file))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DROP TABLE findings")
    pages = Pages(FixedSources(Known(broken), sources.of_scan, sources.of_setup))
    for address in PAGES:
        asks_the_ledger = address not in ("/workloads", "/accelerators")
        assert ("the ledger cannot be read: no such table: findings" in pages.text(address)) is asks_the_ledger
    assert "team-research/pretrain-4" in pages.text("/workloads")


def test_a_slow_ledger_is_not_waited_for(tmp_path: Path, sources: FixedSources, monkeypatch: pytest.MonkeyPatch) -> None:
    from signalbox.audit.ledger import database

    file = tmp_path / "ledger.db"
    write_ledger(file, per_day=1)
    # After some ten steps of its machine, and with no time at all, every question to it is too much.
    monkeypatch.setattr(database, "_STEPS", 10)
    slow = Ledger(database.open_for_reading(database.Address.parse(str(file)), seconds=0.0))
    with pytest.raises(LedgerError) as raised:
        slow.counts("rule")
    assert raised.value.trouble == "locked"
    pages = Pages(FixedSources(Known(slow), sources.of_scan, sources.of_setup))
    assert "The ledger did not answer in time" in pages.text("/")
    assert "31 more if every rule were enforced" in read_figures(pages.html("/"))


def test_a_fault_of_ours_is_one_page_and_a_line_in_the_log(
    sources: FixedSources, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from signalbox.audit.page import app

    def broken(_look: object) -> bytes:
        raise RuntimeError("team-research/llama")

    monkeypatch.setitem(app._VIEWS, "/requests", broken)
    pages = Pages(sources)
    assert "That is a fault of Signalbox" in pages.text("/requests", 500)
    line = json.loads(capfd.readouterr().err)
    assert (line["event"], line["path"], line["exception"]) == ("page failed", "/requests", "RuntimeError")
    # What the fault says may come from a manifest.
    assert "llama" not in json.dumps(line)
    assert pages.get("/").status == 200


@pytest.mark.parametrize("hours", [-5, -24 * 40, 24 * 400])
def test_a_clock_that_went_back_or_forth_breaks_no_page(sources: FixedSources, hours: int) -> None:
    pages = Pages(sources, now=lambda: NOW + timedelta(hours=hours))
    for address in PAGES:
        assert pages.get(address).status == 200
    if hours < 0:
        assert "ahead of this machine" in pages.text("/")
    # What was written in days to come is not lost.
    if hours == -5:
        assert "2026-11-29" in pages.text("/")


def test_times_are_told_as_people_tell_them() -> None:
    told = [ago(NOW - timedelta(seconds=seconds), NOW) for seconds in (-300, -1, 0, 59, 60, 3599, 7200, 200_000)]
    assert told == [
        "5 min ahead of this machine's clock",
        *["just now"] * 3,
        "1 min ago",
        "59 min ago",
        "2 h ago",
        "2 days ago",
    ]
    assert [days_left(NOW.date() + timedelta(days=days), NOW) for days in (-2, -1, 0, 1, 5)] == [
        "over for 2 days",
        "over for 1 day",
        "ends today",
        "ends in 1 day",
        "ends in 5 days",
    ]


def test_a_scan_comes_back_from_its_json_as_it_was() -> None:
    scan = scan_of(standing())
    known = read_scan_json(json.loads(json.dumps(scan)))
    from signalbox.audit.as_json import scan_json, subject_json

    assert scan_json(known.summary, known.tally) == {key: scan[key] for key in scan_json(known.summary, known.tally)}
    assert [{**subject_json(one), "children": 1} for one in known.subjects] == scan["workloads"]


@pytest.mark.parametrize(
    "change",
    [
        {"version": 99},
        {"started": "yesterday"},
        {"rules": None},
        {"rules": [{"rule": "a/b"}]},
        {"total": []},
        {"accelerators": {"byResource": {"x": "many"}, "byTeamAndType": [], "workloadsOfUnknownAmount": 0}},
        {"workloads": [{"name": "x"}]},
        {"workloads": "none"},
    ],
)
def test_what_is_no_scan_of_ours_is_told(change: dict[str, object]) -> None:
    with pytest.raises(ScanJsonError):
        read_scan_json({**scan_of(standing()), **change})


def test_what_takes_long_is_waited_for_once_and_the_last_value_stays() -> None:
    answers: list[Known[KnownScan] | Exception] = [known_scan(), TroubleError("the API server is away"), ValueError("x")]

    def ask() -> Known[KnownScan]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    kept = Refreshed("the scan", ask, 0.0, 5.0, Log("error"))
    first = kept.get()
    assert first.value is not None
    for says in ("the API server is away", "ValueError"):
        kept.get()
        deadline = time.monotonic() + 5
        while says not in (known := kept._known).trouble:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        assert known.value is first.value
