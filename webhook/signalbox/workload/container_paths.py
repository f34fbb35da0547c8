"""Paths of a container as texts: what they are once put plainly, and whether two of them lead to one place."""

import posixpath
import re

# PATH_MAX of Linux.
LONGEST_PATH = 4096
ONLY_PLACEHOLDER = re.compile(r"\$\([^)]*\)\Z|\$\{[^}]*\}\Z|\$\w+\Z")


def same_place(one: str, other: str) -> bool:
    """Whether two texts lead to one place, or one of them below the other."""
    one, other = (text.strip("\"'").rstrip("/*") or "/" for text in (one, other))
    if one != other and (ONLY_PLACEHOLDER.match(one) or ONLY_PLACEHOLDER.match(other)):
        return False
    return one == other or one.startswith(other.rstrip("/") + "/") or other.startswith(one.rstrip("/") + "/")


def normal_path(path: str) -> str:
    """A path from the root, without ``.``, ``..`` and what is doubled."""
    if path[:1] == "/" and path[-1] != "/" and "//" not in path and "/." not in path:
        return path
    return "/" + posixpath.normpath("/" + path).lstrip("/")


def before_placeholder(where: str) -> str:
    """The folders that are known: ``/fsx/${RUN}/x`` gives ``/fsx/``."""
    cut = min((at for at in (where.find(mark) for mark in ("$", "{{", "<", "%", "__")) if at >= 0), default=len(where))
    return where[: where.rfind("/", 0, cut) + 1]
