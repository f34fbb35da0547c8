"""Development certificates: a CA of one's own and a server certificate signed by it."""

import ipaddress
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from signalbox.certs.validity import check_pair

DEFAULT_HOSTS: tuple[str, ...] = (
    "localhost",
    "127.0.0.1",
    "::1",
    "signalbox",
    "signalbox.signalbox-system",
    "signalbox.signalbox-system.svc",
    "signalbox.signalbox-system.svc.cluster.local",
)

_CA_DAYS = 3650
_CLOCK_SKEW = timedelta(minutes=5)
_CA_NAME = "Signalbox development CA"


class IssueError(Exception):
    """Certificates that cannot be issued as asked; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Issued:
    """The files that were written. ``new_ca`` is False where the CA that was there signed the new certificate."""

    ca: Path
    certificate: Path
    key: Path
    new_ca: bool
    not_after: datetime


@dataclass(frozen=True, slots=True)
class _Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def issue_development(directory: Path, hosts: Sequence[str], days: int, now: datetime, *, force: bool = False) -> Issued:
    """Write ca.crt, ca.key, tls.crt and tls.key into the directory.

    A CA that is there and still valid signs again, so that a ``caBundle`` made from it stays right; one that is not is
    replaced only with ``force``. Raises IssueError.
    """
    if days < 1:
        raise IssueError(f"a certificate must last at least one day, not {days}")
    names = [_general_name(host) for host in hosts]
    if not names:
        raise IssueError("a certificate needs at least one host name or address")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        existing = None if force else _existing_authority(directory, now)
        authority = existing or _new_authority(now, days)
        if existing is None:
            _write(directory / "ca.key", _key_pem(authority.key), 0o600)
            _write(directory / "ca.crt", _pem(authority.certificate), 0o644)
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _server_certificate(authority, key, names, now, days)
        _write(directory / "tls.key", _key_pem(key), 0o600)
        _write(directory / "tls.crt", _pem(certificate), 0o644)
    except OSError as error:
        raise IssueError(f"{error.filename or directory}: {error.strerror or error}") from error
    return Issued(
        ca=directory / "ca.crt",
        certificate=directory / "tls.crt",
        key=directory / "tls.key",
        new_ca=existing is None,
        not_after=certificate.not_valid_after_utc,
    )


def _existing_authority(directory: Path, now: datetime) -> _Authority | None:
    paths = (directory / "ca.crt", directory / "ca.key")
    present = [path for path in paths if path.exists()]
    if not present:
        return None
    if len(present) == 1:
        raise IssueError(f"{present[0]} is there without its other half; use --force to make a new CA")
    certificate_pem, key_pem = (path.read_bytes() for path in paths)
    # A CA has no host names: everything else must hold for it as for a server.
    problems = [problem for problem in check_pair(certificate_pem, key_pem, now) if problem.code not in _NOT_OF_A_CA]
    if problems:
        raise IssueError(f"{paths[0]}: {problems[0].text}; use --force to make a new CA")
    certificate = x509.load_pem_x509_certificate(certificate_pem)
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not _is_ca(certificate):
        raise IssueError(f"{paths[0]} is no ECDSA CA; use --force to make a new CA")
    return _Authority(certificate, key)


_NOT_OF_A_CA = frozenset({"no-san", "not-for-servers"})


def _is_ca(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _new_authority(now: datetime, days: int) -> _Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _CA_NAME)])
    ski = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        _builder(name, name, key, now, max(days, _CA_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(ski, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(ski), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _Authority(certificate, key)


def _server_certificate(
    authority: _Authority,
    key: ec.EllipticCurvePrivateKey,
    names: Sequence[x509.GeneralName],
    now: datetime,
    days: int,
) -> x509.Certificate:
    issuer = authority.certificate
    issuer_ski = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(names[0].value)[:64])])
    builder = _builder(subject, issuer.subject, key, now, days, latest=issuer.not_valid_after_utc)
    return (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_ski), critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    days: int,
    latest: datetime | None = None,
) -> x509.CertificateBuilder:
    not_after = now + timedelta(days=days)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Clocks differ: a certificate made now must hold on a machine that lags behind.
        .not_valid_before(now - _CLOCK_SKEW)
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


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _write(path: Path, data: bytes, mode: int) -> None:
    """Replace a file in one step; it never exists with wider permissions or half its content."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
