"""Is this a certificate and key one may serve with? Pure: the time is an argument."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes, PrivateKeyTypes

from signalbox.certs.authority import UNREADABLE

Code = Literal[
    "unreadable-certificate",
    "unreadable-key",
    "key-mismatch",
    "expired",
    "not-yet-valid",
    "no-san",
    "not-for-servers",
    "weak-key",
    "unsupported-key",
]

_LEAST_RSA_BITS = 2048
_CURVES = frozenset({"secp256r1", "secp384r1"})


@dataclass(frozen=True, slots=True)
class CertificateProblem:
    """One thing wrong with a pair; ``text`` is for people."""

    code: Code
    text: str


_UNSUPPORTED = CertificateProblem("unsupported-key", "the key is none of RSA, ECDSA P-256 or P-384, Ed25519")


def check_pair(certificate_pem: bytes, key_pem: bytes, now: datetime) -> list[CertificateProblem]:
    """What stands in the way of serving with this pair at that time; empty where nothing does."""
    problems: list[CertificateProblem] = []
    certificate = read_certificate(certificate_pem)
    if certificate is None:
        problems.append(CertificateProblem("unreadable-certificate", "the certificate is no PEM certificate"))
    key = _read_key(key_pem)
    if key is None:
        problems.append(CertificateProblem("unreadable-key", "the key is no PEM private key without a password"))
    if certificate is None:
        return problems
    try:
        public = certificate.public_key()
    except UNREADABLE:
        problems.append(_UNSUPPORTED)
    else:
        if key is not None and _spki(key.public_key()) != _spki(public):
            problems.append(CertificateProblem("key-mismatch", "the key does not belong to the certificate"))
        problems.extend(_check_strength(public))
    problems.extend(_check_dates(certificate, now))
    try:
        problems.extend(_check_extensions(certificate))
    except UNREADABLE:
        problems.append(CertificateProblem("unreadable-certificate", "the certificate's extensions cannot be read"))
    return problems


def read_certificate(pem: bytes) -> x509.Certificate | None:
    """The first certificate of a PEM file, the one a server shows; None where a certificate of it cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem)[0]
    except ValueError:
        return None


def _read_key(pem: bytes) -> PrivateKeyTypes | None:
    try:
        return serialization.load_pem_private_key(pem, password=None)
    # TypeError among it: it is encrypted.
    except UNREADABLE:
        return None


def _spki(key: object) -> bytes:
    encode = getattr(key, "public_bytes", None)
    if encode is None:
        return b""
    encoded: bytes = encode(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded


def _check_dates(certificate: x509.Certificate, now: datetime) -> list[CertificateProblem]:
    if now >= certificate.not_valid_after_utc:
        return [CertificateProblem("expired", f"the certificate expired at {certificate.not_valid_after_utc:%FT%TZ}")]
    if now < certificate.not_valid_before_utc:
        text = f"the certificate is not valid before {certificate.not_valid_before_utc:%FT%TZ}"
        return [CertificateProblem("not-yet-valid", text)]
    return []


def _check_extensions(certificate: x509.Certificate) -> list[CertificateProblem]:
    problems = []
    try:
        names = list(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        names = []
    if not names:
        text = "the certificate has no subjectAltName, clients take no common name any more"
        problems.append(CertificateProblem("no-san", text))
    try:
        usage = list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return problems
    allowed = {x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    if allowed.isdisjoint(usage):
        problems.append(CertificateProblem("not-for-servers", "the certificate's extended key usage lacks serverAuth"))
    return problems


def _check_strength(key: CertificatePublicKeyTypes) -> list[CertificateProblem]:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _LEAST_RSA_BITS:
            text = f"an RSA key of {key.key_size} bits is weak, {_LEAST_RSA_BITS} are the least"
            return [CertificateProblem("weak-key", text)]
        return []
    if isinstance(key, ed25519.Ed25519PublicKey):
        return []
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return []
    return [_UNSUPPORTED]
