"""The version of the tables: brought up to date by whoever finds them older, left alone where they are newer."""

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from signalbox.audit.ledger.database import LedgerError, trouble_of, words_of

REVISIONS = ("0001",)
"""Every version there has been, the newest last; ``migrations/versions`` holds a step for each."""

HEAD = REVISIONS[-1]
# Any number, the same in every replica: who holds it migrates.
_LOCK = 7_263_541


def prepare(engine: Engine) -> None:
    """Makes or migrates the tables, one process at a time. Raises LedgerError where they are newer than this code."""
    try:
        with engine.begin() as connection:
            if version_of(connection) == HEAD:
                return
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            found = version_of(connection)
            if found == HEAD:
                return
            _refuse_newer(found)
            _upgrade(connection)
    except SQLAlchemyError as error:
        raise LedgerError(trouble_of(error), words_of(error)) from error


def check_readable(engine: Engine) -> None:
    """Raises LedgerError where the tables are not of this version: who only reads does not migrate."""
    try:
        with engine.connect() as connection:
            found = version_of(connection)
    except SQLAlchemyError as error:
        raise LedgerError(trouble_of(error), words_of(error)) from error
    if found is None:
        raise LedgerError("schema", "there is no ledger in this database yet: signalbox serve --ledger makes it")
    _refuse_newer(found)
    if found != HEAD:
        text_ = f"the ledger is of version {found}, older than {HEAD}: signalbox serve of this version migrates it"
        raise LedgerError("schema", text_)


def version_of(connection: Connection) -> str | None:
    """The version of the tables, None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return None if found is None else str(found)


def _refuse_newer(found: str | None) -> None:
    if found is not None and found not in REVISIONS:
        raise LedgerError(
            "schema", f"the ledger is of version {found}, which this Signalbox does not know (it knows {HEAD}): update it"
        )


def _upgrade(connection: Connection) -> None:
    # Only a ledger that is new or older needs it, and it takes a while to import.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
