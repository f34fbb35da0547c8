"""A scan as data: plain JSON values with names that stay."""

from collections.abc import Iterable

from signalbox.audit.result import ScanError, ScanFinding, ScanSummary, Subject
from signalbox.audit.tally import GroupTally, RuleTally, Tally
from signalbox.review import JsonObject

VERSION = 1


def subject_json(subject: Subject) -> JsonObject:
    """One workload with everything that was found."""
    asked = subject.accelerators
    return {
        "apiVersion": subject.api_version,
        "kind": subject.kind,
        "namespace": subject.namespace,
        "name": subject.name,
        "uid": subject.uid,
        "place": subject.place,
        "owner": subject.owner,
        "team": subject.team,
        "type": subject.type,
        "accelerators": {"total": asked.total, "byResource": dict(asked.by_resource), "unknown": asked.unknown},
        "refused": subject.refused,
        "refusedIfEnforced": subject.refused_if_enforced,
        "findings": [finding_json(finding) for finding in subject.findings],
        "notJudged": [{"rule": one.rule, "mode": one.mode.text, "reason": one.reason} for one in subject.not_judged],
    }


def finding_json(finding: ScanFinding) -> JsonObject:
    """One finding."""
    return {
        "policy": finding.policy,
        "rule": finding.rule,
        "check": finding.check,
        "mode": finding.mode.text,
        "result": finding.result.value,
        "wouldRefuse": finding.would_refuse,
        "message": finding.message,
        "key": finding.key,
        "fix": finding.fix,
        "fixedBy": finding.fixed_by or None,
        "exceptedBy": finding.excepted_by or None,
        "evidence": [{"path": seen.path, "value": seen.value, "note": seen.note} for seen in finding.evidence],
    }


def scan_json(summary: ScanSummary, tally: Tally) -> JsonObject:
    """The sums of a scan."""
    return {
        "version": VERSION,
        "started": summary.started.isoformat(),
        "seconds": round(summary.seconds, 3),
        "policyDigest": summary.digest,
        "objects": {
            "judged": dict(summary.judged),
            "children": dict(summary.children),
            "finished": dict(summary.finished),
        },
        "total": _group_json(tally.total),
        "rules": [rule_json(rule) for rule in by_weight(tally.rules.values())],
        "teams": [_group_json(group) for group in _by_name(tally.teams.values())],
        "kinds": [_group_json(group) for group in _by_name(tally.kinds.values())],
        "accelerators": {
            "byResource": dict(sorted(tally.resources.items())),
            "byTeamAndType": [
                {"team": team, "type": kind, "accelerators": amount} for (team, kind), amount in sorted(tally.by_type.items())
            ],
            "workloadsOfUnknownAmount": tally.unknown_amounts,
        },
        "notJudged": [
            {"rule": rule, "reason": reason, "workloads": number} for (rule, reason), number in sorted(tally.reasons.items())
        ],
        "errors": [error_json(error) for error in summary.errors],
        "errorCount": summary.error_count,
        "incompleteKinds": sorted(summary.incomplete),
    }


def rule_json(rule: RuleTally) -> JsonObject:
    """The sums of one rule in one mode."""
    return {
        "rule": rule.rule,
        "check": rule.check,
        "mode": rule.mode.text,
        "refused": rule.refused,
        "told": rule.told,
        "mended": rule.mended,
        "excepted": rule.excepted,
        "notJudged": rule.not_judged,
        "faults": rule.faults,
        "accelerators": rule.accelerators,
    }


def error_json(error: ScanError) -> JsonObject:
    """What could not be read."""
    return {"what": error.what, "text": error.text}


def _group_json(group: GroupTally) -> JsonObject:
    return {
        "name": group.name,
        "workloads": group.workloads,
        "accelerators": group.accelerators,
        "refused": group.refused,
        "refusedAccelerators": group.refused_accelerators,
        "refusedIfEnforced": group.if_enforced,
        "refusedIfEnforcedAccelerators": group.if_enforced_accelerators,
    }


def by_weight(rules: Iterable[RuleTally]) -> list[RuleTally]:
    """Rules in the order people read them: the hardest mode first, then whom it hits the most."""
    return sorted(rules, key=lambda one: (-one.mode, -one.refused, -one.told, -one.mended, one.rule))


def heaviest(groups: Iterable[GroupTally]) -> list[GroupTally]:
    """Teams or kinds in the order people read them: who is hit the most first."""
    return sorted(groups, key=lambda one: (-one.refused, -one.if_enforced, -one.accelerators, one.name))


def _by_name(groups: Iterable[GroupTally]) -> list[GroupTally]:
    return sorted(groups, key=lambda one: one.name)
