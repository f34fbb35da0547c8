"""The serving certificate: read, checked, handed to the workers, and read again when its files change."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from signalbox.certs.validity import CertificateProblem, check_pair, read_certificate

EXPIRED_ADVICE = (
    "the API server does not talk to a webhook whose certificate has expired: put a new pair where --cert and --key point, "
    "it is taken up without a restart"
)
REJECTED_ADVICE = (
    "the pair before stays in service: put a certificate and the key that belongs to it where --cert and --key point, "
    "it is taken up without a restart"
)


class CertificateError(Exception):
    """A pair one cannot serve with; the text says why."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate chain and its key, as PEM, checked to belong together."""

    certificate: bytes
    key: bytes
    not_after: datetime


@dataclass(frozen=True, slots=True)
class PairFiles:
    """Paths under which a pair can be opened by this process and its forked workers, and nobody else."""

    certificate: str
    key: str

    @classmethod
    def of(cls, pair: Pair, private_directory: Path) -> "PairFiles":
        """Put the pair where Granian can open it: in memory where there is memfd, else in a private directory.

        The files on disk are not used directly: they may change between our check and the worker that reads them.
        """
        return cls(
            _openable("certificate", pair.certificate, private_directory),
            _openable("key", pair.key, private_directory),
        )


class CertificateFiles:
    """The two files on disk, read anew at each poll: they are small, and content is the one sure sign of a change.

    ``rejected`` says why what stands there now is not in service; empty where it is. ``not_after`` is of what is.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._paths = (certificate, key)
        self._tried: tuple[bytes, bytes] | str = ""
        self._served: tuple[bytes, bytes] | None = None
        self.not_after: datetime | None = None
        self.rejected = ""

    def load(self) -> tuple[Pair, list[str]]:
        """The pair to start with, and what one must be warned of. Raises CertificateError."""
        found = self._read()
        if isinstance(found, str):
            raise CertificateError(found)
        pair, warnings = _checked(found, datetime.now(UTC), start=True)
        self._tried = found
        self._serve(pair)
        return pair, warnings

    def poll(self) -> Pair | None:
        """A new pair where the files changed. Raises CertificateError, once a fault, where it cannot be used."""
        found = self._read()
        if found == self._tried:
            return None
        self._tried = found
        self.rejected = ""
        if found == self._served:
            # A change for the worse was taken back.
            return None
        try:
            if isinstance(found, str):
                raise CertificateError(found)
            pair, _ = _checked(found, datetime.now(UTC), start=False)
        except CertificateError as error:
            self.rejected = str(error)
            raise
        self._serve(pair)
        return pair

    def _serve(self, pair: Pair) -> None:
        self._served = pair.certificate, pair.key
        self.not_after = pair.not_after

    def _read(self) -> tuple[bytes, bytes] | str:
        """The two files, or why they cannot be read."""
        try:
            return self._paths[0].read_bytes(), self._paths[1].read_bytes()
        except OSError as error:
            return f"{error.filename}: {error.strerror}"


def _checked(pems: tuple[bytes, bytes], now: datetime, *, start: bool) -> tuple[Pair, list[str]]:
    problems = check_pair(*pems, now)
    # An expired certificate can be renewed under a running server, so it does not keep one from starting.
    bearable = [problem for problem in problems if start and problem.code in ("expired", "not-yet-valid", "no-san")]
    fatal = [problem for problem in problems if problem not in bearable]
    if fatal:
        raise CertificateError("; ".join(problem.text for problem in fatal))
    certificate = read_certificate(pems[0])
    if certificate is None:
        raise CertificateError("the certificate is no PEM certificate")
    return Pair(*pems, certificate.not_valid_after_utc), [_warning(problem) for problem in bearable]


def _warning(problem: CertificateProblem) -> str:
    return f"{problem.text}; {EXPIRED_ADVICE}" if problem.code == "expired" else problem.text


def _openable(name: str, data: bytes, private_directory: Path) -> str:
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(f"signalbox-{name}")
        os.write(descriptor, data)
        return f"/proc/self/fd/{descriptor}"
    path = private_directory / f"{name}-{len(list(private_directory.iterdir()))}.pem"
    path.touch(mode=0o600)
    path.write_bytes(data)
    return str(path)
