"""Development certificates: a CA of one's own and a server certificate signed by it, as files."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from signalbox.certs.authority import Authority, IssueError, is_authority, issue_server, new_authority
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
_CA_NAME = "Signalbox development CA"


@dataclass(frozen=True, slots=True)
class Issued:
    """The files that were written. ``new_ca`` is False where the CA that was there signed the new certificate."""

    ca: Path
    certificate: Path
    key: Path
    new_ca: bool
    not_after: datetime


def issue_development(directory: Path, hosts: Sequence[str], days: int, now: datetime, *, force: bool = False) -> Issued:
    """Write ca.crt, ca.key, tls.crt and tls.key into the directory.

    A CA that is there and still valid signs again, so that a ``caBundle`` made from it stays right; one that is not is
    replaced only with ``force``. Raises IssueError.
    """
    if days < 1:
        raise IssueError(f"a certificate must last at least one day, not {days}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        existing = None if force else _existing_authority(directory, now)
        authority = existing or new_authority(_CA_NAME, now, timedelta(days=max(days, _CA_DAYS)))
        certificate, key = issue_server(authority, hosts, now, timedelta(days=days))
        if existing is None:
            _write(directory / "ca.key", authority.key_pem, 0o600)
            _write(directory / "ca.crt", authority.certificate_pem, 0o644)
        _write(directory / "tls.key", key, 0o600)
        _write(directory / "tls.crt", certificate, 0o644)
    except OSError as error:
        raise IssueError(f"{error.filename or directory}: {error.strerror or error}") from error
    return Issued(
        ca=directory / "ca.crt",
        certificate=directory / "tls.crt",
        key=directory / "tls.key",
        new_ca=existing is None,
        not_after=x509.load_pem_x509_certificate(certificate).not_valid_after_utc,
    )


def _existing_authority(directory: Path, now: datetime) -> Authority | None:
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
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not is_authority(certificate):
        raise IssueError(f"{paths[0]} is no ECDSA CA; use --force to make a new CA")
    return Authority(certificate, key)


_NOT_OF_A_CA = frozenset({"no-san", "not-for-servers"})


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
