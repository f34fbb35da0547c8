"""A policy that comes into force while the cluster runs, under which nothing that asks for an accelerator is right."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .objects import job, template
from .waiting import eventually
from .webhook import Webhook

RULE = "stricter/no-accelerators"
_POLICY = """\
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: stricter}
spec:
  description: Nothing that asks for an accelerator is right.
  rules:
    - name: no-accelerators
      check: accelerator-limit
      with: {maxTotal: 0}
      mode: enforce
"""


@contextmanager
def stricter_policy(webhook: Webhook) -> Iterator[None]:
    """In force inside; gone again after it."""
    path = webhook.policies / "stricter.yaml"
    path.write_text(_POLICY)
    try:
        eventually(lambda: _refuses(webhook), "the stricter policy is in force")
        yield
    finally:
        path.unlink()
        eventually(lambda: not _refuses(webhook), "the stricter policy is gone")


def _refuses(webhook: Webhook) -> bool:
    probe = job("probe", "default", template(1))
    return RULE in webhook.cluster.kubectl.apply(probe, arguments=("--dry-run=server",)).err
