"""A time without Signalbox, in which something comes in that it would not have let in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .objects import job, template
from .waiting import eventually
from .webhook import Webhook

_CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/signalbox"


@contextmanager
def stopped(webhook: Webhook) -> Iterator[None]:
    """Nobody answers; the configurations stay."""
    webhook.stop()
    try:
        yield
    finally:
        webhook.start()
        webhook.wait_until_called()


@contextmanager
def before_signalbox(webhook: Webhook) -> Iterator[None]:
    """As if it were not installed yet: nobody answers, and nobody waits for an answer."""
    with stopped(webhook):
        _fail(webhook, "Ignore")
        try:
            eventually(lambda: _let_in(webhook), "the API server follows the changed failurePolicy")
            yield
        finally:
            _fail(webhook, "Fail")
            # The next test may stop it again, and expects to find it closed.
            eventually(lambda: not _let_in(webhook), "the API server follows the failurePolicy set back")


def _let_in(webhook: Webhook) -> bool:
    return webhook.cluster.kubectl.apply(job("probe", "default", template(1)), arguments=("--dry-run=server",)).code == 0


def _fail(webhook: Webhook, policy: str) -> None:
    patch = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": policy}]
    webhook.cluster.api.call("PATCH", _CONFIGURATION, patch, "application/json-patch+json")
