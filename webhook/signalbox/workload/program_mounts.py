"""What programs of a container mount: a bucket by ``gcsfuse``, another machine's disk by ``mount``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from signalbox.workload.container_paths import LONGEST_PATH, normal_path

if TYPE_CHECKING:
    from signalbox.workload.containers import ContainerView

_MOST_PROGRAMS = 256
_READ_ONLY = frozenset({"ro", "--read-only", "--ro", "remount", "--bind", "tmpfs", "ramfs"})
_REMOTE = ("nfs", "cifs", "smb", "ceph", "lustre", "glusterfs", "fuse.")


def mounted_by_programs(container: "ContainerView", mounters: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Where its programs mount something that is elsewhere and may be written to, and which do."""
    for started in container.started[:_MOST_PROGRAMS]:
        target = started.target
        if target is None or target.role != "program":
            continue
        words = started.invocation.words[target.at + 1 :][:_MOST_PROGRAMS]
        if target.name not in mounters and " ".join((target.name, *words[:1])) not in mounters:
            continue
        options = {option for word in words for option in word.split(",")}
        if not _READ_ONLY.isdisjoint(options) or (target.name == "mount" and not _is_remote(words)):
            continue
        # The value of an option is no place to mount at.
        places = [word for word, before in zip(words, ("", *words), strict=False) if before[:2] != "--" or "=" in before]
        at = next((word for word in reversed(places) if word[:1] == "/" and len(word) <= LONGEST_PATH), None)
        if at is not None and at.strip("/"):
            yield normal_path(at), target.name


def _is_remote(words: tuple[str, ...]) -> bool:
    """Whether plain ``mount`` is given another machine's disk: ``-t nfs host:/data /data``."""
    return any(kind.startswith(_REMOTE) for kind in words) or any(
        ":" in word or word[:2] == "//" for word in words if word[:1] != "-"
    )
