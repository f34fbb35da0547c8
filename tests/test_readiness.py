"""Can a rule be enforced: the verdict, what it rests on, and the list for each team."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from signalbox.audit.readiness import Evidence, Fate, Seen, by_team
from signalbox.audit.result import Asked, NotJudged, ScanFinding, Subject
from signalbox.audit.verdict import Verdict, notes_on, verdict_on
from signalbox.engine import Setup
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import PolicyException
from tests.manifests import gpu_job, pod_spec
from tests.test_replay import recorded
from tests.world import NOW, policy, setup

RULE = "p/grace"
GRACE = "rules: [{name: grace, check: termination-grace, with: {min: 60}, mode: audit}]"
WORLD = setup(policy(GRACE))
PLENTY = Seen(requests=500, covered_days=14, allowed_recorded=True)


def evidence(world: Setup = WORLD, seen: Seen = PLENTY, days: float = 14) -> Evidence:
    return Evidence(world, RULE, NOW, days, seen)


def asked(days_ago: float, name: str = "llama", user: str = "ann", world: Setup = WORLD, **labels: str) -> Any:
    job = gpu_job(name)
    job["metadata"]["labels"] = {f"workload.ai/{key}": value for key, value in labels.items()}
    return recorded(world, job, user=user, now=NOW - timedelta(days=days_ago))


def finding(result: Result = Result.FAIL, **fields: Any) -> ScanFinding:
    return ScanFinding(RULE, "termination-grace", Mode.AUDIT, result, "too short", would_refuse=result is Result.FAIL, **fields)


def standing(name: str, *findings: ScanFinding, **fields: Any) -> Subject:
    fields = {"team": "research", "accelerators": Asked(8), **fields}
    return Subject("batch/v1", "Job", "research", name, findings=findings, **fields)


def test_a_rule_that_found_nothing_in_enough_requests_is_ready() -> None:
    found = evidence()
    found.add_standing([standing("fine")])
    assert verdict_on(found) == (
        Verdict.READY,
        ("none of 500 requests and none of 1 standing workload would be refused as things are now",),
    )


def test_recent_requests_that_would_be_refused_are_in_the_way() -> None:
    found = evidence()
    for day in (1, 2, 10):
        found.add_request(asked(day, user=f"user-{day}"))
    verdict, reasons = verdict_on(found)
    assert verdict is Verdict.NOT_YET
    assert reasons == ("2 requests of the last 7 days would be refused as things are now",)
    assert found.requests.fates == {Fate.REFUSED: 3}
    assert (found.requests.accelerators, found.requests.users) == (24, {"user-1", "user-2", "user-10"})


def test_old_requests_are_no_longer_in_the_way_but_are_told() -> None:
    found = evidence()
    found.add_request(asked(10))
    assert verdict_on(found)[0] is Verdict.READY
    assert "the last request that would be refused came on 2026-11-19" in notes_on(found)


def test_what_stands_in_the_cluster_is_in_the_way() -> None:
    found = evidence()
    found.add_standing([standing("bad", finding()), standing("fine")])
    assert verdict_on(found) == (Verdict.NOT_YET, ("1 standing workload would be refused if made again",))
    assert found.standing is not None
    assert (found.standing.seen, found.standing.accelerators) == (2, 8)


@pytest.mark.parametrize(
    ("subject", "fate"),
    [
        (standing("a", finding(fixed_by="termination-grace")), Fate.MENDED),
        (standing("a", finding(Result.SKIP, excepted_by="x")), Fate.EXCEPTED),
        (standing("a", finding(Result.ERROR)), Fate.FAULT),
        (standing("a", replace(finding(), would_refuse=False)), Fate.TOLD),
        (standing("a", not_judged=(NotJudged(RULE, Mode.AUDIT, "not known: x"),)), Fate.UNKNOWN),
        (standing("a", finding(fixed_by="termination-grace"), finding()), Fate.REFUSED),
    ],
)
def test_the_fate_of_a_standing_workload(subject: Subject, fate: Fate) -> None:
    found = evidence()
    found.add_standing([subject])
    assert found.standing is not None
    assert found.standing.fates == {fate: 1}


def test_what_an_injector_mends_today_is_not_in_the_way() -> None:
    with_injector = setup(policy(f"inject: {{terminationGracePeriodSeconds: 300}}\n{GRACE}"))
    found = evidence(with_injector)
    found.add_request(asked(1))
    assert found.requests.fates == {Fate.MENDED: 1}
    assert verdict_on(found)[0] is Verdict.READY


def test_what_an_exception_covers_today_is_not_in_the_way_and_its_end_is_told() -> None:
    world = with_exception(WORLD, date(2026, 12, 10))
    found = evidence(world)
    found.add_request(asked(1))
    assert found.requests.fates == {Fate.EXCEPTED: 1}
    assert "exception soon ends on 2026-12-10: what it covers is refused from then on" in notes_on(found)


def with_exception(world: Setup, until: date) -> Setup:
    class Everything:
        reads: frozenset[str] = frozenset()

        def __call__(self, subject: Any) -> bool:
            return True

    exception = PolicyException("soon", (RULE,), Everything(), until, "why", "who")  # type: ignore[arg-type]
    return replace(world, policies=replace(world.policies, exceptions=(exception,)))


def test_what_was_excepted_then_counts_as_covered() -> None:
    world = with_exception(WORLD, date(2026, 12, 31))
    found = evidence(world)
    found.add_request(asked(1, world=world))
    assert found.requests.fates == {Fate.EXCEPTED: 1}


def test_what_todays_policies_do_not_find_any_more_is_told_apart() -> None:
    milder = setup(policy(GRACE.replace("60", "10")))
    strict = evidence(milder)
    job = gpu_job()
    pod_spec(job)["terminationGracePeriodSeconds"] = 30
    entry = recorded(WORLD, job, now=NOW - timedelta(days=1))
    entry = replace(entry, entry=replace(entry.entry, findings=tuple(replace(f, fixed_by="") for f in entry.entry.findings)))
    strict.add_request(entry)
    assert strict.requests.fates == {Fate.PASSES: 1}


def test_without_its_object_a_request_counts_as_it_was_found() -> None:
    entry = asked(1)
    found = evidence(setup(policy(f"inject: {{terminationGracePeriodSeconds: 300}}\n{GRACE}")))
    found.add_request(replace(entry, documents=replace(entry.documents, object=None)))
    assert found.requests.fates == {Fate.REFUSED: 1}


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        (replace(PLENTY, covered_days=2.0), "the ledger covers 2.0 of 14 days, 7 is the least"),
        (replace(PLENTY, requests=3), "3 requests seen, 50 is the least"),
    ],
)
def test_of_too_little_nothing_is_said(seen: Seen, says: str) -> None:
    assert verdict_on(evidence(seen=seen)) == (Verdict.TOO_LITTLE, (says,))


def test_what_could_not_be_judged_is_no_success() -> None:
    found = evidence()
    found.add_standing([standing("a", not_judged=(NotJudged(RULE, Mode.AUDIT, "not known: x"),))])
    assert verdict_on(found) == (Verdict.TOO_LITTLE, ("of 1 request or workload it could not be judged",))
    assert found.unknown == {"not known: x": 1}
    found.unread = 2
    assert verdict_on(found)[1][0] == "of the cluster 2 things could not be read"


def test_a_rule_that_fails_itself_is_not_ready() -> None:
    found = evidence()
    found.add_standing([standing("a", finding(Result.ERROR))])
    assert verdict_on(found) == (Verdict.NOT_YET, ("the rule itself failed 1 time",))


@pytest.mark.parametrize(
    ("ages", "trend"),
    [
        ((), "none"),
        ((1, 1.5, 2, 10), "rising"),
        ((1, 9, 10, 11), "falling"),
        ((1, 2, 3, 4, 8, 9, 10, 11), "level"),
    ],
)
def test_the_trend_compares_the_two_halves(ages: tuple[float, ...], trend: str) -> None:
    found = evidence()
    for number, age in enumerate(ages):
        found.add_request(asked(age, name=f"job-{number}"))
    assert found.trend == trend


def test_there_is_no_trend_where_half_of_the_time_is_not_covered() -> None:
    found = evidence(seen=replace(PLENTY, covered_days=8))
    found.add_request(asked(1))
    assert found.trend == "not known"


def test_each_team_gets_its_own_list_the_most_accelerators_first() -> None:
    found = evidence()
    for day in (1, 2, 3):
        found.add_request(asked(day, "often", team="nlp"))
    found.add_request(asked(1, "once", user="bob"))
    found.add_standing([standing("often", finding(), team="nlp"), standing("huge", finding(), accelerators=Asked(64))])
    lists = by_team(found.blocked.values())
    assert {team: [one.name for one in blocked] for team, blocked in lists.items()} == {
        "research": ["huge", "once"],
        "nlp": ["often"],
    }
    (often,) = lists["nlp"]
    assert (often.requests, often.users, often.standing, often.accelerators) == (3, {"ann": 3}, True, 8)
    assert often.last == NOW - timedelta(days=1)
    assert often.fixed_by == "termination-grace"


def test_the_list_is_bounded_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("signalbox.audit.readiness._MOST_BLOCKED", 2)
    found = evidence()
    found.add_standing([standing(f"job-{number}", finding()) for number in range(5)])
    assert (len(found.blocked), found.more_blocked) == (2, 3)


def test_what_else_to_know_is_told() -> None:
    found = evidence(seen=replace(PLENTY, allowed_recorded=False))
    entry = asked(1)
    found.add_request(entry)
    found.add_request(replace(entry, entry=replace(entry.entry, digest="other")))
    assert notes_on(found) == (
        "the cluster was not looked at: what stands there is not known",
        "requests that found nothing are not in the ledger, so how many there were is not known",
        "the policies changed in that time: 2 sets were in force",
    )
