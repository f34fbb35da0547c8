"""The status of a policy object: whether workloads are judged by it, and why not."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from signalbox.apiserver.error import ApiError
from signalbox.configuration import load_setup_files
from signalbox.controller.duty import DutyContext
from signalbox.controller.last_good import LastGoodDuty
from signalbox.controller.options import ControllerOptions
from signalbox.controller.policies import PresentPolicies
from signalbox.controller.policy_status import PolicyStatusDuty, status_of
from signalbox.last_good import CONFIG_MAP
from signalbox.policy_objects import with_objects
from signalbox.process.logs import Log

from .fake_api_server import FakeApiServer
from .policy_samples import exception, files, install, lab_kind, policy, signs

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as started:
        yield install(started)


@pytest.fixture
def context(fake: FakeApiServer) -> DutyContext:
    return DutyContext(fake.api(), ControllerOptions(), Log("info"), CollectorRegistry(), lambda: True, threading.Event())


@pytest.fixture
def present(context: DutyContext, tmp_path: Path) -> PresentPolicies:
    (tmp_path / "base.yaml").write_text(json.dumps({**policy("base"), "metadata": {"name": "base"}}))
    return PresentPolicies(context.api, (tmp_path,))


@pytest.fixture
def duty(context: DutyContext, present: PresentPolicies) -> PolicyStatusDuty:
    return PolicyStatusDuty(context, present)


def status(fake: FakeApiServer, name: str = "research", kind: str = "WorkloadPolicy") -> dict[str, Any]:
    found = fake.object(kind, name)
    assert found is not None
    written: dict[str, Any] = found.get("status", {})
    return written


def test_what_is_in_force_says_so(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    for obj in (policy(), exception(), signs("mine", "spell", "training"), lab_kind()):
        fake.put(obj)
    duty.run(NOW)
    policy_status = status(fake)
    digest = policy_status.pop("digest")
    assert policy_status == {"loaded": True, "problems": [], "observedGeneration": 3, "rules": 1, "modes": "1 enforce"}
    assert len(digest) == 12
    assert status(fake, "legacy", "PolicyException").keys() == {"loaded", "problems", "observedGeneration", "digest"}
    for name, kind in (("legacy", "PolicyException"), ("mine", "WorkloadSigns"), ("lab-run", "WorkloadKind")):
        assert status(fake, name, kind)["loaded"] is True


def test_what_is_wrong_is_told_in_the_words_of_lint(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy(precedance=1, mode="enforced"))
    duty.run(NOW)
    assert status(fake)["loaded"] is False
    assert status(fake)["problems"] == [
        'WorkloadPolicy research:6:3: spec.precedance: unknown key, did you mean "precedence"?',
        "WorkloadPolicy research:10:11: spec.rules[0].mode: unknown mode 'enforced', did you mean \"enforce\"?",
    ]


def test_an_object_that_a_file_has_already_says_so(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy("base"))
    duty.run(NOW)
    assert "WorkloadPolicy/base is defined at" in status(fake, "base")["problems"][0]


def test_a_warning_is_shown_and_the_object_counts(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy())
    fake.put(exception(until="2026-05-31"))
    duty.run(NOW)
    found = status(fake, "legacy", "PolicyException")
    assert found["loaded"] is True
    assert "warning: spec.until: this exception ended on 2026-05-31" in found["problems"][0]


def test_nothing_is_written_while_nothing_changes(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy())
    fake.put(exception())
    duty.run(NOW)
    duty.run(NOW)
    assert fake.count("PATCH", "/status") == 2
    fake.put(policy(mode="audit"))
    duty.run(NOW)
    assert fake.count("PATCH", "/status") == 3
    assert status(fake)["modes"] == "1 audit"


def test_the_same_policies_are_not_loaded_again_and_again(
    fake: FakeApiServer, duty: PolicyStatusDuty, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []

    def counted(*given: Any, **named: Any) -> Any:
        loads.append(given)
        return load_setup_files(*given, **named)

    monkeypatch.setattr("signalbox.controller.policy_status.load_setup_files", counted)
    fake.put(policy())
    for minutes in (0, 1, 2):
        duty.run(NOW + timedelta(minutes=minutes))
    assert len(loads) == 1
    fake.put(policy(mode="warn"))
    duty.run(NOW + timedelta(minutes=3))
    assert len(loads) == 2
    # An exception may be over by then.
    duty.run(NOW + timedelta(minutes=9))
    assert len(loads) == 3


def test_a_status_of_somebody_elses_is_written_over(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put({**policy(), "status": "all is well"})
    duty.run(NOW)
    assert status(fake)["loaded"] is True


def test_a_good_object_beside_a_bad_one_waits_and_says_for_what(
    fake: FakeApiServer, context: DutyContext, present: PresentPolicies, duty: PolicyStatusDuty
) -> None:
    """A server does not take a set with a fault: what was good before stays, and nothing new counts."""
    fake.put(policy("old"))
    LastGoodDuty(context, present).run(NOW)
    fake.put(policy("bad", mode="enforced"))
    fake.put(policy("new"))
    duty.run(NOW)
    assert status(fake, "old")["loaded"] is True
    assert status(fake, "new")["loaded"] is False
    assert status(fake, "new")["problems"] == [
        "not in force yet: the set before it stays until these are mended: WorkloadPolicy bad"
    ]


def test_an_object_made_worse_says_that_its_version_before_stays(
    fake: FakeApiServer, context: DutyContext, present: PresentPolicies, duty: PolicyStatusDuty
) -> None:
    fake.put(policy())
    LastGoodDuty(context, present).run(NOW)
    fake.put(policy(mode="enforced"))
    duty.run(NOW)
    assert status(fake)["loaded"] is False
    assert status(fake)["problems"][-1] == "its version before stays in force"


def test_without_a_last_good_set_the_bad_object_alone_is_left_out(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy("bad", mode="enforced"))
    fake.put(policy("new"))
    duty.run(NOW)
    assert (status(fake, "bad")["loaded"], status(fake, "new")["loaded"]) == (False, True)


def test_a_spoiled_last_good_set_is_logged_and_counts_as_none(
    fake: FakeApiServer, duty: PolicyStatusDuty, capfd: pytest.CaptureFixture[str]
) -> None:
    config_map = {"metadata": {"name": CONFIG_MAP, "namespace": "signalbox-system"}, "binaryData": {"x": "y"}}
    fake.put({"apiVersion": "v1", "kind": "ConfigMap", **config_map})
    fake.put(policy("bad", mode="enforced"))
    fake.put(policy("new"))
    duty.run(NOW)
    assert status(fake, "new")["loaded"] is True
    assert "last good policies not read" in capfd.readouterr().err


def test_one_object_that_cannot_be_written_does_not_keep_the_others_from_it(
    fake: FakeApiServer, duty: PolicyStatusDuty
) -> None:
    fake.put(policy("a"))
    fake.put(policy("b"))
    fake.fail(500, path="/a/status")
    with pytest.raises(ApiError):
        duty.run(NOW)
    assert status(fake, "a") == {}
    assert status(fake, "b")["loaded"] is True


def test_an_object_deleted_meanwhile_is_no_failure(fake: FakeApiServer, duty: PolicyStatusDuty) -> None:
    fake.put(policy())
    fake.fail(404, path="/research/status")
    duty.run(NOW)


def test_without_the_definitions_there_is_nothing_to_do(context: DutyContext, present: PresentPolicies) -> None:
    with FakeApiServer() as bare:
        PolicyStatusDuty(context, PresentPolicies(bare.api(), present.policies)).run(NOW)
        assert bare.count("PATCH", "") == 0


def test_a_status_stays_small_whatever_is_wrong() -> None:
    bad = policy()
    bad["spec"] |= {f"key{number}": "x" * 1000 for number in range(500)}
    loaded = load_setup_files(with_objects(files("a: b"), [bad]), now=NOW)
    found = status_of(bad, loaded, None)
    assert found["problems"][-1] == "and 480 more, which signalbox lint shows"
    assert len(json.dumps(found)) < 12_000


@pytest.mark.parametrize("rules", [None, "x", [None, 5, {"mode": ["x"]}, {"mode": "warn"}]])
def test_any_rules_can_be_counted(rules: Any) -> None:
    odd = policy()
    odd["spec"]["rules"] = rules
    found = status_of(odd, load_setup_files(with_objects(files("a: b"), [odd]), now=NOW), None)
    assert found["modes"] == ("1 warn" if isinstance(rules, list) else "")
