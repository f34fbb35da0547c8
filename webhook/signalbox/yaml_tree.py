"""One YAML document's text to a tree of nodes, and the tree to plain values.

Merge keys as go-yaml v2 does them, keys as strings, a key that stands twice told of; aliases and depth are bounded.
"""

from typing import Any

from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from signalbox.yaml_scalar import ScalarError, key_text, resolve

MAX_DEPTH = 200
# What aliases may add to a document: enough for any template, far from a billion laughs.
MAX_ALIASED = 100_000

_MOST_TWICE = 100
_STRING = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"
_TEMPLATE_HINT = " (a template that is not rendered yet: {{ … }}?)"


class TreeError(ValueError):
    """Why a document cannot be read; line and column count from 0 within its text."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Composer(CParser):
    """libyaml's parser with the cheapest possible resolver: the tag is empty for a plain scalar, else a string's."""

    def descend_resolver(self, parent: Node, index: Any) -> None:
        """Tags do not depend on where a node stands."""

    def ascend_resolver(self) -> None:
        """See descend_resolver."""

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        """The tag of a node without one."""
        return "" if kind is not ScalarNode or implicit[0] else _STRING


def construct(node: Node) -> tuple[Any, list[TreeError]]:
    """The plain value of a document, and the keys in it that stand twice, of which the last counts, as it does for kubectl.

    Raises TreeError where kubectl would refuse it.
    """
    constructor = _Constructor()
    return constructor.value(node, 0), constructor.twice


def below(node: Node | None, step: str | int) -> tuple[Node, Node] | None:
    """Key node and value node of one step down, None where there is none; a list member is its own key."""
    if isinstance(node, MappingNode):
        for key, value in reversed(node.value):
            if isinstance(key, ScalarNode) and (key.value == step or _key_or_none(key) == step):
                return key, value
    elif isinstance(node, SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        return node.value[step], node.value[step]
    return None


class _Constructor:
    """Nodes to values: merge keys as go-yaml does them, keys as strings, aliases and depth bounded."""

    def __init__(self) -> None:
        self.twice: list[TreeError] = []
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._aliased = 0
        self._within_alias = 0

    def value(self, node: Node, depth: int) -> Any:
        if isinstance(node, ScalarNode):
            if self._within_alias:
                self._count(node)
            tag = node.tag
            if tag == _STRING:
                return node.value
            try:
                return resolve(node.value, tag)
            except ScalarError as error:
                raise _at(node, str(error)) from None
        if depth >= MAX_DEPTH:
            raise _at(node, f"nested deeper than {MAX_DEPTH} levels")
        identity = id(node)
        if identity in self._open:
            raise _at(node, "an anchor's value contains itself")
        repeated = identity in self._seen
        self._seen.add(identity)
        self._open.add(identity)
        self._within_alias += repeated
        if self._within_alias:
            self._count(node)
        built: Any
        if isinstance(node, MappingNode):
            built = self._mapping(node, depth + 1)
        else:
            built = [self.value(item, depth + 1) for item in node.value]
        self._within_alias -= repeated
        self._open.discard(identity)
        return built

    def _count(self, node: Node) -> None:
        self._aliased += 1
        if self._aliased > MAX_ALIASED:
            raise _at(node, f"aliases make more than {MAX_ALIASED} values of this document")

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        built: dict[str, Any] = {}
        own: set[str] = set()
        for key_node, value_node in node.value:
            if _is_merge(key_node):
                self._merge(built, value_node, depth)
                continue
            key = _key(key_node)
            if key in own and len(self.twice) < _MOST_TWICE:
                self.twice.append(_at(key_node, f"key {key[:80]!r} stands here twice"))
            own.add(key)
            built[key] = self.value(value_node, depth)
        return built

    def _merge(self, built: dict[str, Any], node: Node, depth: int) -> None:
        # go-yaml v2 merges where the << stands: it overwrites keys before it and is overwritten by keys after it.
        sources = reversed(node.value) if isinstance(node, SequenceNode) else (node,)
        for source in sources:
            if not isinstance(source, MappingNode):
                raise _at(source, "<< merges a mapping, or a list of mappings")
            built.update(self.value(source, depth))


def _is_merge(node: Node) -> bool:
    return isinstance(node, ScalarNode) and (node.tag == _MERGE or (node.value == "<<" and not node.tag))


def _key(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        inside = _TEMPLATE_HINT if isinstance(node, MappingNode) and node.flow_style else ""
        raise _at(node, f"a mapping or list cannot be a key{inside}")
    if node.tag == _STRING:
        return str(node.value)
    try:
        return key_text(node.value, node.tag)
    except ScalarError as error:
        raise _at(node, str(error)) from None


def _key_or_none(node: ScalarNode) -> str | None:
    try:
        return _key(node)
    except TreeError:
        return None


def _at(node: Node, message: str) -> TreeError:
    return TreeError(message, node.start_mark.line, node.start_mark.column)
