"""A CronJob's next minute need not be waited for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from .webhook import Webhook


def make_due(webhook: Webhook, cron_job: str, namespace: str) -> None:
    """A `* * * * *` CronJob last ran two minutes ago, its status says: its controller makes a Job at once."""
    last = (datetime.now(UTC) - timedelta(minutes=2)).strftime("%Y-%m-%dT%H:%M:%SZ")
    webhook.cluster.api.patch("cronjobs", namespace, cron_job, {"status": {"lastScheduleTime": last}}, "status")
