"""manifests/monitoring: alerts and dashboard ask for metrics that exist, by labels that they have, and lead to a runbook."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import promql_parser
import pytest
import yaml

from signalbox.finding import Result
from signalbox.policy.mode import MODE_WORDS
from signalbox.server.metrics import Decision, Endpoint
from tests.code_facts import metrics
from tests.server_process import running

ROOT = Path(__file__).parent.parent
MONITORING = ROOT / "manifests" / "monitoring"
PAGE = ROOT / "docs" / "operations.md"

# The API server's own; tests/e2e asks a real one whether it has them.
EXTERNAL = {
    "apiserver_admission_webhook_rejection_count": {"name", "type", "operation", "error_type", "rejection_code"},
    "apiserver_admission_webhook_fail_open_count": {"name", "type"},
    "apiserver_admission_webhook_admission_duration_seconds_bucket": {"name", "type", "operation", "rejected", "le"},
}
# Added by whoever scrapes.
SCRAPED = {"namespace", "pod", "container", "job", "instance"}
VALUES = {
    "decision": {*get_args(Decision), "bad-request"},
    "endpoint": set(get_args(Endpoint)),
    "operation": {"CREATE", "UPDATE", "DELETE", "CONNECT"},
    "mode": set(MODE_WORDS),
    "result": {*(result.value for result in Result), "ok", "bad", "failed"},
}


def labels_of() -> dict[str, set[str]]:
    """The labels of each name that an expression may hold."""
    found = dict(EXTERNAL)
    for metric in metrics().values():
        for sample in metric.samples:
            found[sample] = set(metric.labels) | ({"le"} if sample.endswith("_bucket") else set())
    return found


def alerts() -> list[dict[str, Any]]:
    rule = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def expressions() -> Iterator[tuple[str, str]]:
    yield from ((alert["alert"], alert["expr"]) for alert in alerts())
    for panel in panels():
        # Grafana puts a duration there.
        yield from ((panel["title"], target["expr"].replace("$__rate_interval", "5m")) for target in panel["targets"])


@pytest.mark.parametrize(("title", "expression"), list(expressions()))
def test_every_expression_asks_for_metrics_that_exist_by_labels_they_have(title: str, expression: str) -> None:
    known = labels_of()
    selectors = _selectors(promql_parser.parse(expression))
    assert selectors, "it asks for nothing"
    for selector in selectors:
        assert selector.name in known, f"{selector.name} is no metric"
        for matcher in selector.matchers.matchers:
            assert matcher.name in known[selector.name] | SCRAPED, f"{selector.name} has no label {matcher.name}"
            if matcher.name in VALUES:
                assert set(matcher.value.split("|")) <= VALUES[matcher.name], f"{matcher.name} is never {matcher.value}"
    available = set.union(*(known[selector.name] for selector in selectors)) | SCRAPED
    for grouping in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
        assert set(grouping.split(", ")) <= available, f"grouped by {grouping}"


def _selectors(expression: Any) -> list[Any]:
    found: list[Any] = []
    promql_parser.walk(expression, found.append)
    return [node for node in found if isinstance(node, promql_parser.VectorSelector)]


def test_a_metric_that_does_not_exist_would_be_seen() -> None:
    parsed = promql_parser.parse("histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m]))) > 0 unless absent(b == 1) or (c)")
    assert [selector.name for selector in _selectors(parsed)] == ["a_bucket", "b", "c"]


def test_every_alert_says_how_bad_it_is_since_when_and_where_to_read_on() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert len(set(names)) == len(names)
    anchors = {_anchor(title) for title in re.findall(r"^#+ (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)}
    for alert in alerts():
        assert set(alert) == {"alert", "expr", "for", "labels", "annotations"}, alert["alert"]
        assert alert["labels"]["severity"] in ("critical", "warning")
        assert set(alert["annotations"]) == {"summary", "description", "runbook_url"}
        page, _, anchor = alert["annotations"]["runbook_url"].partition("#")
        assert (page, anchor in anchors) == ("docs/operations.md", True), f"{alert['alert']}: {anchor}"


def test_every_alert_stands_in_the_section_it_leads_to() -> None:
    sections = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    named = {_anchor(section.partition("\n")[0]): set(re.findall(r"\bSignalbox[A-Z]\w+", section)) for section in sections}
    for alert in alerts():
        assert alert["alert"] in named[alert["annotations"]["runbook_url"].partition("#")[2]], alert["alert"]
    assert set.union(*named.values()) == {alert["alert"] for alert in alerts()}


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_every_alert_has_a_reason_above_it() -> None:
    lines = (MONITORING / "alerts.yaml").read_text().splitlines()
    for number, line in enumerate(lines):
        if line.strip().startswith("- alert:"):
            assert lines[number - 1].strip().startswith("# "), line


def test_labels_in_the_texts_of_an_alert_are_those_its_expression_leaves() -> None:
    for alert in alerts():
        kept = set(", ".join(re.findall(r"\bby \(([^)]*)\)", alert["expr"])).split(", "))
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(alert["annotations"].values())))
        assert used <= kept, alert["alert"]


def test_panels_of_the_dashboard_do_not_overlap_and_have_each_a_number() -> None:
    found = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in found}) == len(found)
    taken: set[tuple[int, int]] = set()
    for panel in found:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_the_monitor_finds_the_pods_of_both_deployments_and_their_port() -> None:
    monitor = yaml.safe_load((MONITORING / "podmonitor.yaml").read_text())
    [expression] = monitor["spec"]["selector"]["matchExpressions"]
    [endpoint] = monitor["spec"]["podMetricsEndpoints"]
    found = []
    for path in sorted((ROOT / "manifests" / "base").glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if document and document["kind"] == "Deployment":
                template = document["spec"]["template"]
                found.append(template["metadata"]["labels"][expression["key"]])
                assert endpoint["port"] in [port["name"] for port in template["spec"]["containers"][0]["ports"]]
    assert sorted(found) == sorted(expression["values"])


def test_what_serve_shows_is_what_the_code_says(tmp_path: Path) -> None:
    with running(tmp_path) as webhook:
        webhook.judge(refuse="yes")
        page = webhook.metrics()
    shown = _shown(page)
    known = {name: metric.type for name, metric in metrics().items()}
    assert {name: known.get(name) for name in shown} == shown
    assert {name for name, metric in metrics().items() if "server/metrics.py" in metric.modules} <= set(shown)
    # Prometheus sees no increase in a series that begins at 1.
    assert 'signalbox_errors_total{where="engine"} 0.0' in page


def _shown(text: str) -> dict[str, str]:
    """Name and type of each metric on a page of them."""
    return dict(re.findall(r"^# TYPE (signalbox_\w+) (\w+)$", text, re.MULTILINE))
