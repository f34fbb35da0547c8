"""A webhook configuration that somebody deleted or loosened: told, and left as it is."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from signalbox.controller.webhooks.deviations import deviations
from signalbox.controller.webhooks.duty import ConfigurationDuty
from signalbox.controller.webhooks.shipped import Shipped, ShippedError, read_shipped
from signalbox.process.logs import Log
from tests.fake_api_server import FakeApiServer

MUTATING, VALIDATING = (next(one for one in read_shipped() if one.kind.startswith(kind)) for kind in ("Mutating", "Validating"))
NOW = datetime(2026, 11, 1, tzinfo=UTC)
# What a real API server writes into an entry that does not say it.
FILLED_IN = {"matchPolicy": "Equivalent", "objectSelector": {}, "timeoutSeconds": 5}


def installed(shipped: Shipped) -> dict[str, Any]:
    """As the API server gives it back."""
    webhooks = [{**FILLED_IN, **copy.deepcopy(one)} for one in shipped.webhooks]
    for webhook in webhooks:
        webhook["clientConfig"]["caBundle"] = "eA=="
    api_version, metadata = "admissionregistration.k8s.io/v1", {"name": shipped.name}
    return {"apiVersion": api_version, "kind": shipped.kind, "metadata": metadata, "webhooks": webhooks}


def told(change: Callable[[dict[str, Any]], Any], shipped: Shipped = VALIDATING, **settings: bool) -> list[str]:
    """What is said of a configuration whose first entry was changed."""
    found = installed(shipped)
    change(found["webhooks"][0])
    return [one.text for one in deviations(shipped, found, **settings)]


@pytest.mark.parametrize("shipped", read_shipped(), ids=lambda one: one.name)
def test_a_configuration_as_shipped_is_no_deviation(shipped: Shipped) -> None:
    assert deviations(shipped, installed(shipped)) == []


def _drop_rules(webhook: dict[str, Any]) -> None:
    webhook["rules"] = [rule for rule in webhook["rules"] if rule["apiGroups"] != ["apps"]]


def _drop_update(webhook: dict[str, Any]) -> None:
    webhook["rules"][1]["operations"] = ["CREATE"]


def _narrow_versions(webhook: dict[str, Any]) -> None:
    next(rule for rule in webhook["rules"] if rule["apiGroups"] == ["jobset.x-k8s.io"])["apiVersions"] = ["v1alpha1"]


def _exempt_everybody(webhook: dict[str, Any]) -> None:
    webhook["matchConditions"].append({"name": "nobody", "expression": "false"})


def _soften(webhook: dict[str, Any]) -> None:
    webhook["matchConditions"][0]["expression"] = "false"


NAME = "validate.policy.workload.ai"
LOOSENED: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (lambda one: one.update(failurePolicy="Ignore"), f"{NAME}: failurePolicy is Ignore, shipped: Fail"),
    (lambda one: one.update(timeoutSeconds=1), f"{NAME}: timeoutSeconds is 1, shipped: 5"),
    (
        lambda one: one.update(objectSelector={"matchLabels": {"a": "b"}}),
        f'{NAME}: objectSelector is {{"matchLabels":{{"a":"b"}}}}, shipped: {{}}',
    ),
    (lambda one: one.update(matchPolicy="Exact"), f"{NAME}: matchPolicy is Exact, shipped: Equivalent"),
    (lambda one: one.pop("namespaceSelector"), f"{NAME}: namespaceSelector is {{}}, shipped: "),
    (_drop_rules, f"{NAME}: rules lack CREATE of daemonsets.apps, CREATE of deployments.apps, "),
    (_drop_update, f"{NAME}: rules lack UPDATE of cronjobs.batch, UPDATE of jobs.batch"),
    (_narrow_versions, f"{NAME}: rules lack CREATE of jobsets.jobset.x-k8s.io in *, UPDATE of jobsets.jobset.x-k8s.io in *"),
    (_exempt_everybody, f"{NAME}: matchConditions have nobody, not shipped"),
    (lambda one: one.pop("matchConditions"), f"{NAME}: matchConditions lack "),
    (_soften, f"{NAME}: matchConditions: kueue-is-never-judged is another expression than shipped"),
    (
        lambda one: one["clientConfig"]["service"].update(namespace="elsewhere"),
        f"{NAME}: clientConfig.service.namespace is elsewhere, shipped: signalbox-system",
    ),
    (lambda one: one.update(clientConfig={"url": "https://x"}), f"{NAME}: clientConfig.service.namespace is null, shipped: "),
    (lambda one: one.update(name="other.policy.workload.ai"), f"{NAME} is missing in ValidatingWebhookConfiguration signalbox"),
]


@pytest.mark.parametrize(("change", "text"), LOOSENED, ids=[text.partition(": ")[2][:40] or "missing" for _, text in LOOSENED])
def test_what_was_loosened_is_told(change: Callable[[dict[str, Any]], Any], text: str) -> None:
    assert told(change)[0].startswith(text)


def test_the_same_rules_written_in_another_way_are_no_deviation() -> None:
    def split(webhook: dict[str, Any]) -> None:
        webhook["rules"] = [
            {**rule, "operations": [operation], "resources": [resource]}
            for rule in reversed(webhook["rules"])
            for operation in rule["operations"]
            for resource in rule["resources"]
        ]

    assert told(split) == []


def test_another_port_is_no_deviation() -> None:
    assert told(lambda one: one["clientConfig"]["service"].update(port=8443)) == []


def test_a_configuration_that_is_gone_is_told() -> None:
    [one] = deviations(MUTATING, None)
    assert one.text == "MutatingWebhookConfiguration 00-signalbox is not there: nothing of it is asked of us"


def test_the_overlay_audit_only_loosens_what_it_says_and_no_more() -> None:
    def open_all(webhook: dict[str, Any]) -> None:
        webhook["failurePolicy"] = "Ignore"

    assert told(open_all, fails_open=True) == []
    assert deviations(MUTATING, None, fails_open=True) == []
    assert len(deviations(VALIDATING, None, fails_open=True)) == 1
    assert told(_exempt_everybody, fails_open=True)[1:] == [f"{NAME}: matchConditions have nobody, not shipped"]


@pytest.mark.parametrize("junk", [None, 3, "x", [], [None], {}, [{"name": []}], [{"rules": 3, "matchConditions": "x"}]])
@pytest.mark.parametrize("place", ["webhooks", "rules", "matchConditions", "clientConfig", "namespaceSelector", "name"])
def test_a_configuration_with_anything_in_it_is_told(place: str, junk: Any) -> None:
    found = installed(VALIDATING)
    if place == "webhooks":
        found["webhooks"] = junk
    else:
        found["webhooks"][0][place] = junk
    assert deviations(VALIDATING, found)


@pytest.fixture
def fake() -> Iterator[FakeApiServer]:
    with FakeApiServer() as server:
        for one in (MUTATING, VALIDATING):
            server.put(installed(one))
        yield server


def duty(fake: FakeApiServer, leading: bool = True) -> tuple[ConfigurationDuty, CollectorRegistry]:
    registry = CollectorRegistry()
    made = ConfigurationDuty(fake.api(), (MUTATING, VALIDATING), Log("info"), lambda: leading, False, 10.0)
    registry.register(made)
    return made, registry


GAUGE = "signalbox_webhook_configuration_deviations"


def test_a_loosened_configuration_is_told_once_by_log_and_metric_and_not_put_back(
    fake: FakeApiServer, capfd: pytest.CaptureFixture[str]
) -> None:
    one, registry = duty(fake)
    one.run(NOW)
    assert registry.get_sample_value(GAUGE, {"configuration": "signalbox", "webhook": "", "field": ""}) == 0
    loosened = installed(VALIDATING)
    loosened["webhooks"][0]["failurePolicy"] = "Ignore"
    fake.put(loosened)
    for _ in range(3):
        one.run(NOW)
    labels = {"configuration": "signalbox", "webhook": NAME, "field": "failurePolicy"}
    assert registry.get_sample_value(GAUGE, labels) == 1
    fake.put(installed(VALIDATING))
    one.run(NOW)
    assert registry.get_sample_value(GAUGE, labels) is None
    texts = [json.loads(line).get("text") for line in capfd.readouterr().err.splitlines()]
    assert texts == [f"{NAME}: failurePolicy is Ignore, shipped: Fail", None]
    assert {verb for verb, _ in fake.requests} == {"GET"}


def test_a_deleted_configuration_is_told_and_not_put_back(fake: FakeApiServer) -> None:
    one, registry = duty(fake)
    fake.remove("MutatingWebhookConfiguration", "00-signalbox")
    one.run(NOW)
    assert registry.get_sample_value(GAUGE, {"configuration": "00-signalbox", "webhook": "", "field": ""}) == 1
    assert fake.object("MutatingWebhookConfiguration", "00-signalbox") is None


def test_who_does_not_lead_shows_nothing_of_what_it_once_saw(fake: FakeApiServer) -> None:
    one, registry = duty(fake, leading=False)
    one.run(NOW)
    assert f"{GAUGE}{{" not in generate_latest(registry).decode()


def test_a_file_that_is_no_configuration_says_so(tmp_path: Any) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ShippedError, match=r"x\.yaml"):
        read_shipped(tmp_path / "x.yaml")
