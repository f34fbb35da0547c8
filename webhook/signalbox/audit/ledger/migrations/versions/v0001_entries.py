"""The first tables: entries, their findings, their documents."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "entries",
        sa.Column("id", _ID, primary_key=True, autoincrement=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("operation", sa.String(16), nullable=False),
        sa.Column("endpoint", sa.String(16), nullable=False),
        sa.Column("namespace", sa.String(253), nullable=False),
        sa.Column("api_group", sa.String(253), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(253), nullable=False),
        sa.Column("name", sa.String(253), nullable=False),
        sa.Column("generate_name", sa.String(253), nullable=False),
        sa.Column("uid", sa.String(128), nullable=False),
        sa.Column("username", sa.String(512), nullable=False),
        sa.Column("team", sa.String(253), nullable=False),
        sa.Column("type", sa.String(64), nullable=False),
        sa.Column("accelerators", sa.Float, nullable=False),
        sa.Column("weight", sa.Float, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("groups", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("by_resource", sa.Text, nullable=False),
        sa.Column("excepted_by", sa.Text, nullable=False),
        sa.Column("doubts", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("entries_at", "entries", ["at"])
    op.create_table(
        "findings",
        sa.Column("entry_id", _ID, sa.ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("rule", sa.String(512), nullable=False),
        sa.Column("check_name", sa.String(64), nullable=False),
        sa.Column("mode", sa.String(16), nullable=False),
        sa.Column("result", sa.String(16), nullable=False),
        sa.Column("refused", sa.Boolean, nullable=False),
        sa.Column("would_refuse", sa.Boolean, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("amount", sa.Float, nullable=True),
        sa.Column("fixed_by", sa.String(64), nullable=False),
        sa.Column("excepted_by", sa.String(253), nullable=False),
    )
    op.create_index("findings_rule", "findings", ["rule", "entry_id"])
    op.create_table(
        "documents",
        sa.Column("entry_id", _ID, sa.ForeignKey("entries.id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
        sa.Column("object", sa.Text, nullable=True),
        sa.Column("old_object", sa.Text, nullable=True),
    )


def downgrade() -> None:
    """Takes them away."""
    for table in ("documents", "findings", "entries"):
        op.drop_table(table)
