"""Development certificates, and what is wrong with a pair one is given."""

import ipaddress
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from signalbox.certs.authority import IssueError
from signalbox.certs.issue import DEFAULT_HOSTS, issue_development
from signalbox.certs.validity import check_pair

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def codes(folder: Path, now: datetime = NOW) -> list[str]:
    pems = (folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes()
    return [problem.code for problem in check_pair(*pems, now)]


def read(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def self_signed(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, *extensions: x509.ExtensionType) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(NOW).not_valid_after(NOW + timedelta(days=1))
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes | None = None) -> bytes:
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        encryption = serialization.BestAvailableEncryption(password)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "signalbox.signalbox-system.svc"])
def test_the_issued_certificate_is_trusted_for_each_default_host(tmp_path: Path, host: str) -> None:
    issued = issue_development(tmp_path, DEFAULT_HOSTS, 30, NOW)
    try:
        subject: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        subject = x509.DNSName(host)
    verifier = PolicyBuilder().store(Store([read(issued.ca)])).time(NOW).build_server_verifier(subject)
    assert verifier.verify(read(issued.certificate), [])
    assert codes(tmp_path) == []


def test_the_certificate_is_ecdsa_for_servers_only_and_valid_on_a_clock_that_lags(tmp_path: Path) -> None:
    issued = issue_development(tmp_path, ["localhost"], 30, NOW)
    certificate, ca = read(issued.certificate), read(issued.ca)
    assert isinstance(certificate.public_key(), ec.EllipticCurvePublicKey)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    assert ca.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is True
    assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc == issued.not_after


def test_key_files_are_for_their_owner_only_and_nothing_else_is_left_behind(tmp_path: Path) -> None:
    issue_development(tmp_path, ["localhost"], 30, NOW)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"ca.crt": 0o644, "ca.key": 0o600, "tls.crt": 0o644, "tls.key": 0o600}


def test_a_valid_ca_signs_again_and_its_files_stay(tmp_path: Path) -> None:
    first = issue_development(tmp_path, ["localhost"], 30, NOW)
    ca, certificate = first.ca.read_bytes(), first.certificate.read_bytes()
    second = issue_development(tmp_path, ["localhost"], 30, NOW + timedelta(days=20))
    assert (first.new_ca, second.new_ca) == (True, False)
    assert second.ca.read_bytes() == ca
    assert second.certificate.read_bytes() != certificate
    assert codes(tmp_path, NOW + timedelta(days=40)) == []


def test_a_ca_that_ended_is_replaced_only_when_asked(tmp_path: Path) -> None:
    ca = issue_development(tmp_path, ["localhost"], 30, NOW).ca
    old, later = ca.read_bytes(), NOW + timedelta(days=5000)
    with pytest.raises(IssueError, match=r"expired.*--force"):
        issue_development(tmp_path, ["localhost"], 30, later)
    assert ca.read_bytes() == old
    assert issue_development(tmp_path, ["localhost"], 30, later, force=True).new_ca
    assert ca.read_bytes() != old


def test_half_a_ca_and_a_server_certificate_as_ca_are_told(tmp_path: Path) -> None:
    issue_development(tmp_path, ["localhost"], 30, NOW)
    (tmp_path / "ca.crt").write_bytes((tmp_path / "tls.crt").read_bytes())
    (tmp_path / "ca.key").write_bytes((tmp_path / "tls.key").read_bytes())
    with pytest.raises(IssueError, match="is no ECDSA CA"):
        issue_development(tmp_path, ["localhost"], 30, NOW)
    (tmp_path / "ca.key").unlink()
    with pytest.raises(IssueError, match="without its other half"):
        issue_development(tmp_path, ["localhost"], 30, NOW)


def test_what_cannot_be_issued_is_told(tmp_path: Path) -> None:
    with pytest.raises(IssueError, match="at least one day"):
        issue_development(tmp_path, ["localhost"], 0, NOW)
    with pytest.raises(IssueError, match="at least one host"):
        issue_development(tmp_path, [], 1, NOW)
    with pytest.raises(IssueError, match="xn--"):
        issue_development(tmp_path, ["bahnhöfe.de"], 1, NOW)
    (tmp_path / "file").touch()
    with pytest.raises(IssueError, match="file"):
        issue_development(tmp_path / "file", ["localhost"], 1, NOW)


def test_a_certificate_outside_its_time_is_told(tmp_path: Path) -> None:
    issue_development(tmp_path, ["localhost"], 30, NOW)
    assert codes(tmp_path, NOW + timedelta(days=31)) == ["expired"]
    assert codes(tmp_path, NOW - timedelta(days=1)) == ["not-yet-valid"]


def test_a_key_of_another_certificate_is_told(tmp_path: Path) -> None:
    issue_development(tmp_path, ["localhost"], 30, NOW)
    (tmp_path / "tls.key").write_bytes(pem(ec.generate_private_key(ec.SECP256R1())))
    assert codes(tmp_path) == ["key-mismatch"]


def test_files_that_are_no_pem_are_told(tmp_path: Path) -> None:
    issue_development(tmp_path, ["localhost"], 30, NOW)
    good = (tmp_path / "tls.key").read_bytes()
    for bad in (b"", b"x", b"\xff\xfe", good[:60]):
        assert [problem.code for problem in check_pair(bad, bad, NOW)] == ["unreadable-certificate", "unreadable-key"]
    (tmp_path / "tls.key").write_bytes(pem(ec.generate_private_key(ec.SECP256R1()), b"secret"))
    assert codes(tmp_path) == ["unreadable-key"]


def test_a_certificate_without_names_or_for_clients_only_is_told() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    for_clients = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    problems = check_pair(self_signed(key, for_clients), pem(key), NOW)
    assert [problem.code for problem in problems] == ["no-san", "not-for-servers"]


def test_weak_and_unsupported_keys_are_told() -> None:
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    strong = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    rare = ec.generate_private_key(ec.SECP521R1())
    found = [[p.code for p in check_pair(self_signed(key, names), pem(key), NOW)] for key in (weak, strong, rare)]
    assert found == [["weak-key"], [], ["unsupported-key"]]
