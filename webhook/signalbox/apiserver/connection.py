"""A connection to an API server: raw JSON in and out, through the kubernetes client's configuration and connection pool.

The client finds the server (service account, kubeconfig, exec plugins) and renews tokens. Its model classes are left out: they
drop fields they do not know and cost many times the parsing.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlencode

import orjson

from signalbox.apiserver.error import ApiConfigurationError, ApiError, ApiGarbled, ApiUnreachable
from signalbox.review import JsonObject

if TYPE_CHECKING:
    import urllib3

Verb = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/token"
_PAGE = 500
TRIES = 5
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 10.0
_CONNECT_SECONDS = 5.0
_READ_SECONDS = 30.0
# etcd keeps no object over 1.5 MiB; JSON may spell it at thrice that.
_LONGEST_EVENT = 16 * 1024 * 1024


class ApiServer:
    """One API server as one user. Threads may share it.

    ``per_second`` bounds the requests of lists, so that a scan never crowds out others. ``tries``: how often a read is sent
    where it may succeed a little later. ``sleep`` is a test's.
    """

    def __init__(
        self,
        configuration: Any,
        *,
        per_second: float | None = None,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ):
        from kubernetes.client import ApiClient

        configuration.connection_pool_maxsize = 32
        self._configuration = configuration
        self._pool: urllib3.PoolManager = ApiClient(configuration).rest_client.pool_manager
        self._interval = 1 / per_second if per_second else 0.0
        self._next = 0.0
        self._turn = threading.Lock()
        self._tries = tries
        self._sleep = sleep
        self.clock_ahead: float | None = None
        """By how many seconds the server's clock is ahead of ours, from its last answer; None before the first."""

    @property
    def host(self) -> str:
        """Where it is, ``https://10.0.0.1:6443``."""
        return str(self._configuration.host)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> JsonObject:
        """One object, or one page of a list. Raises ApiError; what may pass is tried again a few times."""
        return self._tried_again("GET", path, query)

    def find(self, path: str) -> JsonObject | None:
        """One object as ``get`` gives it, None where it is not there. Raises ApiError."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    def create(self, path: str, body: JsonObject, query: Mapping[str, str] | None = None) -> JsonObject:
        """POST to a collection. Raises ApiError, ``conflict`` where the name is taken."""
        return self.send("POST", path, body, query=query)

    def replace(self, path: str, body: JsonObject) -> JsonObject:
        """PUT. With a resourceVersion in the body, ``conflict`` where somebody else wrote meanwhile."""
        return self.send("PUT", path, body)

    def patch(
        self, path: str, body: Any, content_type: str = MERGE_PATCH, query: Mapping[str, str] | None = None
    ) -> JsonObject:
        """PATCH, a merge patch unless told otherwise."""
        return self.send("PATCH", path, body, content_type, query)

    def delete(self, path: str, query: Mapping[str, str] | None = None) -> None:
        """DELETE; that there is nothing is fine."""
        try:
            self.send("DELETE", path, None, query=query)
        except ApiError as error:
            if not error.not_found:
                raise

    def send(
        self, verb: Verb, path: str, body: Any, content_type: str = JSON, query: Mapping[str, str] | None = None
    ) -> JsonObject:
        """One request, sent once. Raises ApiError."""
        data = None if body is None else orjson.dumps(body)
        response = self._open(verb, path, query, data, content_type, _READ_SECONDS)
        return _object(_read(response) or b"{}")

    def pages(
        self, path: str, *, limit: int = _PAGE, query: Mapping[str, str] | None = None
    ) -> Iterator[tuple[list[JsonObject], str, int]]:
        """A list in pages: items, the list's resourceVersion, and how many the server says are left (0: none, or unknown).

        All pages are of one moment. Raises ApiError, ``expired`` where the listing took longer than the server keeps that
        moment (5 minutes by default): the caller begins anew. Items of a list carry neither apiVersion nor kind.
        """
        token = ""
        while True:
            asked = {**(query or {}), "limit": str(limit), **({"continue": token} if token else {})}
            self._wait_for_turn()
            page = self._tried_again("GET", path, asked)
            metadata, items = page.get("metadata"), page.get("items") or []
            # Whatever else answered, a proxy's page for one, must not pass for a list of nothing.
            if not isinstance(metadata, dict) or not isinstance(items, list) or "items" not in page:
                raise ApiGarbled(f"{path} was answered with something that is no list")
            left = metadata.get("remainingItemCount")
            version = str(metadata.get("resourceVersion") or "")
            yield [item for item in items if isinstance(item, dict)], version, left if isinstance(left, int) else 0
            last, token = token, str(metadata.get("continue") or "")
            if not token:
                return
            if token == last:
                raise ApiGarbled(f"{path} is answered with the same page again and again")

    def watch(self, path: str, resource_version: str, seconds: int) -> Iterator[tuple[str, JsonObject]]:
        """What happens after that resourceVersion, as (type, object), bookmarks among it; ends after so many seconds.

        Raises ApiError, ``expired`` where that version is too old (then list again).
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(seconds),
        }
        # A healthy server ends the watch itself: silence for longer means that the connection is dead.
        response = self._open("GET", path, query, None, JSON, seconds + _READ_SECONDS)
        for line in _lines(response):
            event = _object(line)
            what, found = event.get("type"), event.get("object")
            if not isinstance(found, dict):
                raise ApiGarbled("an event of a watch has no object")
            if what == "ERROR":
                code = found.get("code")
                raise _error(code if isinstance(code, int) else 500, found, None)
            yield str(what), found

    def _tried_again(self, verb: Verb, path: str, query: Mapping[str, str] | None) -> JsonObject:
        wait = _FIRST_WAIT
        for left in reversed(range(self._tries)):
            try:
                return self.send(verb, path, None, query=query)
            except ApiError as error:
                if not error.passing or not left:
                    raise
                self._sleep(min(error.retry_after or wait, _LONGEST_WAIT))
                wait *= 2
        raise AssertionError("the last try returns or raises")

    def _wait_for_turn(self) -> None:
        if not self._interval:
            return
        with self._turn:
            now = time.monotonic()
            wait = self._next - now
            self._next = max(now, self._next) + self._interval
        if wait > 0:
            self._sleep(wait)

    def _open(
        self,
        verb: Verb,
        path: str,
        query: Mapping[str, str] | None,
        data: bytes | None,
        content_type: str,
        read_seconds: float,
    ) -> "urllib3.BaseHTTPResponse":
        import urllib3

        headers = {"Accept": JSON, "User-Agent": "signalbox", **self._authorization()}
        if data is not None:
            headers["Content-Type"] = content_type
        url = self.host + path + (f"?{urlencode(query)}" if query else "")
        try:
            response = self._pool.request(
                verb,
                url,
                body=data,
                headers=headers,
                preload_content=False,
                retries=False,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read_seconds),
            )
            self._compare_clocks(response.headers.get("Date", ""))
            if response.status >= 400:
                raise _refusal(response)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiUnreachable(f"{self.host} does not answer: {_short(error)}") from error
        return response

    def _compare_clocks(self, date: str) -> None:
        with contextlib.suppress(ValueError):
            self.clock_ahead = parsedate_to_datetime(date).timestamp() - time.time()

    def _authorization(self) -> dict[str, str]:
        # Asking for the settings is what makes the client read a renewed service account token.
        settings = self._configuration.auth_settings()
        return {
            setting["key"]: setting["value"] for setting in settings.values() if setting["in"] == "header" and setting["value"]
        }


