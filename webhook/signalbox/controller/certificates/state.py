"""What the cluster holds of our certificates, read from Secrets and webhook configurations as they are. Pure.

Anything may stand in any of them: what cannot be read is as good as absent, and ``problem`` says why.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from signalbox.certs.authority import UNREADABLE, Authority, is_authority, pem
from signalbox.certs.validity import check_pair
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

AUTHORITY_SECRET = "signalbox-ca"  # noqa: S105 - the name of a Secret
SERVING_SECRET = "signalbox-tls"  # noqa: S105
CERTIFICATE_MANAGER = "cert-manager.io/"
"""Annotations that begin with it say that cert-manager takes care of the object."""

_OF_DATES = frozenset({"expired", "not-yet-valid"})

Certificates = tuple[x509.Certificate, ...]


@dataclass(frozen=True, slots=True)
class HeldAuthority:
    """The Secret of the CA. ``recorded`` is every CA that must be trusted; None where that cannot be read.

    ``certificate`` may be known where ``authority`` is not: its key is lost.
    """

    authority: Authority | None = None
    certificate: x509.Certificate | None = None
    recorded: Certificates | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class HeldServing:
    """The Secret of the serving certificate. ``chain`` is empty where there is no pair one could serve with."""

    chain: Certificates = ()
    beside: Certificates = ()
    problem: str = ""

    @property
    def certificate(self) -> x509.Certificate | None:
        """The serving certificate itself."""
        return self.chain[0] if self.chain else None


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of ours: where it stands in its configuration, and its caBundle."""

    index: int
    name: str
    bundle: bytes

    @property
    def trusted(self) -> Certificates:
        """The CAs by which the API server judges us; none where one of them cannot be read, as then it trusts none."""
        return certificates_of(self.bundle)


@dataclass(frozen=True, slots=True)
class HeldConfiguration:
    """A webhook configuration that is there. ``plural`` is its resource, ``version`` its resourceVersion."""

    plural: str
    name: str
    version: str
    entries: tuple[Entry, ...]
    certificate_manager: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Everything the plan is made from."""

    authority: HeldAuthority
    serving: HeldServing
    configurations: tuple[HeldConfiguration, ...] = ()

    @property
    def entries(self) -> Iterable[Entry]:
        """Every webhook of ours."""
        return (entry for configuration in self.configurations for entry in configuration.entries)


def read_authority(secret: JsonObject | None, now: datetime) -> HeldAuthority:
    """What the Secret ``signalbox-ca`` holds; None where there is none."""
    if secret is None:
        return HeldAuthority(problem=f"there is no Secret {AUTHORITY_SECRET}")
    data = _data(secret)
    certificate_pem, key_pem = data.get("ca.crt", b""), data.get("ca.key", b"")
    recorded = authorities_of(data.get("bundle.crt", b"")) or None
    found = authorities_of(certificate_pem)
    certificate = found[0] if found else None
    # What the checks of a server's pair say beside these two is about servers.
    problems = [one for one in check_pair(certificate_pem, key_pem, now) if one.code in _OF_ANY_PAIR]
    if problems or certificate is None:
        why = problems[0].text if problems else "its certificate is no CA"
        return HeldAuthority(None, certificate, recorded, f"Secret {AUTHORITY_SECRET}: {why}")
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not _names_its_key(certificate):
        return HeldAuthority(None, certificate, recorded, f"Secret {AUTHORITY_SECRET}: a CA, but not one made here")
    return HeldAuthority(Authority(certificate, key), certificate, recorded)


_OF_ANY_PAIR = frozenset({"unreadable-certificate", "unreadable-key", "key-mismatch", "weak-key", "unsupported-key"})


def read_serving(secret: JsonObject | None, now: datetime) -> HeldServing:
    """What the Secret ``signalbox-tls`` holds; None where there is none."""
    if secret is None:
        return HeldServing(problem=f"there is no Secret {SERVING_SECRET}")
    data = _data(secret)
    certificate_pem, key_pem = data.get("tls.crt", b""), data.get("tls.key", b"")
    beside = authorities_of(data.get("ca.crt", b""))
    # Whether it has expired is asked when the time comes: here it is what it is.
    problems = [one for one in check_pair(certificate_pem, key_pem, now) if one.code not in _OF_DATES]
    if problems:
        return HeldServing(beside=beside, problem=f"Secret {SERVING_SECRET}: {'; '.join(one.text for one in problems)}")
    return HeldServing(certificates_of(certificate_pem), beside)


def read_configuration(plural: str, configuration: JsonObject, service: str, namespace: str) -> HeldConfiguration:
    """The entries of a webhook configuration that lead to our Service."""
    metadata = mapping(configuration.get("metadata"))
    webhooks = configuration.get("webhooks")
    entries = [
        Entry(index, str(webhook.get("name")), _bytes(client.get("caBundle")))
        for index, webhook in enumerate(webhooks if isinstance(webhooks, list) else ())
        if isinstance(webhook, dict)
        and (client := mapping(webhook.get("clientConfig")))
        and (mapping(client.get("service")).get("name"), mapping(client.get("service")).get("namespace"))
        == (service, namespace)
    ]
    return HeldConfiguration(
        plural,
        str(metadata.get("name")),
        str(metadata.get("resourceVersion")),
        tuple(entries),
        is_of_certificate_manager(configuration),
    )


def is_of_certificate_manager(obj: JsonObject | None) -> bool:
    """Whether cert-manager writes certificates into this object."""
    annotations = mapping(mapping((obj or {}).get("metadata")).get("annotations"))
    return any(name.startswith(CERTIFICATE_MANAGER) for name in annotations)


def certificates_of(pem_bytes: bytes) -> Certificates:
    """The certificates of a PEM text; none where one of them cannot be read."""
    try:
        return tuple(x509.load_pem_x509_certificates(pem_bytes))
    except ValueError:
        return ()


def authorities_of(pem_bytes: bytes) -> Certificates:
    """The CAs among them."""
    return tuple(one for one in certificates_of(pem_bytes) if is_authority(one))


def bundle_of(certificates: Iterable[x509.Certificate]) -> bytes:
    """Certificates as one PEM text."""
    return b"".join(pem(one) for one in certificates)


def names_of(certificate: x509.Certificate) -> frozenset[str]:
    """The DNS names and addresses a certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, *UNREADABLE):
        return frozenset()
    return frozenset(
        [*names.get_values_for_type(x509.DNSName), *(str(one) for one in names.get_values_for_type(x509.IPAddress))]
    )


def _names_its_key(certificate: x509.Certificate) -> bool:
    try:
        certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except (x509.ExtensionNotFound, *UNREADABLE):
        return False
    return True


def _data(secret: JsonObject) -> dict[str, bytes]:
    return {str(key): _bytes(value) for key, value in mapping(secret.get("data")).items()}


def _bytes(value: Any) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""
