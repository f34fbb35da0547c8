"""Making certificates: a CA, and server certificates signed by it. Keys are ECDSA P-256; the time is an argument."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW = timedelta(minutes=5)
"""How far clocks may differ: a certificate made now holds on a machine that lags behind by less."""

UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)
"""What asking a certificate for its key or an extension may raise: reading it has not looked at either."""


class IssueError(Exception):
    """Certificates that cannot be issued as asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA: its certificate and the key that signs."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM, without a password."""
        return key_pem(self.key)


def new_authority(name: str, now: datetime, lasts: timedelta) -> Authority:
    """A new CA that is valid for that long."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ski = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(subject, subject, key, now, lasts)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(ski, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ski), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def issue_server(authority: Authority, hosts: Sequence[str], now: datetime, lasts: timedelta) -> tuple[bytes, bytes]:
    """A new key and a server certificate for these names and addresses: certificate and key as PEM. Raises IssueError.

    It never outlives its CA.
    """
    names = [_general_name(host) for host in hosts]
    if not names:
        raise IssueError("a certificate needs at least one host name or address")
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    issuer_ski = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(names[0].value)[:64])])
    certificate = (
        _builder(subject, issuer.subject, key, now, lasts, latest=issuer.not_valid_after_utc)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_ski), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return pem(certificate), key_pem(key)


def is_authority(certificate: x509.Certificate) -> bool:
    """Whether a certificate may sign others."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, *UNREADABLE):
        return False


@lru_cache(maxsize=256)
def signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether that CA signed this certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, *UNREADABLE):
        return False
    return True


def pem(certificate: x509.Certificate) -> bytes:
    """A certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A key as PEM, without a password."""
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    lasts: timedelta,
    latest: datetime | None = None,
) -> x509.CertificateBuilder:
    not_after = now + lasts
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .not_valid_after(min(not_after, latest) if latest else not_after)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        pass
    try:
        return x509.DNSName(host)
    except ValueError as error:
        raise IssueError(f"{host!r} is no host name or address; write names beyond ASCII in their xn-- form") from error
