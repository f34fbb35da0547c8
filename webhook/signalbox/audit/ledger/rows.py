"""Between entries and rows of the tables."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, cast

import orjson
from sqlalchemy import Connection, Row, insert

from signalbox.audit.ledger.building import Built
from signalbox.audit.ledger.database import LedgerError
from signalbox.audit.ledger.entry import Decision, Documents, LedgerEntry, LedgerFinding
from signalbox.audit.ledger.tables import documents, entries, findings
from signalbox.review import JsonObject, Operation

Values = dict[str, Any]
# The end of the year 9999: later, there is no datetime.
_LAST_MOMENT = 253_402_300_799_000


def milliseconds(at: datetime) -> int:
    """A time as the tables have it."""
    return round(at.timestamp() * 1000)


def moment(at: int) -> datetime:
    """A time of the tables."""
    return datetime.fromtimestamp(min(max(at, 0), _LAST_MOMENT) / 1000, UTC)


def insert_all(connection: Connection, built: Sequence[Built]) -> None:
    """Writes entries, in this order."""
    statement = insert(entries).returning(entries.c.id, sort_by_parameter_order=True)
    ids = connection.execute(statement, [_entry_row(one) for one in built]).scalars().all()
    numbered = list(zip(ids, built, strict=True))
    found = [
        _finding_row(entry_id, number, finding)
        for entry_id, one in numbered
        for number, finding in enumerate(one.entry.findings)
    ]
    if found:
        connection.execute(insert(findings), found)
    connection.execute(
        insert(documents),
        [{"entry_id": entry_id, "object": one.object, "old_object": one.old_object} for entry_id, one in numbered],
    )


def _entry_row(one: Built) -> Values:
    entry = one.entry
    return {
        "at": milliseconds(entry.at),
        "decision": entry.decision,
        "operation": entry.operation,
        "endpoint": entry.endpoint,
        "namespace": entry.namespace,
        "api_group": entry.group,
        "version": entry.version,
        "kind": entry.kind,
        "name": entry.name,
        "generate_name": entry.generate_name,
        "uid": entry.uid,
        "username": entry.user,
        "team": entry.team,
        "type": entry.type,
        "accelerators": entry.accelerators,
        "weight": entry.weight,
        "size": one.size,
        "digest": entry.digest,
        "groups": _text(entry.groups),
        "labels": _text(entry.labels),
        "by_resource": _text(entry.by_resource),
        "excepted_by": _text(entry.excepted_by),
        "doubts": _text(entry.doubts),
    }


def _finding_row(entry_id: int, number: int, finding: LedgerFinding) -> Values:
    return {
        "entry_id": entry_id,
        "number": number,
        "rule": finding.rule,
        "check_name": finding.check,
        "mode": finding.mode,
        "result": finding.result,
        "refused": finding.refused,
        "would_refuse": finding.would_refuse,
        "message": finding.message,
        "key": finding.key,
        "amount": finding.amount,
        "fixed_by": finding.fixed_by,
        "excepted_by": finding.excepted_by,
    }


@contextmanager
def _readable(what: str, number: int) -> Iterator[None]:
    """Whoever may write the tables may write anything: told, with the place, and no crash of who reads."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        text = f"{what} {number} of the ledger cannot be read ({type(error).__name__}): was it changed by hand?"
        raise LedgerError("damaged", text) from None


def read_entry(row: Row[Any], found: Iterable[LedgerFinding]) -> LedgerEntry:
    """The entry of a row of ``entries``. Raises LedgerError."""
    with _readable("entry", row.id):
        return _entry(row, found)


def read_finding(row: Row[Any]) -> LedgerFinding:
    """The finding of a row of ``findings``. Raises LedgerError."""
    with _readable("a finding of entry", row.entry_id):
        finding = _finding(row)
        # Its words are looked up when it is judged again.
        finding.as_finding()
        return finding


def read_documents(row: Row[Any]) -> Documents:
    """The objects of a row of ``documents``. Raises LedgerError."""
    with _readable("an object of entry", row.entry_id):
        return Documents(_object(row.object), _object(row.old_object))


def _object(text: str | None) -> JsonObject | None:
    found = None if text is None else orjson.loads(text)
    if found is not None and not isinstance(found, dict):
        raise ValueError("no object")
    return found


def _entry(row: Row[Any], found: Iterable[LedgerFinding]) -> LedgerEntry:
    return LedgerEntry(
        id=row.id,
        at=moment(row.at),
        uid=row.uid,
        user=row.username,
        groups=tuple(orjson.loads(row.groups)),
        operation=cast(Operation, row.operation),
        endpoint=row.endpoint,
        group=row.api_group,
        version=row.version,
        kind=row.kind,
        namespace=row.namespace,
        name=row.name,
        generate_name=row.generate_name,
        labels=dict(orjson.loads(row.labels)),
        decision=cast(Decision, row.decision),
        type=row.type,
        accelerators=float(row.accelerators),
        by_resource=dict(orjson.loads(row.by_resource)),
        digest=row.digest,
        excepted_by=tuple(orjson.loads(row.excepted_by)),
        weight=float(row.weight),
        doubts=tuple(orjson.loads(row.doubts)),
        findings=tuple(found),
    )


def _finding(row: Row[Any]) -> LedgerFinding:
    return LedgerFinding(
        rule=row.rule,
        check=row.check_name,
        mode=row.mode,
        result=row.result,
        refused=row.refused,
        would_refuse=row.would_refuse,
        message=row.message,
        key=row.key,
        amount=row.amount,
        fixed_by=row.fixed_by,
        excepted_by=row.excepted_by,
    )


def _text(value: object) -> str:
    return orjson.dumps(value).decode()
