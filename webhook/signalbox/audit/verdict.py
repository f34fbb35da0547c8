"""The verdict on a rule: ready to enforce, not yet, or too little seen, with the numbers that it rests on. Pure."""

from datetime import timedelta
from enum import Enum

from signalbox.audit.readiness import Evidence, Fate
from signalbox.audit.words import plural

LEAST_DAYS = 7.0
LEAST_REQUESTS = 50
_SOON = timedelta(days=30)


class Verdict(Enum):
    """Whether to enforce."""

    READY = "ready"
    NOT_YET = "not yet"
    TOO_LITTLE = "too little seen"


def verdict_on(evidence: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    """The verdict, and the sentences that it rests on."""
    against = _against(evidence)
    if against:
        return Verdict.NOT_YET, against
    lacking = _lacking(evidence)
    if lacking:
        return Verdict.TOO_LITTLE, lacking
    standing, seen = evidence.standing, round(evidence.seen.requests)
    looked_at = "" if standing is None else f" and none of {plural(round(standing.seen), 'standing workload')}"
    return Verdict.READY, (f"none of {plural(seen, 'request')}{looked_at} would be refused as things are now",)


def _against(evidence: Evidence) -> tuple[str, ...]:
    against = []
    if evidence.recent:
        recent = f"{plural(evidence.recent, 'request')} of the last {evidence.days / 2:g} days would be refused"
        against.append(f"{recent} as things are now")
    standing = evidence.standing
    if standing is not None and (count := standing.fates[Fate.REFUSED]):
        against.append(f"{plural(count, 'standing workload')} would be refused if made again")
    faults = _both(evidence, Fate.FAULT)
    if faults:
        against.append(f"the rule itself failed {plural(faults, 'time')}")
    return tuple(against)


def _lacking(evidence: Evidence) -> tuple[str, ...]:
    lacking = []
    seen, least = evidence.seen, min(LEAST_DAYS, evidence.days)
    if seen.covered_days < least:
        lacking.append(f"the ledger covers {seen.covered_days:.1f} of {evidence.days:g} days, {least:g} is the least")
    if seen.requests < LEAST_REQUESTS:
        lacking.append(f"{plural(round(seen.requests), 'request')} seen, {LEAST_REQUESTS} is the least")
    if evidence.unread:
        lacking.append(f"of the cluster {plural(evidence.unread, 'thing')} could not be read")
    unknown = _both(evidence, Fate.UNKNOWN)
    if unknown:
        lacking.append(f"of {plural(unknown, 'request or workload', 'requests and workloads')} it could not be judged")
    return tuple(lacking)


def notes_on(evidence: Evidence) -> tuple[str, ...]:
    """What else to know before enforcing."""
    notes = []
    if evidence.standing is None:
        notes.append("the cluster was not looked at: what stands there is not known")
    if not evidence.seen.allowed_recorded:
        notes.append("requests that found nothing are not in the ledger, so how many there were is not known")
    if len(evidence.digests) > 1:
        notes.append(f"the policies changed in that time: {len(evidence.digests)} sets were in force")
    if evidence.earlier and not evidence.recent and evidence.last_refused is not None:
        notes.append(f"the last request that would be refused came on {evidence.last_refused:%Y-%m-%d}")
    for exception in evidence.exceptions:
        if exception.until <= (evidence.now + _SOON).date():
            notes.append(f"exception {exception.name} ends on {exception.until}: what it covers is refused from then on")
    return tuple(notes)


def _both(evidence: Evidence, fate: Fate) -> int:
    standing = 0 if evidence.standing is None else evidence.standing.fates[fate]
    return evidence.requests.fates[fate] + standing
