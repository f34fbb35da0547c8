"""A scan read back from the data that ``as_json`` makes of it: what was kept in a ConfigMap, or stands in a file."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from signalbox.audit.as_json import VERSION
from signalbox.audit.result import Asked, NotJudged, ScanError, ScanFinding, ScanSummary, Seen, Subject
from signalbox.audit.tally import GroupTally, RuleTally, Tally
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.review import JsonObject


class ScanJsonError(ValueError):
    """It is no scan of ours; the text says why."""


@dataclass(frozen=True, slots=True)
class KnownScan:
    """A scan as it was kept: its sums, and those of its workloads that had a place, the hardest hit first.

    ``children`` counts by uid; ``left_out`` are the workloads with findings that had no place.
    """

    summary: ScanSummary
    tally: Tally
    subjects: tuple[Subject, ...]
    children: Mapping[str, int]
    left_out: int = 0


def read_scan_json(scan: JsonObject) -> KnownScan:
    """The scan of ``scan_json`` with its ``workloads``. Raises ScanJsonError, whatever stands in it."""
    try:
        if scan["version"] != VERSION:
            raise ScanJsonError(f"the scan is of version {scan['version']}, this Signalbox reads {VERSION}")
        workloads = scan.get("workloads", [])
        return KnownScan(
            _summary(scan),
            _tally(scan),
            tuple(_subject(one) for one in workloads),
            {str(one["uid"]): int(one.get("children", 0)) for one in workloads},
            int(scan.get("workloadsLeftOut", 0)),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, ScanJsonError):
            raise
        raise ScanJsonError(f"the scan cannot be read: {type(error).__name__}: {error}") from None


def _summary(scan: JsonObject) -> ScanSummary:
    started = datetime.fromisoformat(scan["started"])
    objects = scan["objects"]
    return ScanSummary(
        started=started if started.tzinfo is not None else started.replace(tzinfo=UTC),
        seconds=float(scan["seconds"]),
        digest=str(scan["policyDigest"]),
        judged=_counts(objects["judged"]),
        children=_counts(objects["children"]),
        finished=_counts(objects["finished"]),
        errors=tuple(ScanError(str(one["what"]), str(one["text"])) for one in scan["errors"]),
        error_count=int(scan["errorCount"]),
        incomplete=frozenset(map(str, scan["incompleteKinds"])),
    )


def _tally(scan: JsonObject) -> Tally:
    accelerators = scan["accelerators"]
    rules = [_rule(one) for one in scan["rules"]]
    return Tally(
        total=_group(scan["total"]),
        rules={(one.rule, one.mode): one for one in rules},
        teams={one.name: one for one in map(_group, scan["teams"])},
        kinds={one.name: one for one in map(_group, scan["kinds"])},
        by_type={(str(one["team"]), str(one["type"])): float(one["accelerators"]) for one in accelerators["byTeamAndType"]},
        resources={str(name): float(amount) for name, amount in accelerators["byResource"].items()},
        reasons=Counter({(str(one["rule"]), str(one["reason"])): int(one["workloads"]) for one in scan["notJudged"]}),
        unknown_amounts=int(accelerators["workloadsOfUnknownAmount"]),
    )


def _rule(one: JsonObject) -> RuleTally:
    return RuleTally(
        str(one["rule"]),
        str(one["check"]),
        Mode.parse(one["mode"]),
        refused=int(one["refused"]),
        told=int(one["told"]),
        mended=int(one["mended"]),
        excepted=int(one["excepted"]),
        not_judged=int(one["notJudged"]),
        faults=int(one["faults"]),
        accelerators=float(one["accelerators"]),
    )


def _group(one: JsonObject) -> GroupTally:
    return GroupTally(
        str(one["name"]),
        int(one["workloads"]),
        float(one["accelerators"]),
        int(one["refused"]),
        float(one["refusedAccelerators"]),
        int(one["refusedIfEnforced"]),
        float(one["refusedIfEnforcedAccelerators"]),
    )


def _subject(one: JsonObject) -> Subject:
    asked = one["accelerators"]
    return Subject(
        api_version=str(one["apiVersion"]),
        kind=str(one["kind"]),
        namespace=str(one["namespace"]),
        name=str(one["name"]),
        uid=str(one["uid"]),
        place=str(one["place"]),
        owner=str(one["owner"]),
        type=str(one["type"]),
        team=str(one["team"]),
        accelerators=Asked(
            float(asked["total"]),
            {str(name): float(amount) for name, amount in asked["byResource"].items()},
            bool(asked["unknown"]),
        ),
        findings=tuple(_finding(finding) for finding in one["findings"]),
        not_judged=tuple(
            NotJudged(str(unknown["rule"]), Mode.parse(unknown["mode"]), str(unknown["reason"])) for unknown in one["notJudged"]
        ),
    )


def _finding(one: JsonObject) -> ScanFinding:
    return ScanFinding(
        rule=str(one["rule"]),
        check=str(one["check"]),
        mode=Mode.parse(one["mode"]),
        result=Result(one["result"]),
        message=str(one["message"]),
        would_refuse=bool(one["wouldRefuse"]),
        fixed_by=_text(one["fixedBy"]),
        excepted_by=_text(one["exceptedBy"]),
        key=str(one["key"]),
        evidence=tuple(_seen(evidence) for evidence in one["evidence"]),
        fix=str(one["fix"]),
    )


def _seen(one: JsonObject) -> Seen:
    return Seen(str(one["path"]), str(one["value"]), str(one["note"]))


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _counts(counts: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): int(count) for name, count in counts.items()}


def chosen(subjects: Iterable[Subject]) -> Tally:
    """The sums of some of a scan's workloads. Those without a finding are not among what was kept, and not in them."""
    tally = Tally()
    for subject in subjects:
        tally.add(subject)
    return tally
