"""The last policies without a fault, kept in a ConfigMap, so that a bad set and a restart together are no outage.

The controller writes it, the server reads it when what it finds at its start has errors. The bytes are those of the files
and objects themselves: gzipped JSON, the same for the same set.
"""

import base64
import binascii
import gzip
import json
from typing import Any

from signalbox.apiserver.connection import ApiServer
from signalbox.configuration import SetupFiles
from signalbox.manifests import FileBytes, PathBytes
from signalbox.packed import PackedError, size_unpacked, unpacked
from signalbox.review import JsonObject

NAMESPACE = "signalbox-system"
CONFIG_MAP = "signalbox-last-good-policies"
KEY = "policies.json.gz"
LIMIT = 1024 * 1024 - len(KEY)
"""What a ConfigMap holds beside the name of its key."""

# The server reads it beside everything else that it holds.
_MOST_UNPACKED = 16 * 1024 * 1024
_MOST_VALUES = 1_000_000
_PARTS = ("policies", "signs", "objects")


class LastGoodError(ValueError):
    """What is kept cannot be read; the text says why."""


def config_map_path(namespace: str = NAMESPACE) -> str:
    """Where the ConfigMap stands in the API."""
    return f"/api/v1/namespaces/{namespace}/configmaps/{CONFIG_MAP}"


def read_last_good(api: ApiServer, namespace: str = NAMESPACE) -> SetupFiles | None:
    """The last good set, None where none was ever kept. It knows nothing of the cluster: ``cluster`` is None.

    Raises ApiError where the API server does not give it, and LastGoodError where it is not what the controller wrote.
    """
    found = api.find(config_map_path(namespace))
    return None if found is None else unpack(kept_bytes(found))


def kept_bytes(config_map: JsonObject) -> bytes:
    """What the ConfigMap keeps, still packed. Raises LastGoodError."""
    data = config_map.get("binaryData")
    text = data.get(KEY) if isinstance(data, dict) else None
    if not isinstance(text, str):
        raise LastGoodError(f"ConfigMap {CONFIG_MAP} has no binaryData[{KEY}]")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise LastGoodError(f"binaryData[{KEY}] of ConfigMap {CONFIG_MAP} is no base64: {error}") from None


def pack(files: SetupFiles) -> bytes:
    """The set as bytes to keep; what is known of the cluster is left out."""
    parts = {part: [_as_json(path) for path in getattr(files, part)] for part in _PARTS}
    # Without a time in it: the same set is the same bytes.
    return gzip.compress(json.dumps(parts).encode(), mtime=0)


def is_too_large(packed: bytes) -> bool:
    """Whether a ConfigMap has no room for it, or a server would not read it."""
    return len(packed) > LIMIT or size_unpacked(packed) > _MOST_UNPACKED


def unpack(data: bytes) -> SetupFiles:
    """The set that was packed. Raises LastGoodError."""
    try:
        parts = unpacked(data, _MOST_UNPACKED, _MOST_VALUES)
        policies, signs, objects = (tuple(_path_of(path) for path in parts[part]) for part in _PARTS)
    except PackedError as error:
        raise LastGoodError(f"the set that was kept {error}") from None
    except (UnicodeError, KeyError, TypeError, AttributeError) as error:
        raise LastGoodError(f"the set that was kept cannot be read: {type(error).__name__}: {error}") from None
    return SetupFiles(policies, signs, objects=objects)


def _as_json(path: PathBytes) -> JsonObject:
    # Bytes that are no UTF-8 come back as they were, and all others can be read by a person.
    files = [{"name": file.name, "text": file.data.decode("utf-8", "surrogateescape")} for file in path.files]
    return {"path": path.path, "files": files}


def _path_of(path: Any) -> PathBytes:
    files = tuple(FileBytes(str(file["name"]), file["text"].encode("utf-8", "surrogateescape")) for file in path["files"])
    return PathBytes(str(path["path"]), files)
