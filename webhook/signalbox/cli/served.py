"""What is really served: asked of each replica through the API server, or by a TLS handshake of one's own."""

import socket
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from cryptography import x509

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError

_SECONDS = 5.0
_SELECTOR = "app.kubernetes.io/name=signalbox"
_PORT = 8443


class ServedError(Exception):
    """A server one cannot look at; the text says why."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One Pod of the webhook and when the certificate ends that it serves; ``fault`` says why that is not known."""

    name: str
    not_after: datetime | None
    fault: str = ""


def shown_by(server: str, name: str) -> x509.Certificate:
    """The certificate that HOST:PORT shows for a name, whoever signed it. Raises ServedError."""
    host, _, port = server.rpartition(":")
    if not host or not port.isdecimal():
        raise ServedError(f"{server!r} is not HOST:PORT")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # Whether it is to be trusted is what is asked: it has to be seen first.
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=name) as connection,
        ):
            shown = connection.getpeercert(binary_form=True)
    except (OSError, OverflowError) as error:
        raise ServedError(f"{server} does not answer: {error}") from error
    if not shown:
        raise ServedError(f"{server} shows no certificate")
    return x509.load_der_x509_certificate(shown)


def replicas(api: ApiServer, namespace: str) -> list[Replica]:
    """Every running Pod of the webhook, asked for its verbose readiness. Raises ApiError where Pods cannot be listed."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    listed = api.get(path, {"labelSelector": _SELECTOR, "fieldSelector": "status.phase=Running"})
    names = [str(pod["metadata"]["name"]) for pod in listed.get("items") or ()]
    return [_replica(api, path, name) for name in sorted(names)]


def _replica(api: ApiServer, path: str, name: str) -> Replica:
    try:
        # Once: what does not answer is told, not waited for.
        state = api.send("GET", f"{path}/https:{name}:{_PORT}/proxy/readyz", None, query={"verbose": ""})
        return Replica(name, _not_after(state))
    except ApiError as error:
        return Replica(name, None, error.message)
    except (orjson.JSONDecodeError, ValueError) as error:
        return Replica(name, None, f"its readiness cannot be read: {error}")


def _not_after(state: dict[str, Any]) -> datetime:
    certificate = state.get("certificate")
    return datetime.fromisoformat(str(certificate.get("notAfter") if isinstance(certificate, dict) else None)).astimezone(UTC)
