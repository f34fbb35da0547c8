"""What has to be done about our certificates, by what the cluster holds and what time it is. Pure.

One rule stands above all: at no moment may a certificate be served that some API server does not trust. Replicas serve what
was in the Secret a while ago, API servers trust what was in the configurations a moment ago. So, when one CA replaces another:

1. the new CA is written down, together with every CA that was trusted until now;
2. every webhook configuration gets both;
3. only when they have had both for a while (``settle``), the new CA signs a new serving certificate;
4. the old CA leaves when the last certificate it may have signed has expired.

Each step needs only what the one before left in the cluster. Whoever leads next goes on where this one stopped.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509

from signalbox.certs.authority import CLOCK_SKEW, signed_by
from signalbox.controller.certificates.state import Certificates, HeldServing, State, bundle_of, names_of

_MOST_TRUSTED = 20
"""A bundle must not grow without end, were somebody to delete the Secret of the CA again and again. Some replica may still
serve what an earlier one of them signed, though the Secret holds another certificate since: within the minutes that takes, the
Secret may be deleted so often."""
_MARGIN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long things last.

    ``renew_after`` is the part of a serving certificate's life after which it is renewed, ``authority_ahead`` how long
    before its end a CA is replaced, ``settle`` how long every API server may take to see a changed configuration.
    """

    serving: timedelta = timedelta(days=90)
    renew_after: float = 2 / 3
    authority: timedelta = timedelta(days=5 * 365)
    authority_ahead: timedelta = timedelta(days=365)
    settle: timedelta = timedelta(seconds=30)

    def renewal(self, certificate: x509.Certificate) -> datetime:
        """When a serving certificate is renewed."""
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return begin + (end - begin) * self.renew_after

    def replacement(self, authority: x509.Certificate) -> datetime:
        """When a CA is replaced."""
        return authority.not_valid_after_utc - self.authority_ahead


@dataclass(frozen=True, slots=True)
class NewAuthority:
    """Make a CA, and write it down with those that stay trusted."""

    keep: Certificates
    reason: str


@dataclass(frozen=True, slots=True)
class RecordTrusted:
    """Write down which CAs are to be trusted."""

    trusted: Certificates


@dataclass(frozen=True, slots=True)
class WriteBundles:
    """Write the caBundle of some entries of a configuration, as it was read in ``version``."""

    plural: str
    name: str
    version: str
    entries: tuple[tuple[int, str], ...]
    bundle: bytes


@dataclass(frozen=True, slots=True)
class IssueServing:
    """Make a serving certificate; the CAs written beside it are for people."""

    names: tuple[str, ...]
    beside: bytes
    reason: str


Step = NewAuthority | RecordTrusted | WriteBundles | IssueServing


def plan(state: State, lifetimes: Lifetimes, names: tuple[str, ...], trusted_for: timedelta, now: datetime) -> tuple[Step, ...]:
    """The steps that may be taken now; after them the state is read again, and others may follow.

    ``trusted_for`` says how long every entry is known to hold the present CA.
    """
    authority, reason = state.authority.certificate, authority_fault(state, lifetimes, now)
    if reason or authority is None:
        return (NewAuthority(_bounded(_to_keep(state, now), state.serving), reason),)
    trusted = wanted(authority, state, lifetimes, now)
    if trusted != state.authority.recorded:
        # Before any configuration: what was once trusted must not be forgotten with a configuration that is deleted.
        return (RecordTrusted(trusted),)
    bundle = bundle_of(trusted)
    steps: list[Step] = []
    for one in state.configurations:
        wrong = tuple((entry.index, entry.name) for entry in one.entries if entry.bundle != bundle)
        if wrong:
            steps.append(WriteBundles(one.plural, one.name, one.version, wrong, bundle))
    reason = serving_fault(state, lifetimes, names, now)
    # With no other CA to be trusted, nobody serves anything now that would be trusted better than the new one.
    if reason and (len(trusted) == 1 or (not steps and trusted_for >= lifetimes.settle)):
        steps.append(IssueServing(names, bundle, reason))
    return tuple(steps)


