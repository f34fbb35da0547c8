"""`signalbox controller`: from the options to the exit code."""

import os
import secrets
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox import __version__
from signalbox.apiserver.connection import ApiServer, connect
from signalbox.apiserver.error import ApiConfigurationError, ApiError
from signalbox.audit.page.start import listen_for_pages, pages_on_demand
from signalbox.controller.duties import duties
from signalbox.controller.duty import Duty, DutyContext
from signalbox.controller.health import Health
from signalbox.controller.lease import Election
from signalbox.controller.options import ControllerOptions
from signalbox.controller.runner import DutyMeters, DutyRunner
from signalbox.controller.webhooks.shipped import ShippedError
from signalbox.process.listener import Pages, SideListener, metrics_page
from signalbox.process.logs import Log, complain, crash_fields
from signalbox.process.port import ListenError, listen
from signalbox.process.wakeup import Wakeup

# Of the Lease's duration: five tries before it runs out.
_TICK = 1 / 5

MakeDuties = Callable[[DutyContext], list[Duty]]


def run_controller(options: ControllerOptions) -> int:
    """Run until SIGTERM or SIGINT; the exit code. What keeps it from starting is one line on stderr and code 1."""
    try:
        api = connect(options.kubeconfig, options.context)
        listening = None if options.metrics_port is None else listen(options.metrics_address, options.metrics_port)
        controller = Controller(api, options, listening)
    except (ApiConfigurationError, ListenError, ShippedError) as error:
        complain(str(error))
        return 1
    stop = Wakeup()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    controller.start()
    stop.wait()
    controller.stop()
    return 0


class Controller:
    """The threads of one replica: the election, a thread a duty, the listener."""

    def __init__(
        self,
        api: ApiServer,
        options: ControllerOptions,
        listening: socket.socket | None,
        make_duties: MakeDuties = duties,
    ) -> None:
        self._options = options
        self._listening = listening
        self._log = Log(options.log_level)
        self._stopping = threading.Event()
        identity = f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"
        self.election = Election(api, options.namespace, options.lease, identity, options.lease_seconds)
        self._registry = CollectorRegistry()
        self._registry.register(_Leading(self.election))
        context = DutyContext(api, options, self._log, self._registry, lambda: self.election.leading, self._stopping)
        meters = DutyMeters(self._registry)
        self.runners = [DutyRunner(duty, context.leading, self._stopping, meters, self._log) for duty in make_duties(context)]
        self._elector = threading.Thread(target=self._elect, name="election", daemon=True)
        self._page_socket = listen_for_pages(options.page, self._log)
        self._pages = (
            pages_on_demand(self._page_socket, options.page, self._log)
            if self._page_socket is not None and options.page is not None
            else None
        )

    def start(self) -> None:
        """Start every thread."""
        if self._listening is not None:
            health = Health(self.election, self.runners, self._stopping)
            pages: Pages = {"/metrics": partial(metrics_page, self._registry), "/livez": health.livez, "/readyz": health.readyz}
            SideListener(self._listening, pages).start()
        if self._pages is not None:
            self._pages.start()
        self._elector.start()
        for runner in self.runners:
            runner.start()
        self._log.info(
            "controlling",
            namespace=self._options.namespace,
            lease=self._options.lease,
            metricsPort=self._listening.getsockname()[1] if self._listening else None,
            pagePort=self._page_socket.getsockname()[1] if self._page_socket else None,
            duties=[runner.duty.name for runner in self.runners],
        )

    def stop(self) -> None:
        """Let running duties end, for a while, then give the Lease up: whoever takes it finds nobody at work."""
        self._stopping.set()
        if self._pages is not None:
            self._pages.stop()
        deadline = time.monotonic() + self._options.stop_seconds
        ended = [runner.join(max(0.0, deadline - time.monotonic())) for runner in self.runners]
        if not all(ended):
            unfinished = [runner.duty.name for runner, done in zip(self.runners, ended, strict=True) if not done]
            self._log.warning("duties cut short", duties=unfinished)
        self._elector.join(max(0.0, deadline - time.monotonic()))
        try:
            self.election.release()
        except ApiError as error:
            self._log.warning("lease not given up, it runs out by itself", text=str(error))
        self._log.info("stopped", code=0)

    def _elect(self) -> None:
        wait, was_leading = 0.0, False
        while not self._stopping.wait(wait):
            wait = self._options.lease_seconds * _TICK
            try:
                self.election.tick()
            except ApiError as error:
                self._log.warning("lease neither read nor written", text=str(error))
            except Exception as error:  # noqa: BLE001 - without this thread nobody would lead, and nobody would see it
                self._log.error("election failed", **crash_fields(error))
            if self.election.leading != was_leading:
                was_leading = not was_leading
                self._log.info("leading" if was_leading else "no longer leading", leader=self.election.leader)


class _Leading(Collector):
    def __init__(self, election: Election) -> None:
        self._election = election

    def collect(self) -> Iterable[Metric]:
        """Which version runs, and whether this replica leads."""
        info = GaugeMetricFamily("signalbox_build_info", "Always 1; the version is in the label.", labels=("version",))
        info.add_metric((__version__,), 1)
        yield info
        yield GaugeMetricFamily(
            "signalbox_controller_leading", "Whether this replica of the controller leads.", value=float(self._election.leading)
        )
