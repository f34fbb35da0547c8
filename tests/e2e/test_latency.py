"""What a Job costs: the table is printed, and every Job of every variant has to get through."""

from __future__ import annotations

import os

import pytest

from .conftest import shown
from .latency import measure, table
from .webhook import Webhook

COUNT = int(os.environ.get("SIGNALBOX_E2E_JOBS", "500"))


@pytest.mark.usefixtures("quiet_machine")
def test_jobs_through_the_api_server_with_and_without_signalbox(
    webhook: Webhook, research: str, pytestconfig: pytest.Config
) -> None:
    variants = measure(webhook, COUNT)
    with shown(pytestconfig):
        print(f"\n\n{table(variants, webhook.cluster.api_server_pid)}\n")
    assert {len(one.seconds) for one in variants} == {COUNT}
