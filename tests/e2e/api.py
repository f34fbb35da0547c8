"""A small client of the API server, for what a test asks often; what a person would see is asked of kubectl."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from typing import Any

JSON = "application/json"
MERGE = "application/merge-patch+json"

_PATHS = {
    "namespaces": "/api/v1",
    "pods": "/api/v1",
    "events": "/api/v1",
    "services": "/api/v1",
    "secrets": "/api/v1",
    "serviceaccounts": "/api/v1",
    "jobs": "/apis/batch/v1",
    "cronjobs": "/apis/batch/v1",
    "deployments": "/apis/apps/v1",
    "replicasets": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "jobsets": "/apis/jobset.x-k8s.io/v1alpha2",
    "workloads": "/apis/kueue.x-k8s.io/v1beta2",
    "clusterqueues": "/apis/kueue.x-k8s.io/v1beta2",
    "localqueues": "/apis/kueue.x-k8s.io/v1beta2",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "validatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
    "mutatingwebhookconfigurations": "/apis/admissionregistration.k8s.io/v1",
}


class ApiError(Exception):
    """An answer of 400 or more: its status code and the message of its Status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Api:
    """One connection to the API server as the administrator, or as whom it impersonates."""

    def __init__(self, port: int, trust: ssl.SSLContext, user: str = "", groups: tuple[str, ...] = ()) -> None:
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, context=trust, timeout=60)
        self._user, self._groups = user, groups

    def call(self, method: str, path: str, body: Any = None, content: str = JSON) -> Any:
        """One request; the parsed answer, or ApiError."""
        data = None if body is None else json.dumps(body).encode()
        try:
            return self._once(method, path, data, content)
        except (http.client.BadStatusLine, http.client.CannotSendRequest, ConnectionError, ssl.SSLEOFError):
            # The server closed a connection that had been idle.
            self._connection.close()
            return self._once(method, path, data, content)

    def _once(self, method: str, path: str, data: bytes | None, content: str) -> Any:
        self._connection.putrequest(method, path)
        for name, value in self._headers(data, content):
            self._connection.putheader(name, value)
        self._connection.endheaders(data)
        response = self._connection.getresponse()
        text = response.read()
        parsed = json.loads(text) if response.headers.get_content_type() == JSON else text.decode()
        if response.status >= 400:
            raise ApiError(response.status, parsed.get("message", "") if isinstance(parsed, dict) else parsed)
        return parsed

    def _headers(self, data: bytes | None, content: str) -> list[tuple[str, str]]:
        headers = [("Accept", JSON)]
        if data is not None:
            headers += [("Content-Type", content), ("Content-Length", str(len(data)))]
        if self._user:
            headers += [("Impersonate-User", self._user)]
            headers += [("Impersonate-Group", group) for group in (*self._groups, "system:authenticated")]
        return headers

    def get(self, resource: str, namespace: str, name: str) -> Any | None:
        """One object, None where there is none."""
        try:
            return self.call("GET", path_of(resource, namespace, name))
        except ApiError as error:
            if error.code == http.client.NOT_FOUND:
                return None
            raise

    def list(self, resource: str, namespace: str = "", selector: str = "") -> list[Any]:
        """All objects of a resource, in a namespace or everywhere; none of a resource the cluster does not have."""
        query = f"?labelSelector={selector}" if selector else ""
        try:
            items: list[Any] = self.call("GET", path_of(resource, namespace) + query)["items"]
        except ApiError as error:
            if error.code == http.client.NOT_FOUND:
                return []
            raise
        return items

    def create(self, resource: str, namespace: str, obj: Mapping[str, Any]) -> Any:
        """POST."""
        return self.call("POST", path_of(resource, namespace), obj)

    def patch(self, resource: str, namespace: str, name: str, patch: Any, subresource: str = "") -> Any:
        """A merge patch."""
        below = f"/{subresource}" if subresource else ""
        return self.call("PATCH", path_of(resource, namespace, name) + below, patch, MERGE)

    def delete(self, resource: str, namespace: str, name: str, propagation: str = "Background") -> None:
        """DELETE; an object that is gone is no error."""
        try:
            self.call("DELETE", path_of(resource, namespace, name), {"propagationPolicy": propagation})
        except ApiError as error:
            if error.code != http.client.NOT_FOUND:
                raise

    def delete_all(self, resource: str, namespace: str) -> None:
        """Everything of a resource in a namespace; a resource the cluster does not have is no error."""
        try:
            self.call("DELETE", path_of(resource, namespace), {"propagationPolicy": "Background", "gracePeriodSeconds": 0})
        except ApiError as error:
            if error.code != http.client.NOT_FOUND:
                raise


def path_of(resource: str, namespace: str = "", name: str = "") -> str:
    """The path of a resource, of a namespace's share of it, or of one object."""
    middle = f"/namespaces/{namespace}" if namespace else ""
    return f"{_PATHS[resource]}{middle}/{resource}" + (f"/{name}" if name else "")
