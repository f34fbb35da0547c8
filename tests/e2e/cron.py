"""A CronJob's next minute need not be waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from .webhook import Webhook

# No minute of it comes while a test runs, as one of `* * * * *` may while nobody answers.
ONCE_A_YEAR = "0 0 1 1 *"
A_YEAR = timedelta(days=400)


def make_due(webhook: Webhook, cron_job: str, namespace: str, ago: timedelta = timedelta(minutes=2)) -> None:
    """It last ran `ago`, its status says: where that is longer than it waits, its controller makes a Job at once."""
    last = (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%SZ")
    webhook.cluster.api.patch("cronjobs", namespace, cron_job, {"status": {"lastScheduleTime": last}}, "status")
