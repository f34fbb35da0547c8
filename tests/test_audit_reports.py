"""Report objects: one a workload with findings, written when something changed, gone when the finding is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from signalbox.apiserver.error import ApiError
from signalbox.audit.live import live_items
from signalbox.audit.reports.kinds import OPEN_REPORT, POLICY_REPORT, ReportKind, report_kinds
from signalbox.audit.reports.report import LEFT_OUT, build_report
from signalbox.audit.reports.writer import ReportCounts, ReportLimits, ReportWriter
from signalbox.audit.scan import Scan
from tests.audit_world import GRACE, SMALL, Manifest, deployment, job, subject_of
from tests.fake_api_server import FakeApiServer
from tests.world import NOW, policy, setup

WARNS = policy("rules:\n- {name: tag, check: image-tag, mode: warn}", "images")


def install(fake: FakeApiServer, *kinds: ReportKind) -> None:
    for kind in kinds or (OPEN_REPORT,):
        fake.install(kind.group, kind.version, kind.plural, kind.kind)


def run(fake: FakeApiServer, *policies: str, limits: ReportLimits | None = None, later: int = 0) -> ReportCounts:
    """One scan of everything, with its reports."""
    by = setup(*policies)
    now = NOW + timedelta(minutes=later)
    scan = Scan(by, now, passes=True)
    writer = ReportWriter(fake.api(), report_kinds(fake.api()), now, limits, sleep=lambda _: None)
    writer.read()
    for subject in scan.subjects(live_items(fake.api(), by)):
        writer.add(subject)
    writer.finish(scan.summary().incomplete)
    return writer.counts


def reports(fake: FakeApiServer, kind: str = "Report") -> dict[str, Manifest]:
    return {name: obj for (found, _, name), obj in fake.objects.items() if found.name == kind}


def result_of(report: Manifest, rule: str) -> Manifest:
    return next(one for one in report["results"] if one["rule"] == rule)


def test_a_workload_with_a_finding_has_a_report_that_goes_with_it() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run", metadata={"labels": {"workload.ai/team": "nlp"}}))
        counts = run(fake, SMALL, GRACE)
        (report,) = reports(fake).values()
    assert (counts.written, counts.failed) == (1, 0)
    metadata = report["metadata"]
    assert metadata["name"] == "signalbox-job-research-run"
    assert metadata["ownerReferences"] == [{"apiVersion": "batch/v1", "kind": "Job", "name": "run", "uid": "job-research-run"}]
    assert metadata["labels"] == {"app.kubernetes.io/managed-by": "signalbox"}
    assert report["source"] == "signalbox"
    assert report["scope"]["uid"] == "job-research-run"
    assert report["summary"] == {"pass": 0, "fail": 2, "warn": 0, "error": 0, "skip": 0}
    small = result_of(report, "small")
    assert (small["policy"], small["result"], small["severity"], small["category"]) == (
        "limits",
        "fail",
        "high",
        "accelerator-limit",
    )
    assert small["timestamp"] == {"seconds": int(NOW.timestamp()), "nanos": 0}
    about = {name: small["properties"][name] for name in ("accelerators", "team", "mode", "type")}
    assert about == {"accelerators": "8", "team": "nlp", "mode": "enforce", "type": "distributed-training"}
    assert result_of(report, "grace")["properties"]["fixedBy"] == "termination-grace"
    assert result_of(report, "grace")["severity"] == "medium"


def test_rules_that_looked_and_found_nothing_pass() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL, WARNS)
        (report,) = reports(fake).values()
    assert report["summary"]["pass"] == 1
    assert result_of(report, "tag")["result"] == "pass"


def test_a_workload_in_which_nothing_is_found_has_no_report() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run", 2))
        assert run(fake, SMALL) == ReportCounts()
        assert not reports(fake)


def test_excepted_and_not_judged_rules_are_skipped_and_an_expression_without_a_value_is_an_error() -> None:
    excepted = """
apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: big}
spec: {rules: [limits/small], match: {namespaces: [research]}, until: 2027-01-31, reason: r, approvedBy: a}
"""
    interns = policy(
        "match: {users: [ada]}\nrules:\n- {name: u, check: accelerator-limit, with: {maxTotal: 1}, mode: warn}", "who"
    )
    broken = policy("rules:\n- {name: c, cel: object.spec.nothing > 2, message: m, mode: audit}", "cel")
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL, excepted, interns, broken)
        (report,) = reports(fake).values()
    assert report["summary"] == {"pass": 0, "fail": 0, "warn": 0, "error": 1, "skip": 2}
    assert result_of(report, "small")["properties"]["exceptedBy"] == "big"
    assert result_of(report, "u")["message"] == "not judged: not known: the user who asks"


def test_nothing_is_written_when_nothing_changed() -> None:
    with FakeApiServer() as fake:
        install(fake)
        for number in range(5):
            fake.put(job(f"run-{number}"))
        run(fake, SMALL)
        before = {name: obj["metadata"]["resourceVersion"] for name, obj in reports(fake).items()}
        counts = run(fake, SMALL, later=10)
        assert {name: obj["metadata"]["resourceVersion"] for name, obj in reports(fake).items()} == before
    assert (counts.unchanged, counts.written) == (5, 0)


def test_a_changed_finding_is_written_anew() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL)
        counts = run(fake, SMALL.replace("mode: enforce", "mode: audit"), later=10)
        (report,) = reports(fake).values()
    assert counts.written == 1
    assert result_of(report, "small")["severity"] == "low"
    assert result_of(report, "small")["timestamp"]["seconds"] == int(NOW.timestamp()) + 600


@pytest.mark.parametrize("gone", ["subject", "rule", "finding"])
def test_a_report_goes_when_its_workload_its_rule_or_its_finding_does(gone: str) -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        fake.put(job("other"))
        run(fake, SMALL)
        if gone == "subject":
            fake.remove("Job", "run", "research")
        elif gone == "finding":
            fake.put(job("run", 1))
        counts = run(fake, *(() if gone == "rule" else (SMALL,)))
        left = set(reports(fake))
    assert left == (set() if gone == "rule" else {"signalbox-job-research-other"})
    assert counts.deleted == (2 if gone == "rule" else 1)


def test_reports_of_a_kind_that_could_not_be_read_stay() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        fake.put(deployment("web", 8))
        run(fake, SMALL)
        fake.fail(403, path="/jobs?")
        fake.remove("Deployment", "web", "research")
        run(fake, SMALL)
        assert set(reports(fake)) == {"signalbox-job-research-run"}


def test_no_report_goes_when_the_kinds_of_the_cluster_are_not_known() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL)
        by = setup(SMALL)
        writer = ReportWriter(fake.api(), (OPEN_REPORT,), NOW, sleep=lambda _: None)
        writer.read()
        fake.fail(500, times=99, path="/apis")
        scan = Scan(by, NOW)
        assert not list(scan.subjects(live_items(fake.api(), by)))
        fake.faults.clear()
        writer.finish(scan.summary().incomplete)
        assert reports(fake)


def test_policy_reports_are_written_where_only_they_are_there() -> None:
    with FakeApiServer() as fake:
        install(fake, POLICY_REPORT)
        fake.put(job("run"))
        run(fake, SMALL)
        (report,) = reports(fake, "PolicyReport").values()
        assert report["apiVersion"] == "wgpolicyk8s.io/v1alpha2"
        # This kind has no such field at the top: it would be pruned.
        assert "source" not in report
        assert report["results"][0]["source"] == "signalbox"


def test_old_policy_reports_of_ours_go_once_open_reports_are_there_and_others_stay() -> None:
    theirs = {
        "apiVersion": "wgpolicyk8s.io/v1alpha2",
        "kind": "PolicyReport",
        "metadata": {"name": "theirs", "namespace": "research", "labels": {"app.kubernetes.io/managed-by": "kyverno"}},
    }
    with FakeApiServer() as fake:
        install(fake, POLICY_REPORT)
        fake.put(job("run"))
        run(fake, SMALL)
        fake.put(theirs)
        install(fake, OPEN_REPORT)
        run(fake, SMALL)
        assert set(reports(fake)) == {"signalbox-job-research-run"}
        assert set(reports(fake, "PolicyReport")) == {"theirs"}


def test_which_kind_there_is() -> None:
    with FakeApiServer() as fake:
        assert report_kinds(fake.api()) == ()
        install(fake, POLICY_REPORT)
        assert report_kinds(fake.api()) == (POLICY_REPORT,)
        install(fake, OPEN_REPORT)
        assert report_kinds(fake.api()) == (OPEN_REPORT, POLICY_REPORT)


def test_results_beyond_the_bound_are_counted_and_told() -> None:
    rules = "".join(
        f"- {{name: r{number:02}, check: accelerator-limit, with: {{maxTotal: 4}}, mode: audit}}\n" for number in range(30)
    )
    subject = subject_of(job("run"), policy(f"rules:\n{rules}", "many"))
    report = build_report(subject, OPEN_REPORT, NOW, 10)
    assert len(report["results"]) == 10
    assert report["summary"]["fail"] == 30
    assert report["metadata"]["annotations"][LEFT_OUT] == "20"


def test_there_are_never_more_reports_than_the_bound_and_that_is_counted() -> None:
    with FakeApiServer() as fake:
        install(fake)
        for number in range(8):
            fake.put(job(f"run-{number}"))
        limits = ReportLimits(reports=5)
        counts = run(fake, SMALL, limits=limits)
        assert (counts.written, counts.over_limit, len(reports(fake))) == (5, 3, 5)
        fake.remove("Job", "run-0", "research")
        run(fake, SMALL, limits=limits)
        assert run(fake, SMALL, limits=limits).over_limit == 2
        assert len(reports(fake)) == 5


def test_writes_of_one_run_are_bounded_and_the_next_goes_on() -> None:
    with FakeApiServer() as fake:
        install(fake)
        for number in range(8):
            fake.put(job(f"run-{number}"))
        limits = ReportLimits(writes=5)
        assert run(fake, SMALL, limits=limits).postponed == 3
        counts = run(fake, SMALL, limits=limits)
        assert (counts.written, counts.unchanged, counts.postponed) == (3, 5, 0)


@pytest.mark.parametrize("status", [403, 409, 500])
def test_a_write_that_is_refused_ends_nothing_and_is_done_by_the_next_run(status: int) -> None:
    with FakeApiServer() as fake:
        install(fake)
        for name in ("a", "b"):
            fake.put(job(name))
        fake.fail(status, verb="POST", path="reports")
        counts = run(fake, SMALL)
        assert (counts.written, counts.failed, counts.postponed) == (1, int(status != 409), int(status == 409))
        assert run(fake, SMALL).written == 1


def test_a_server_that_refuses_every_write_is_not_asked_for_each_workload() -> None:
    with FakeApiServer() as fake:
        install(fake)
        for number in range(50):
            fake.put(job(f"run-{number}"))
        fake.fail(403, times=999, verb="POST", path="reports")
        counts = run(fake, SMALL)
        assert fake.count("POST", "reports") == 10
    assert (counts.failed, counts.postponed, counts.error) == (10, 40, "as the test wants it")


def test_two_leaders_for_a_moment_do_no_harm() -> None:
    with FakeApiServer() as fake:
        install(fake)
        for number in range(4):
            fake.put(job(f"run-{number}"))
        by = setup(SMALL)
        writers = [ReportWriter(fake.api(), (OPEN_REPORT,), NOW, sleep=lambda _: None) for _ in range(2)]
        for writer in writers:
            writer.read()
        subjects = list(Scan(by, NOW).subjects(live_items(fake.api(), by)))
        for subject in subjects:
            for writer in writers:
                writer.add(subject)
        for writer in writers:
            writer.finish(())
        assert len(reports(fake)) == 4
    assert [writer.counts.failed for writer in writers] == [0, 0]


def test_a_report_that_somebody_changed_meanwhile_is_left_to_the_next_run() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL)
        writer = ReportWriter(fake.api(), (OPEN_REPORT,), NOW, sleep=lambda _: None)
        writer.read()
        (report,) = reports(fake).values()
        fake.put({**report, "summary": {}})
        writer.add(subject_of(job("run"), SMALL.replace("enforce", "warn")))
        assert writer.counts.postponed == 1
        assert reports(fake)["signalbox-job-research-run"]["summary"] == {}


def test_reports_that_may_not_be_listed_raise() -> None:
    with FakeApiServer() as fake:
        install(fake)
        fake.fail(403, path="/reports?")
        writer = ReportWriter(fake.api(), (OPEN_REPORT,), NOW)
        with pytest.raises(ApiError):
            writer.read()


@pytest.mark.parametrize("odd", [None, 7, "x", [], {}], ids=repr)
def test_a_report_of_odd_shape_under_our_label_is_put_right(odd: Any) -> None:
    labels = {"app.kubernetes.io/managed-by": "signalbox"}
    with FakeApiServer() as fake:
        install(fake)
        fake.put(job("run"))
        run(fake, SMALL)
        (report,) = reports(fake).values()
        metadata = {**report["metadata"], "annotations": odd, "labels": labels}
        fake.put({"apiVersion": report["apiVersion"], "kind": "Report", "metadata": metadata, "scope": odd, "results": odd})
        run(fake, SMALL)
        (mended,) = reports(fake).values()
    assert mended["summary"]["fail"] == 1
