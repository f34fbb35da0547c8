"""Where a path or URL of a container is kept, and whether it outlives the Pod."""

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from signalbox.quantity import is_placeholder
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

if TYPE_CHECKING:
    from signalbox.workload.containers import ContainerView
    from signalbox.workload.view import WorkloadView

Kept = Literal["durable", "unknown", "ephemeral", "none"]

OWN_DISK = "the container's own disk, gone with the Pod"
_PLACEHOLDER = "only a placeholder says where"


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is kept, in one word and in words for people."""

    kept: Kept
    note: str


class Storage:
    """What the paths of one container lead to."""

    def __init__(self, container: "ContainerView", view: "WorkloadView") -> None:
        self._container = container
        self._root = view.object
        self._signs = view.signs.checkpoint
        working_dir = container.body.get("workingDir")
        self.working_dir = working_dir if isinstance(working_dir, str) and working_dir.startswith("/") else ""
        self._mounts: list[tuple[str, JsonObject]] = []
        # Where a volume is mounted at a path that only a placeholder says, any path may be on it.
        self._somewhere = False
        for entry in members(container.body.get("volumeMounts")):
            path = entry.get("mountPath") if isinstance(entry, dict) else None
            if not isinstance(path, str) or not path:
                continue
            if is_placeholder(path):
                self._somewhere = True
            else:
                self._mounts.append((_normal(path), entry))

    def find(self, where: str, folder: str = "") -> Place | None:
        """The place of a path or URL; None where it is neither. ``folder`` is the one it is relative to."""
        where = where.strip()
        if not where:
            return None
        scheme, separator, rest = where.partition("://")
        if separator:
            return self._url(scheme.lower(), rest)
        if where.startswith("file:/"):
            where = where[5:]
        elif where.startswith("dbfs:/"):
            return Place("durable", "object store")
        if where[0] == "~":
            return Place("unknown", "the image's home folder")
        # What a placeholder adds below a mount changes nothing: the path is known up to there.
        whole = not is_placeholder(where)
        known = where if whole else _before_placeholder(where)
        if not known:
            return Place("unknown", _PLACEHOLDER)
        if known[0] != "/":
            base = folder or self.working_dir
            if not base:
                return self._relative()
            known = posixpath.join(base, known)
        return self._path(known, whole)

    def _url(self, scheme: str, rest: str) -> Place | None:
        signs = self._signs
        if scheme == "file":
            return self.find("/" + rest.lstrip("/")) if rest.strip("/") else None
        if scheme in signs.schemes:
            return Place("durable", "object store")
        if scheme in ("http", "https"):
            host = rest.partition("/")[0].lower()
            return Place("durable", "object store") if any(name in host for name in signs.hosts) else None
        if is_placeholder(scheme):
            return Place("unknown", _PLACEHOLDER)
        return Place("unknown", f"{scheme}:// is no store that is known here")

    def _path(self, path: str, whole: bool) -> Place:
        path = _normal(path)
        best: tuple[str, JsonObject] | None = None
        for mount in self._mounts:
            inside = path == mount[0] or path.startswith(mount[0].rstrip("/") + "/")
            if inside and (best is None or len(mount[0]) > len(best[0])):
                best = mount
        if not whole and any(mount.startswith(path.rstrip("/") + "/") for mount, _ in self._mounts):
            return Place("unknown", _PLACEHOLDER)
        if best is not None:
            return self._mounted(best[1])
        if self._somewhere:
            return Place("unknown", "a volume is mounted where only a placeholder says")
        return Place("ephemeral", OWN_DISK)

    def _relative(self) -> Place:
        # The image's own working folder is not in the manifest; only a volume mounted there would keep anything.
        if self._somewhere or any(self._mounted(entry).kept in ("durable", "unknown") for _, entry in self._mounts):
            return Place("unknown", "relative to the image's own folder, which may be on a volume")
        return Place("ephemeral", OWN_DISK)

    def _mounted(self, mount: JsonObject) -> Place:
        name = mount.get("name")
        source, body = self._volume(name) if isinstance(name, str) else ("", {})
        if not source:
            return Place("unknown", f"volume {name} is not among the template's volumes")
        signs = self._signs
        if mount.get("readOnly") is True or body.get("readOnly") is True or source in signs.read_only_volumes:
            return Place("none", f"volume {name} is read-only")
        if source in signs.ephemeral_volumes:
            until = "stays on one node" if source == "hostPath" else "gone with the Pod"
            return Place("ephemeral", f"{source} volume {name}, {until}")
        if source == "csi" and body.get("driver") in signs.ephemeral_drivers:
            return Place("none", f"volume {name} of {body.get('driver')} keeps nothing")
        if source in signs.durable_volumes:
            what = body.get("claimName") or body.get("driver") or body.get("server")
            return Place("durable", f"{source} volume {name}" + (f" ({what})" if isinstance(what, str) else ""))
        return Place("unknown", f"{source} volume {name}")

    def _volume(self, name: str) -> tuple[str, JsonObject]:
        """A volume's source and what stands in it; empty where the template has no such volume."""
        for volume in members(self._container.template.spec.get("volumes")):
            if isinstance(volume, dict) and volume.get("name") == name:
                # The API server takes a volume without a source for an emptyDir.
                source = next((key for key in volume if key != "name" and volume[key] is not None), "emptyDir")
                return source, mapping(volume.get(source))
        for claim in members(mapping(self._root.get("spec")).get("volumeClaimTemplates")):
            if mapping(mapping(claim).get("metadata")).get("name") == name:
                return "persistentVolumeClaim", {"claimName": name}
        return "", {}


def _normal(path: str) -> str:
    if path[:1] == "/" and path[-1] != "/" and "//" not in path and "/." not in path:
        return path
    return "/" + posixpath.normpath("/" + path).lstrip("/")


def _before_placeholder(where: str) -> str:
    """The folders that are known: ``/fsx/${RUN}/x`` gives ``/fsx/``."""
    cut = min((at for at in (where.find(mark) for mark in ("$", "{{", "<", "%", "__")) if at >= 0), default=len(where))
    return where[: where.rfind("/", 0, cut) + 1]
