"""The ledger: what the webhook decided, in SQLite or PostgreSQL, written off the hot path and read by reports and replay."""
