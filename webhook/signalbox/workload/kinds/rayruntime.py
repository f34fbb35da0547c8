"""The runtime environment of a RayJob: YAML in a text field, of which variables and the working folder are of use here.

What it says holds for the driver and all workers, before what the containers say (Ray, handling dependencies).
"""

from typing import Any, NamedTuple

from yaml import YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode

from signalbox.review import JsonObject
from signalbox.yaml_tree import Composer, below

# The largest real ones have some hundred characters.
_LONGEST = 16 * 1024
# libyaml's time grows with the square of how many brackets stand open.
_MOST_OPEN = 200


class RuntimeEnvironment(NamedTuple):
    """``env`` as a container has it. A ``working_dir`` that is a path; empty where it is none or an archive."""

    env: tuple[JsonObject, ...] = ()
    working_dir: str = ""


_NOTHING = RuntimeEnvironment()


def read_runtime(text: Any) -> RuntimeEnvironment:
    """What ``runtimeEnvYAML`` says; nothing where it cannot be read (KubeRay says so itself)."""
    if not isinstance(text, str) or not text or len(text) > _LONGEST:
        return _NOTHING
    if text.count("[") + text.count("{") > _MOST_OPEN or not ("env_vars" in text or "working_dir" in text):
        return _NOTHING
    try:
        composer = Composer(text)
        try:
            root: Node | None = composer.get_single_node()
        finally:
            composer.dispose()
    except (YAMLError, UnicodeEncodeError):
        return _NOTHING
    folder = _text(root, "working_dir")
    return RuntimeEnvironment(tuple(_variables(root)), folder if folder.startswith("/") else "")


def _variables(root: Node | None) -> list[JsonObject]:
    found = below(root, "env_vars")
    if found is None or not isinstance(found[1], MappingNode):
        return []
    pairs = [pair for pair in found[1].value if isinstance(pair[0], ScalarNode) and isinstance(pair[1], ScalarNode)]
    return [{"name": key.value, "value": value.value} for key, value in pairs]


def _text(root: Node | None, key: str) -> str:
    found = below(root, key)
    return str(found[1].value) if found is not None and isinstance(found[1], ScalarNode) else ""
