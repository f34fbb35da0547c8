"""Reading the state of certificates from an API server, and writing what one step of the plan changes."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from signalbox.apiserver.connection import JSON_PATCH, ApiServer
from signalbox.controller.certificates.plan import WriteBundles
from signalbox.controller.certificates.state import (
    AUTHORITY_SECRET,
    SERVING_SECRET,
    State,
    is_of_certificate_manager,
    read_authority,
    read_configuration,
    read_serving,
)
from signalbox.controller.webhooks.shipped import API_VERSION, SERVICE, Shipped
from signalbox.review import JsonObject

_LABELS = {"app.kubernetes.io/part-of": "signalbox", "app.kubernetes.io/managed-by": "signalbox-controller"}


@dataclass(frozen=True, slots=True)
class Found:
    """One look at the cluster. ``others`` names what cert-manager takes care of: then nothing of it is ours to write."""

    state: State
    authority: JsonObject | None
    serving: JsonObject | None
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CertificateStore:
    """The Secrets of one namespace, and the configurations whose entries lead to it."""

    api: ApiServer
    namespace: str
    shipped: Sequence[Shipped]

    def read(self, now: datetime) -> Found:
        """Everything as it is now. Raises ApiError.

        Configurations first: a leader that has been overtaken then sees the newer CA, or fails at the older configuration.
        """
        raw = [(one.plural, found) for one in self.shipped if (found := self.api.find(one.path)) is not None]
        authority, serving = self.api.find(self._secret(AUTHORITY_SECRET)), self.api.find(self._secret(SERVING_SECRET))
        state = State(
            read_authority(authority, now),
            read_serving(serving, now),
            tuple(read_configuration(plural, found, SERVICE, self.namespace) for plural, found in raw),
        )
        others = [f"{one.plural}/{one.name}" for one in state.configurations if one.certificate_manager]
        secrets = ((AUTHORITY_SECRET, authority), (SERVING_SECRET, serving))
        others += [f"secrets/{name}" for name, secret in secrets if is_of_certificate_manager(secret)]
        return Found(state, authority, serving, tuple(others))

    def write_authority(self, before: JsonObject | None, data: Mapping[str, bytes]) -> None:
        """Write the Secret of the CA, if it is still as it was read. Raises ApiError, ``conflict`` where it is not."""
        self._write_secret(AUTHORITY_SECRET, "Opaque", before, data)

    def write_serving(self, before: JsonObject | None, data: Mapping[str, bytes]) -> None:
        """Write the Secret that the replicas mount, likewise."""
        self._write_secret(SERVING_SECRET, "kubernetes.io/tls", before, data)

    def write_bundles(self, step: WriteBundles) -> None:
        """Write the caBundle of some entries, and nothing else. Raises ApiError, likewise."""
        value = base64.b64encode(step.bundle).decode()
        patch: list[JsonObject] = [{"op": "add", "path": "/metadata/resourceVersion", "value": step.version}]
        for index, name in step.entries:
            patch.append({"op": "test", "path": f"/webhooks/{index}/name", "value": name})
            patch.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value})
        self.api.patch(f"/apis/{API_VERSION}/{step.plural}/{step.name}", patch, JSON_PATCH)

    def _write_secret(self, name: str, kind: str, before: JsonObject | None, data: Mapping[str, bytes]) -> None:
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if before is None:
            metadata = {"name": name, "namespace": self.namespace, "labels": _LABELS}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "data": encoded}
            self.api.create(self._secret(), body)
        else:
            # Its labels, its type, and keys that are not ours stay; the resourceVersion makes it fail if it has changed.
            kept = before.get("data")
            merged = {**(kept if isinstance(kept, dict) else {}), **encoded}
            self.api.replace(self._secret(name), {**before, "data": merged})

    def _secret(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets" + (f"/{name}" if name else "")
