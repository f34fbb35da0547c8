"""The duty that looks whether somebody deleted or loosened a webhook configuration, and says so in log and metrics."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox.apiserver.connection import ApiServer
from signalbox.controller.webhooks.deviations import Deviation, deviations
from signalbox.controller.webhooks.shipped import Shipped
from signalbox.process.logs import Log


def all_deviations(api: ApiServer, shipped: Iterable[Shipped], *, fails_open: bool) -> list[Deviation]:
    """The deviations of every configuration. Raises ApiError."""
    return [found for one in shipped for found in deviations(one, api.find(one.path), fails_open=fails_open)]


@dataclass(slots=True, eq=False)
class ConfigurationDuty(Collector):
    """Reads only: what it finds is for people."""

    api: ApiServer
    shipped: Sequence[Shipped]
    log: Log
    leading: Callable[[], bool]
    fails_open: bool
    seconds: float
    name: str = "webhook-configurations"
    found: list[Deviation] = field(default_factory=list)

    def run(self, now: datetime) -> None:
        """Compare once; what is new is logged once."""
        before, self.found = self.found, all_deviations(self.api, self.shipped, fails_open=self.fails_open)
        for one in self.found:
            if one not in before:
                self.log.warning("webhook configuration is not as shipped, and is left as it is", text=one.text)
        if before and not self.found:
            self.log.info("webhook configurations are as shipped again")

    def collect(self) -> Iterable[Metric]:
        """Shown by the leader alone: what another saw long ago is no news."""
        family = GaugeMetricFamily(
            "signalbox_webhook_configuration_deviations",
            "Differences between a webhook configuration and the one shipped; 0 is good.",
            labels=("configuration", "webhook", "field"),
        )
        if self.leading():
            counted: dict[tuple[str, str, str], int] = {(one.name, "", ""): 0 for one in self.shipped}
            for found in self.found:
                key = (found.configuration, found.webhook, found.field)
                counted[key] = counted.get(key, 0) + 1
            for labels, number in counted.items():
                family.add_metric(labels, number)
        yield family
