"""Values as one line of JSON, whatever a manifest holds."""

import json
from typing import Any

import orjson


def json_line(value: Any) -> str:
    """Compact JSON. Integers beyond 64 bits and lone surrogates, which orjson refuses, may stand in a manifest too."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, separators=(",", ":"), default=str)
