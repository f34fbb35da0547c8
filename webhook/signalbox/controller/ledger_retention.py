"""The duty that deletes old entries of a ledger in PostgreSQL, which no single webhook owns."""

from datetime import datetime

from signalbox.audit.ledger.database import Address
from signalbox.audit.ledger.options import Retention
from signalbox.audit.ledger.retention import keep_house
from signalbox.controller.duty import DutyContext

_SECONDS = 600.0


class LedgerRetention:
    """Deletes in small steps, and stops between two of them where the process ends or another replica leads."""

    name = "ledger-retention"

    def __init__(self, context: DutyContext, address: Address, retention: Retention, seconds: float = _SECONDS) -> None:
        self.seconds = seconds
        self._context = context
        self._address = address
        self._retention = retention

    def run(self, now: datetime) -> None:
        """Delete what is over. Raises whatever the database does."""
        deleted = keep_house(self._address, self._retention, self._is_over, now)
        if deleted:
            self._context.log.info("ledger entries deleted", count=deleted)

    def _is_over(self) -> bool:
        return self._context.stopping.is_set() or not self._context.leading()
