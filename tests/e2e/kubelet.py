"""There is no kubelet: a test says itself that a Pod has done its work."""

from __future__ import annotations

from .waiting import eventually
from .webhook import Webhook


def play_kubelet(webhook: Webhook, pod: str, namespace: str, phase: str = "Succeeded") -> None:
    """Write a Pod's phase as its kubelet would."""
    webhook.cluster.api.patch("pods", namespace, pod, {"status": {"phase": phase}}, "status")


def wait_until_complete(webhook: Webhook, job: str, namespace: str) -> None:
    """The Job has its condition Complete."""

    def complete() -> bool:
        found = webhook.cluster.api.get("jobs", namespace, job) or {}
        return any(one["type"] == "Complete" for one in found.get("status", {}).get("conditions", ()))

    eventually(complete, f"Job {job} is complete")
