"""The last scan, kept in a ConfigMap for whoever shows it: the sums, and the workloads that are hit hardest.

The controller's scan writes it, the pages read it. Gzipped JSON; as many workloads as a ConfigMap has room for.
"""

import base64
import binascii
import gzip
from collections.abc import Sequence

import orjson

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.packed import PackedError, unpacked
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping

CONFIG_MAP = "signalbox-last-scan"
KEY = "scan.json.gz"
# A ConfigMap holds 1 MiB, and base64 is no part of that; what is left is for its metadata.
LIMIT = 1000 * 1024
_MOST_UNPACKED = 64 * 1024 * 1024
_MOST_VALUES = 3_000_000


class KeptScanError(ValueError):
    """What is kept cannot be read; the text says why."""


def config_map_path(namespace: str) -> str:
    """Where the ConfigMap stands in the API."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{CONFIG_MAP}"


def pack_scan(scan: JsonObject, subjects: Sequence[JsonObject], limit: int = LIMIT) -> bytes:
    """The scan as bytes to keep, with the first of the workloads, as many as fit; ``workloadsLeftOut`` counts the others."""
    shown = len(subjects)
    while True:
        content = {**scan, "workloads": list(subjects[:shown]), "workloadsLeftOut": len(subjects) - shown}
        packed = gzip.compress(orjson.dumps(content, default=str), 6, mtime=0)
        if len(packed) <= limit or not shown:
            return packed
        # A little below what would be in proportion: mostly the next try fits.
        shown = min(shown - 1, int(shown * limit / len(packed) * 0.9))


def write_scan(api: ApiServer, namespace: str, packed: bytes) -> None:
    """Put it in place of the one before. Raises ApiError."""
    path = config_map_path(namespace)
    body: JsonObject = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG_MAP, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "signalbox"}},
        "binaryData": {KEY: base64.b64encode(packed).decode("ascii")},
    }
    try:
        # Without a resourceVersion the last writer wins: of two leaders' scans either will do.
        api.replace(path, body)
    except ApiError as error:
        if not error.not_found:
            raise
        api.create(path.rpartition("/")[0], body)


def read_scan(api: ApiServer, namespace: str) -> JsonObject | None:
    """The scan that was kept last, None where none ever was. Raises ApiError and KeptScanError."""
    found = api.find(config_map_path(namespace))
    if found is None:
        return None
    text = mapping(found.get("binaryData")).get(KEY)
    if not isinstance(text, str):
        raise KeptScanError(f"ConfigMap {CONFIG_MAP} has no binaryData[{KEY}]")
    try:
        return unpack_scan(base64.b64decode(text, validate=True))
    except binascii.Error as error:
        raise KeptScanError(f"binaryData[{KEY}] of ConfigMap {CONFIG_MAP} is no base64: {error}") from None


def unpack_scan(packed: bytes) -> JsonObject:
    """The scan that was packed. Raises KeptScanError."""
    try:
        value = unpacked(packed, _MOST_UNPACKED, _MOST_VALUES)
    except PackedError as error:
        raise KeptScanError(f"the scan that was kept {error}") from None
    if not isinstance(value, dict):
        raise KeptScanError("the scan that was kept is no JSON object")
    return value
