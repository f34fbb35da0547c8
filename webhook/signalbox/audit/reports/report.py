"""What a scan found in one workload, as a report object of the cluster."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson

from signalbox.audit.reports.kinds import ReportKind
from signalbox.audit.result import ScanFinding, Subject
from signalbox.finding import Result
from signalbox.policy.mode import Mode
from signalbox.review import JsonObject

SOURCE = "signalbox"
MANAGED_BY = "app.kubernetes.io/managed-by"
DIGEST = "policy.workload.ai/report-digest"
LEFT_OUT = "policy.workload.ai/results-left-out"
_SEVERITIES = {Mode.ENFORCE: "high", Mode.WARN: "medium", Mode.AUDIT: "low"}
_COUNTED = ("pass", "fail", "warn", "error", "skip")
_WORST_FIRST = {word: rank for rank, word in enumerate(("fail", "error", "warn", "skip", "pass"))}


def report_name(uid: str) -> str:
    """The name of the report on a workload: other engines name theirs by the bare uid."""
    return f"{SOURCE}-{uid}"


def build_report(subject: Subject, kind: ReportKind, now: datetime, most_results: int) -> JsonObject:
    """The report, with its digest: equal digests mean that nothing but the time is another.

    At most so many results, the worst first; an annotation tells how many are left out, and the summary counts them all.
    """
    results = sorted(_results(subject), key=lambda one: (_WORST_FIRST[one["result"]], one["policy"], one["rule"]))
    counts = Counter(one["result"] for one in results)
    left_out = max(0, len(results) - most_results)
    reference = {
        "apiVersion": subject.api_version,
        "kind": subject.kind.partition(".")[0],
        "name": subject.name,
        "uid": subject.uid,
    }
    body: JsonObject = {
        "scope": {**reference, "namespace": subject.namespace},
        "summary": {word: counts[word] for word in _COUNTED},
        "results": results[:most_results],
    }
    annotations = {DIGEST: _digest({**body, "leftOut": left_out})}
    if left_out:
        annotations[LEFT_OUT] = str(left_out)
    stamp = {"seconds": int(now.timestamp()), "nanos": 0}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": report_name(subject.uid),
            "namespace": subject.namespace,
            "labels": {MANAGED_BY: SOURCE},
            "annotations": annotations,
            "ownerReferences": [reference],
        },
        **({"source": SOURCE} if kind.sourced else {}),
        **body,
        "results": [{**one, "timestamp": stamp} for one in body["results"]],
    }


def _results(subject: Subject) -> Iterator[JsonObject]:
    asked = subject.accelerators
    about = {"accelerators": f"{asked.total:g}"} if asked.total else {}
    about |= {"type": subject.type} if subject.type else {}
    about |= {"team": subject.team}
    for finding in subject.findings:
        yield _result(finding.rule, finding.check, _word(finding), _text(finding), finding.mode, {**about, **_more(finding)})
    for unknown in subject.not_judged:
        yield _result(unknown.rule, "", "skip", f"not judged: {unknown.reason}", unknown.mode, about)
    for rule in subject.passed:
        yield _result(rule, "", "pass", "", None, {})


def _result(rule: str, check: str, word: str, message: str, mode: Mode | None, properties: dict[str, str]) -> JsonObject:
    policy, _, name = rule.partition("/")
    found: dict[str, Any] = {
        "source": SOURCE,
        "policy": policy,
        "rule": name,
        "result": word,
        "scored": word in ("pass", "fail"),
    }
    if check:
        found["category"] = check
    if mode is not None:
        found["severity"] = _SEVERITIES.get(mode, "info")
        properties = {**properties, "mode": mode.text}
    if message:
        found["message"] = message
    if properties:
        found["properties"] = properties
    return found


def _word(finding: ScanFinding) -> str:
    if finding.result is Result.FAIL:
        # What the rule would never refuse for is told, not scored.
        return "fail" if finding.would_refuse else "warn"
    return "error" if finding.result is Result.ERROR else "skip"


def _text(finding: ScanFinding) -> str:
    return f"{finding.message} Fix: {finding.fix}" if finding.fix and finding.result is Result.FAIL else finding.message


def _more(finding: ScanFinding) -> dict[str, str]:
    told = {"fixedBy": finding.fixed_by, "exceptedBy": finding.excepted_by, "key": finding.key}
    return {name: text for name, text in told.items() if text}


def _digest(content: JsonObject) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
