"""The files by which the watching process tells the server what it sees, in the server's private directory."""

JOURNAL = "journal"
STATUS = "status"
LAST_GOOD = "last-good"