def authority_fault(state: State, lifetimes: Lifetimes, now: datetime) -> str:
    """Why there must be a new CA; empty where the present one will do."""
    if state.authority.authority is None:
        return state.authority.problem
    certificate = state.authority.authority.certificate
    if now >= certificate.not_valid_after_utc:
        return f"the CA expired at {certificate.not_valid_after_utc:%FT%TZ}"
    if now < certificate.not_valid_before_utc:
        return f"the CA is not valid before {certificate.not_valid_before_utc:%FT%TZ}"
    if now >= lifetimes.replacement(certificate):
        return f"the CA ends at {certificate.not_valid_after_utc:%F}, and is replaced in good time"
    return ""


def serving_fault(state: State, lifetimes: Lifetimes, names: Iterable[str], now: datetime) -> str:
    """Why there must be a new serving certificate; empty where the present one will do."""
    certificate = state.serving.certificate
    if certificate is None:
        return state.serving.problem
    if now >= certificate.not_valid_after_utc:
        return f"the serving certificate expired at {certificate.not_valid_after_utc:%FT%TZ}"
    if now < certificate.not_valid_before_utc:
        return f"the serving certificate is not valid before {certificate.not_valid_before_utc:%FT%TZ}"
    authority = state.authority.certificate
    if authority is None or not signed_by(certificate, authority):
        return "the serving certificate is signed by another CA than the present one"
    missing = sorted(set(names) - names_of(certificate))
    if missing:
        return f"the serving certificate is not for {', '.join(missing)}"
    if now >= lifetimes.renewal(certificate):
        return f"the serving certificate ends at {certificate.not_valid_after_utc:%F}, and is renewed in good time"
    return ""


def wanted(authority: x509.Certificate, state: State, lifetimes: Lifetimes, now: datetime) -> Certificates:
    """The CAs that must be trusted while this one signs: itself first."""
    others = [one for one in _to_keep(state, now) if one != authority]
    # All that an older CA signed was signed before this one was there.
    ended = authority.not_valid_before_utc + CLOCK_SKEW + lifetimes.serving + _MARGIN
    if now >= ended:
        others = [one for one in others if _signs(one, state.serving)]
    return (authority, *_bounded(others, state.serving, _MOST_TRUSTED - 1))


def signers(chain: Iterable[x509.Certificate], candidates: Iterable[x509.Certificate]) -> Certificates:
    """Those CAs among the candidates that signed a certificate of the chain."""
    links = tuple(chain)
    return tuple(one for one in candidates if any(signed_by(link, one) for link in links))


def _to_keep(state: State, now: datetime) -> list[x509.Certificate]:
    """Every CA by which something may be trusted that is served now, those written down last first."""
    held = state.authority
    known = [*state.serving.beside, *(one for entry in state.entries for one in entry.trusted)]
    # What was written down is complete. Without it, all that is or was trusted anywhere counts.
    found = known if held.recorded is None else [*held.recorded, *signers(state.serving.chain, known)]
    if held.certificate is not None:
        found = [held.certificate, *found]
    return [one for one in dict.fromkeys(found) if now < one.not_valid_after_utc]


def _bounded(certificates: Iterable[x509.Certificate], serving: HeldServing, most: int = _MOST_TRUSTED - 1) -> Certificates:
    newest = sorted(certificates, key=_age, reverse=True)
    # The one that signed what is served now is never the one too many.
    chosen = sorted(newest, key=lambda one: not _signs(one, serving))[:most]
    return tuple(sorted(chosen, key=_age, reverse=True))


def _age(certificate: x509.Certificate) -> tuple[datetime, int]:
    return certificate.not_valid_before_utc, certificate.serial_number


def _signs(authority: x509.Certificate, serving: HeldServing) -> bool:
    return bool(signers(serving.chain, (authority,)))
