"""Alembic's entry: migrates the connection it is handed, within its transaction."""

from alembic import context

from signalbox.audit.ledger.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
