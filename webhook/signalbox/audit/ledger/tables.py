"""The tables of the ledger. The same in SQLite and PostgreSQL, and plain enough to be asked with SQL by hand.

``entries`` is narrow, so that counting a month of it is quick; what is large stands in ``documents``. Times are
milliseconds since 1970 in UTC.
"""

from sqlalchemy import BigInteger, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

metadata = MetaData()
# SQLite counts a primary key up only if it is called INTEGER, and has 64 bits for it all the same.
_ID = BigInteger().with_variant(Integer(), "sqlite")

entries = Table(
    "entries",
    metadata,
    Column("id", _ID, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("decision", String(16), nullable=False),
    Column("operation", String(16), nullable=False),
    Column("endpoint", String(16), nullable=False),
    Column("namespace", String(253), nullable=False),
    Column("api_group", String(253), nullable=False),
    Column("version", String(64), nullable=False),
    Column("kind", String(253), nullable=False),
    Column("name", String(253), nullable=False),
    Column("generate_name", String(253), nullable=False),
    Column("uid", String(128), nullable=False),
    Column("username", String(512), nullable=False),
    Column("team", String(253), nullable=False),
    Column("type", String(64), nullable=False),
    Column("accelerators", Float, nullable=False),
    Column("weight", Float, nullable=False),
    Column("size", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("groups", Text, nullable=False),
    Column("labels", Text, nullable=False),
    Column("by_resource", Text, nullable=False),
    Column("excepted_by", Text, nullable=False),
    Column("doubts", Text, nullable=False),
    Index("entries_at", "at"),
    # Ids are never used twice, not even after the newest entries were deleted: readers go on from the last one they saw.
    sqlite_autoincrement=True,
)

findings = Table(
    "findings",
    metadata,
    Column("entry_id", _ID, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("rule", String(512), nullable=False),
    Column("check_name", String(64), nullable=False),
    Column("mode", String(16), nullable=False),
    Column("result", String(16), nullable=False),
    Column("refused", Boolean, nullable=False),
    Column("would_refuse", Boolean, nullable=False),
    Column("message", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("amount", Float, nullable=True),
    Column("fixed_by", String(64), nullable=False),
    Column("excepted_by", String(253), nullable=False),
    Index("findings_rule", "rule", "entry_id"),
)

documents = Table(
    "documents",
    metadata,
    Column("entry_id", _ID, ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("object", Text, nullable=True),
    Column("old_object", Text, nullable=True),
)
