"""What is wrong with the certificates, and what is not, in words and days. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from signalbox.certs.authority import signed_by
from signalbox.controller.certificates.plan import Lifetimes, signers
from signalbox.controller.certificates.state import State, names_of

_SOON = timedelta(days=14)


@dataclass(frozen=True, slots=True)
class Remark:
    """One sentence. ``wrong`` where somebody, or the controller, has to do something about it."""

    text: str
    wrong: bool = False
    unknown: bool = False


def remarks(state: State, lifetimes: Lifetimes, names: tuple[str, ...], now: datetime, *, ours: bool) -> list[Remark]:
    """About the Secrets and every caBundle. ``ours`` is False where cert-manager, or somebody, takes care of them."""
    return [*_serving(state, lifetimes, names, now, ours), *_authority(state, lifetimes, now, ours), *_bundles(state, now)]


def of_served(served: x509.Certificate | None, state: State, now: datetime) -> list[Remark]:
    """About the certificate that a replica really shows."""
    if served is None:
        return [Remark("what is served: no certificate was shown", wrong=True)]
    if served == state.serving.certificate:
        return [Remark("what is served is the certificate of the Secret")]
    if now >= served.not_valid_after_utc:
        return [Remark(f"what is served expired {days(now - served.not_valid_after_utc)} ago", wrong=True)]
    untrusting = [entry.name for entry in state.entries if not signers((served,), entry.trusted)]
    if untrusting:
        text = f"what is served is another certificate than the Secret's, and {', '.join(untrusting)} does not trust it"
        return [Remark(text, wrong=True)]
    return [Remark("what is served is not yet the certificate of the Secret; it is trusted, and mounted files take a minute")]


def _serving(state: State, lifetimes: Lifetimes, names: tuple[str, ...], now: datetime, ours: bool) -> Iterator[Remark]:
    certificate = state.serving.certificate
    if certificate is None:
        yield Remark(f"the serving certificate: {state.serving.problem}", wrong=True)
        return
    if now >= certificate.not_valid_after_utc:
        yield Remark(
            f"the serving certificate ended {days(now - certificate.not_valid_after_utc)} ago: the API server does not call us",
            wrong=True,
        )
        return
    if now < certificate.not_valid_before_utc:
        begins = days(certificate.not_valid_before_utc - now)
        yield Remark(f"the serving certificate begins only in {begins}: the API server does not call us", wrong=True)
        return
    left, renewal = certificate.not_valid_after_utc - now, lifetimes.renewal(certificate)
    if not ours:
        yield Remark(f"the serving certificate ends in {days(left)}", wrong=left < _SOON)
    elif now < renewal:
        yield Remark(f"the serving certificate ends in {days(left)}, renewed in {days(renewal - now)}")
    else:
        late = days(now - renewal)
        yield Remark(f"the serving certificate ends in {days(left)} and should have been renewed {late} ago", wrong=True)
    missing = sorted(set(names) - names_of(certificate))
    if missing:
        yield Remark(f"the serving certificate is not for {', '.join(missing)}", wrong=True)


def _authority(state: State, lifetimes: Lifetimes, now: datetime, ours: bool) -> Iterator[Remark]:
    if not ours:
        return
    if state.authority.authority is None:
        yield Remark(f"the CA: {state.authority.problem}", wrong=True)
        return
    certificate = state.authority.authority.certificate
    left, replacement = certificate.not_valid_after_utc - now, lifetimes.replacement(certificate)
    if left <= timedelta(0):
        yield Remark(f"the CA ended {days(-left)} ago", wrong=True)
    elif now < replacement:
        yield Remark(f"the CA ends in {days(left)}, replaced in {days(replacement - now)}")
    else:
        yield Remark(f"the CA ends in {days(left)} and should have been replaced {days(now - replacement)} ago", wrong=True)
    older = [one for one in state.authority.recorded or () if one != certificate]
    if older:
        yield Remark(f"one CA replaces another: {len(older)} older one{'s are' if len(older) > 1 else ' is'} still trusted")
    serving = state.serving.certificate
    if serving is not None and not signed_by(serving, certificate):
        yield Remark("the serving certificate is not yet signed by the present CA")


def _bundles(state: State, now: datetime) -> Iterator[Remark]:
    serving = state.serving.certificate
    for configuration in state.configurations:
        for entry in configuration.entries:
            where = f"the caBundle of {entry.name} in {configuration.name}"
            if not entry.bundle:
                yield Remark(f"{where} is empty: the API server refuses to call it", wrong=True)
            elif not entry.trusted:
                yield Remark(f"{where} cannot be read: the API server refuses to call it", wrong=True)
            elif serving is not None and not [
                one for one in signers(state.serving.chain, entry.trusted) if now < one.not_valid_after_utc
            ]:
                text = "does not hold the CA that signed the serving certificate: the API server will refuse to call it"
                yield Remark(f"{where} {text}", wrong=True)
    if state.configurations and not any(state.entries):
        yield Remark("no webhook leads to our Service: nothing is asked of us", wrong=True)


def days(span: timedelta) -> str:
    """A time span as a person says it."""
    seconds = max(0.0, span.total_seconds())
    for unit, length in (("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0)):
        if seconds >= 2 * length or (unit == "day" and seconds >= length):
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'}"
    number = int(seconds)
    return f"{number} second{'' if number == 1 else 's'}"
