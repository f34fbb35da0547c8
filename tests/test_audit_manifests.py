"""What the controller's scan is allowed to do is what it does, and nothing more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from signalbox.audit.kept_scan import CONFIG_MAP
from signalbox.audit.reports.kinds import OPEN_REPORT, POLICY_REPORT
from signalbox.cluster.resources import WATCHED
from signalbox.last_good import CONFIG_MAP as LAST_GOOD
from signalbox.policy.resources import GROUP, PLURALS
from signalbox.workload.kinds.table import KINDS

BASE = Path(__file__).parents[1] / "manifests" / "base"
Granted = dict[tuple[str, str], set[str]]


def rules(kind: str) -> list[dict[str, Any]]:
    documents = list(yaml.safe_load_all((BASE / "scan-access.yaml").read_text()))
    return [rule for one in documents if one["kind"] == kind for rule in one["rules"]]


def granted(kind: str) -> Granted:
    found: Granted = {}
    for rule in rules(kind):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def test_the_scan_may_list_what_it_lists_and_write_reports_alone() -> None:
    # The API's own way to make a plural, which every kind that is known follows.
    listed = {(group, f"{kind.lower()}s") for group, kind in KINDS}
    listed |= {(kind.group, kind.plural) for kind in WATCHED}
    listed |= {(GROUP, plural) for plural in PLURALS.values()}
    written = {(kind.group, kind.plural) for kind in (OPEN_REPORT, POLICY_REPORT)}
    assert granted("ClusterRole") == {
        **{key: {"list"} for key in listed},
        **{key: {"list", "create", "update", "delete"} for key in written},
    }


def test_of_config_maps_it_may_touch_its_own() -> None:
    named = {(name, verb) for rule in rules("Role") for name in rule.get("resourceNames", ()) for verb in rule["verbs"]}
    assert named == {(CONFIG_MAP, "get"), (CONFIG_MAP, "update"), (LAST_GOOD, "get")}
    assert [rule["verbs"] for rule in rules("Role") if "resourceNames" not in rule] == [["create"]]


def test_it_is_part_of_what_is_installed() -> None:
    assert "scan-access.yaml" in yaml.safe_load((BASE / "kustomization.yaml").read_text())["resources"]
