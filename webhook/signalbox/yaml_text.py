"""Objects as YAML that kubectl reads back as the same objects."""

import re
from collections.abc import Sequence
from typing import Any

import yaml
from yaml.cyaml import CSafeDumper

# PyYAML quotes what YAML 1.1 in its own reading would take for no string; kubectl's reader takes some more (1e3, 0o17, 1_0).
_LOOKS_LIKE_NUMBER = re.compile(r"[-+.]?\d")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", ""})


class _Dumper(CSafeDumper):
    """Strings quoted wherever a reader might differ, blocks for texts of several lines, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value:
        style = "|"
    elif _LOOKS_LIKE_NUMBER.match(value) or value.lower() in _WORDS:
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _string)


def yaml_documents(objects: Sequence[Any]) -> str:
    """The objects as one stream of documents, in the order of their keys as given."""
    dumped: str = yaml.dump_all(
        objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**9, explicit_start=len(objects) > 1
    )
    return dumped