def connect(
    kubeconfig: str | None = None,
    context: str | None = None,
    *,
    per_second: float | None = None,
    tries: int = TRIES,
    sleep: Callable[[float], None] = time.sleep,
) -> ApiServer:
    """The API server one would expect: the one named, else the Pod's own, else the one of KUBECONFIG or ~/.kube/config.

    Raises ApiConfigurationError, with a text that says where was looked.
    """
    import yaml
    from kubernetes import config
    from kubernetes.client import Configuration

    configuration = Configuration()
    try:
        if kubeconfig is None and context is None and os.path.exists(_SERVICE_ACCOUNT):
            config.load_incluster_config(client_configuration=configuration)
        else:
            config.load_kube_config(config_file=kubeconfig, context=context, client_configuration=configuration)
    # A kubeconfig of an unexpected shape ends in whatever the client stumbles over.
    except (config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, AttributeError, LookupError) as error:
        looked = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
        raise ApiConfigurationError(f"no API server to ask, looked into {looked}: {_short(error)}") from error
    return ApiServer(configuration, per_second=per_second, tries=tries, sleep=sleep)


def _read(response: "urllib3.BaseHTTPResponse") -> bytes:
    import urllib3

    try:
        return response.read()
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise ApiUnreachable(f"the answer broke off: {_short(error)}") from error
    finally:
        response.release_conn()


def _lines(response: "urllib3.BaseHTTPResponse") -> Iterator[bytes]:
    import urllib3

    rest = b""
    try:
        # read1 hands on what has come, read would wait for a whole buffer: an event must not wait for the next one.
        while piece := response.read1():
            *lines, rest = (rest + piece).split(b"\n")
            yield from filter(None, lines)
            if len(rest) > _LONGEST_EVENT:
                raise ApiGarbled("an event of a watch has no end")
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise ApiUnreachable(f"the watch broke off: {_short(error)}") from error
    finally:
        response.close()


def _object(text: bytes) -> JsonObject:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ApiGarbled(f"the answer is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ApiGarbled("the answer is no JSON object")
    return found


def _refusal(response: "urllib3.BaseHTTPResponse") -> ApiError:
    text = _read(response)
    retry_after = response.headers.get("Retry-After", "")
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        found = None
    status = found if isinstance(found, dict) else {"message": text[:300].decode(errors="replace").strip()}
    return _error(response.status, status, float(retry_after) if retry_after.isdecimal() else None)


def _error(code: int, status: JsonObject, retry_after: float | None) -> ApiError:
    message = str(status.get("message") or f"the API server answered {code}")
    return ApiError(code, str(status.get("reason") or ""), message, retry_after)


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
