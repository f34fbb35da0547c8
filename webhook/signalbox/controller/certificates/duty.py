"""The duty that keeps certificates: looks at the cluster, plans, and takes the steps, until there is nothing to do."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from signalbox.apiserver.error import ApiError
from signalbox.certs.authority import CLOCK_SKEW, issue_server, new_authority
from signalbox.controller.certificates.plan import (
    IssueServing,
    Lifetimes,
    NewAuthority,
    RecordTrusted,
    Step,
    WriteBundles,
    plan,
)
from signalbox.controller.certificates.state import State, bundle_of
from signalbox.controller.certificates.store import CertificateStore, Found
from signalbox.controller.certificates.words import remarks
from signalbox.controller.duty import DutyError
from signalbox.process.logs import Log

# CA, record, bundles, serving certificate; whatever is more waits for the next run.
_MOST_ROUNDS = 5


class CertificateMeters(Collector):
    """What there is to see of certificates; gauges are shown by the leader alone."""

    def __init__(self, registry: CollectorRegistry, leading: Callable[[], bool]) -> None:
        self._leading = leading
        self.state: State | None = None
        self.problems = 0
        self.issued = Counter(
            "signalbox_certificates_issued", "Certificates made by the controller.", ("certificate",), registry=registry
        )
        self.bundles = Counter(
            "signalbox_ca_bundle_writes", "Times a caBundle was put right.", ("configuration",), registry=registry
        )
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """When things end, and how many things are wrong."""
        ends = GaugeMetricFamily(
            "signalbox_secret_certificate_not_after_timestamp_seconds",
            "When the certificates in the Secrets end.",
            labels=("certificate",),
        )
        wrong = GaugeMetricFamily(
            "signalbox_certificate_problems", "What `signalbox certs status` finds wrong with certificates; 0 is good."
        )
        if self._leading() and self.state is not None:
            for name, certificate in (
                ("serving", self.state.serving.certificate),
                ("ca", self.state.authority.certificate),
            ):
                if certificate is not None:
                    ends.add_metric((name,), certificate.not_valid_after_utc.timestamp())
            wrong.add_metric((), self.problems)
        yield ends
        yield wrong


@dataclass(slots=True)
class CertificateDuty:
    """Safe to be run by two leaders: each write fails where what it rests on has changed since it was read."""

    store: CertificateStore
    names: Sequence[str]
    lifetimes: Lifetimes
    log: Log
    meters: CertificateMeters
    seconds: float
    name: str = "certificates"
    monotonic: Callable[[], float] = time.monotonic
    _trusted_since: tuple[str, float] | None = field(default=None, init=False)
    _others: tuple[str, ...] = field(default=(), init=False)

    def run(self, now: datetime) -> None:
        """Put right what can be put right now."""
        for _ in range(_MOST_ROUNDS):
            found = self.store.read(now)
            self._check_clock()
            ours = self._is_ours(found)
            self._show(found.state, now, ours)
            if not ours:
                return
            steps = plan(found.state, self.lifetimes, tuple(self.names), self._trusted_for(found.state), now)
            if not steps:
                return
            try:
                for step in steps:
                    self._take(step, found, now)
            except ApiError as error:
                if not error.conflict:
                    raise
                # Somebody wrote meanwhile: the next run looks at what is there then.
                self.log.debug("certificates: written by somebody else meanwhile", text=str(error))
                return

    def _check_clock(self) -> None:
        """A certificate from a clock that is wrong would be refused: better to leave everything as it is, and say so."""
        ahead = self.store.api.clock_ahead
        if ahead is not None and abs(ahead) > CLOCK_SKEW.total_seconds() * 0.8:
            text = (
                f"the API server's clock is {ahead:+.0f} s off ours: certificates are left alone until the node's clock is set"
            )
            raise DutyError(text)

    def _is_ours(self, found: Found) -> bool:
        if found.others != self._others:
            self._others = found.others
            if found.others:
                self.log.info("certificates are left to cert-manager", annotated=found.others)
        return not found.others

    def _show(self, state: State, now: datetime, ours: bool) -> None:
        said = remarks(state, self.lifetimes, tuple(self.names), now, ours=ours)
        self.meters.state, self.meters.problems = state, sum(one.wrong for one in said)

    def _trusted_for(self, state: State) -> timedelta:
        """How long every entry has held the present CA, as seen from here."""
        certificate = state.authority.certificate
        if certificate is None or not all(certificate in entry.trusted for entry in state.entries):
            self._trusted_since = None
            return timedelta(0)
        which, now = str(certificate.serial_number), self.monotonic()
        if self._trusted_since is None or self._trusted_since[0] != which:
            self._trusted_since = which, now
        return timedelta(seconds=now - self._trusted_since[1])

    def _take(self, step: Step, found: Found, now: datetime) -> None:
        match step:
            case NewAuthority(keep, reason):
                authority = new_authority(f"Signalbox CA of {now:%Y-%m-%d}", now, self.lifetimes.authority)
                trusted = bundle_of((authority.certificate, *keep))
                data = {"ca.crt": authority.certificate_pem, "ca.key": authority.key_pem, "bundle.crt": trusted}
                self.store.write_authority(found.authority, data)
                self.meters.issued.labels("ca").inc()
                self.log.info("CA made", reason=reason, kept=len(keep), notAfter=str(authority.certificate.not_valid_after_utc))
            case RecordTrusted(certificates):
                self.store.write_authority(found.authority, {"bundle.crt": bundle_of(certificates)})
                self.log.info("trusted CAs written down", count=len(certificates))
            case WriteBundles():
                self.store.write_bundles(step)
                self.meters.bundles.labels(step.name).inc()
                self.log.info("caBundle put right", configuration=step.name, webhooks=[name for _, name in step.entries])
            case IssueServing(names, beside, reason):
                signer = found.state.authority.authority
                if signer is None:
                    raise DutyError("no CA to sign with")
                certificate, key = issue_server(signer, names, now, self.lifetimes.serving)
                self.store.write_serving(found.serving, {"tls.crt": certificate, "tls.key": key, "ca.crt": beside})
                self.meters.issued.labels("serving").inc()
                self.log.info("serving certificate made", reason=reason, names=list(names))
