"""Where a path or URL of a container is kept, and whether it outlives the Pod."""

import posixpath
import re
from bisect import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from signalbox.quantity import is_placeholder
from signalbox.review import JsonObject
from signalbox.workload.container_paths import LONGEST_PATH, before_placeholder, normal_path
from signalbox.workload.kinds.kind import mapping
from signalbox.workload.program_mounts import mounted_by_programs
from signalbox.workload.vocabulary import MAX_NAME, name_words

if TYPE_CHECKING:
    from signalbox.workload.containers import ContainerView
    from signalbox.workload.view import WorkloadView

Kept = Literal["durable", "unknown", "ephemeral", "none"]

OWN_DISK = "the container's own disk, gone with the Pod"
# What names the thing behind a volume.
_WHAT = ("claimName", "driver", "server")
_PLACEHOLDER = "only a placeholder says where"
_NO_BUCKET = "names no bucket"
_HOST = re.compile(r"[A-Za-z0-9][^\s/]*+(?:/|\Z)")
_NOT_IN_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is kept, in one word and in words for people. ``nameless``: a URL of a store that names no bucket."""

    kept: Kept
    note: str
    nameless: bool = False


# Deeper mounts than anybody has.
_MAX_LEVELS = 64
_MOST_BY_TEXT = 8
# Nobody mounts a store there that is to outlive a Pod.
_SCRATCH = ("/tmp/", "/var/tmp/", "/dev/shm/")  # noqa: S108
_AN_ADDRESS = "an address that may be a store's"
_MOUNTED_ELSEWHERE = Place("unknown", "another object may mount a volume there")


class Storage:
    """What the paths of one container lead to."""

    def __init__(self, container: "ContainerView", view: "WorkloadView") -> None:
        self._container = container
        self._view = view
        self._signs = view.signs.checkpoint
        working_dir = container.body.get("workingDir")
        self.working_dir = working_dir if isinstance(working_dir, str) and working_dir.startswith("/") else ""
        self._mounts: dict[str, JsonObject] = {}
        self._sorted_mounts: list[str] | None = None
        self._by_programs: list[tuple[str, str]] | None = None
        self._relative_place: Place | None = None
        # Where a volume is mounted at a path that only a placeholder says, any path may be on it; one that begins with the
        # same text is.
        self._somewhere = False
        self._by_text: dict[str, JsonObject] = {}
        for entry in container.mounts:
            path = entry.get("mountPath") if isinstance(entry, dict) else None
            if not isinstance(path, str) or not path or len(path) > LONGEST_PATH:
                continue
            if is_placeholder(path) or path.count("/") > _MAX_LEVELS:
                self._somewhere = True
                if len(self._by_text) < _MOST_BY_TEXT:
                    self._by_text.setdefault(path.rstrip("/"), entry)
            else:
                self._mounts.setdefault(normal_path(path), entry)
        for path in container.template.everywhere:
            if len(path) <= MAX_NAME:
                self._mounts.setdefault(normal_path(path), {"name": path, "mountPath": path})

    def find(self, where: str, folder: str = "") -> Place | None:
        """The place of a path or URL; None where it is neither. ``folder`` is the one it is relative to."""
        # The value of a gin option is quoted: `--gin.MODEL_DIR="gs://…"`.
        where = where.strip(" \t\n\"'")
        if not where:
            return None
        if len(where) > LONGEST_PATH:
            return Place("unknown", "longer than any path")
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
        known = where if whole else before_placeholder(where)
        if self._by_text and (alike := next((text for text in self._by_text if f"{where}/".startswith(f"{text}/")), None)):
            return self._mounted(self._by_text[alike])
        if not known:
            return Place("unknown", _PLACEHOLDER)
        if known[0] != "/":
            base = folder or self.working_dir
            if not base:
                mount = self._mount_for_runs_that_ends_in(known)
                return self._relative() if mount is None else self._mounted(mount)
            known = posixpath.join(base, known)
        return self._path(known, whole)

    def on_volume(self, path: str) -> tuple[str, str] | None:
        """The volume that a path is on, and where on it; None where it is on none."""
        if not path.startswith("/") or len(path) > LONGEST_PATH:
            return None
        path = normal_path(path)
        mount = self._mount_of(path)
        name, at = (None, None) if mount is None else (mount.get("name"), mount.get("mountPath"))
        if not isinstance(name, str) or not isinstance(at, str) or mount is None:
            return None
        sub_path = mount.get("subPath")
        below = path[len(normal_path(at).rstrip("/")) :]
        return name, f"/{sub_path.strip('/')}{below}" if isinstance(sub_path, str) and sub_path else below

    def _url(self, scheme: str, rest: str) -> Place | None:
        signs = self._signs
        if scheme == "file":
            return self.find("/" + rest.lstrip("/")) if rest.strip("/") else None
        if scheme in signs.schemes:
            if self._names_a_store(scheme, rest):
                return Place("durable", "object store")
            return Place("unknown", _NO_BUCKET, nameless=True)
        if scheme in ("http", "https"):
            host = rest.partition("/")[0].partition(":")[0].lower()
            label = host.partition(".")[0]
            first = (host, label, label.partition("-")[0])
            # A domain holds what ends in it; a name of one word is that of a host or service.
            if any(host.endswith("." + name) or name in first for name in signs.hosts):
                return Place("durable", "object store")
            # A file is fetched from there; a folder may be one of a store behind an address of somebody's own.
            return None if "." in rest.rpartition("/")[2] or "/" not in rest.strip("/") else Place("unknown", _AN_ADDRESS)
        if is_placeholder(scheme):
            return Place("unknown", _PLACEHOLDER)
        return Place("unknown", f"{scheme}:// is no store that is known here")

    def _names_a_store(self, scheme: str, rest: str) -> bool:
        """Whether a bucket or host is named, or a folder where the scheme needs no host."""
        if _HOST.match(rest) or is_placeholder(rest):
            return True
        return scheme in self._signs.rooted_schemes and rest[:1] == "/" and rest.strip("/") != ""

    def _path(self, path: str, whole: bool) -> Place:
        path = normal_path(path)
        if not whole and self._mounts_below(path):
            return Place("unknown", _PLACEHOLDER)
        mount = self._mount_of(path)
        by_program = self._mounted_by_program(path)
        if by_program is not None:
            return by_program
        if mount is not None:
            return self._mounted(mount)
        if self._somewhere:
            return Place("unknown", "a volume is mounted where only a placeholder says")
        if self._container.template.partial and not path.startswith(_SCRATCH):
            return _MOUNTED_ELSEWHERE
        return Place("ephemeral", OWN_DISK)

    def _mounted_by_program(self, path: str) -> Place | None:
        """The place of a path that a program of the container mounts something at: ``gcsfuse bucket /gcs``."""
        if self._by_programs is None:
            self._by_programs = list(mounted_by_programs(self._container, self._signs.mounters))
        for at, shown in self._by_programs:
            if path == at or path.startswith(at.rstrip("/") + "/"):
                return Place("durable", f"mounted by {shown}")
        return None

    def _mount_for_runs_that_ends_in(self, path: str) -> JsonObject | None:
        """The only mount that ends in the first folder of a relative path: ``runs/a`` and ``/app/runs``.

        It is named for runs. Not ``/runs``: no image works in the root folder. Not ``/mnt/data``: a folder
        ``data`` is in any program's own.
        """
        first = normal_path(path)[1:].partition("/")[0]
        named = first in self._signs.outputs or not self._signs.mounts.isdisjoint(name_words(first[:MAX_NAME]))
        if not named or path.startswith(".."):
            return None
        found = [entry for at, entry in self._mounts.items() if at.endswith("/" + first) and at.find("/", 1) > 0]
        return found[0] if len(found) == 1 else None

    def _mount_of(self, path: str) -> JsonObject | None:
        """The mount that holds a path: of the folders above it the deepest that is one."""
        mounts = self._mounts
        best = mounts.get("/")
        end = 0
        for _ in range(_MAX_LEVELS if mounts else 0):
            end = path.find("/", end + 1)
            best = mounts.get(path if end < 0 else path[:end], best)
            if end < 0:
                break
        return best

    def _mounts_below(self, path: str) -> bool:
        if self._sorted_mounts is None:
            self._sorted_mounts = sorted(self._mounts)
        folder = path.rstrip("/") + "/"
        at = bisect(self._sorted_mounts, folder)
        return at < len(self._sorted_mounts) and self._sorted_mounts[at].startswith(folder)

    def _relative(self) -> Place:
        if self._relative_place is None:
            self._relative_place = self._in_own_folder()
        return self._relative_place

    def _in_own_folder(self) -> Place:
        # The image's own working folder is not in the manifest; only a volume mounted there would keep anything.
        if self._somewhere or any(self._mounted(entry).kept in ("durable", "unknown") for entry in self._mounts.values()):
            return Place("unknown", "relative to the image's own folder, which may be on a volume")
        return _MOUNTED_ELSEWHERE if self._container.template.partial else Place("ephemeral", OWN_DISK)

    def _mounted(self, mount: JsonObject) -> Place:
        name = mount.get("name")
        if not isinstance(name, str):
            return Place("unknown", "a mount without a volume's name")
        source, body = self._volume(name) if len(name) <= MAX_NAME else ("", {})
        name = name[:MAX_NAME]
        if not source:
            return Place("unknown", f"volume {name} is not among the template's volumes")
        signs = self._signs
        if mount.get("readOnly") is True or body.get("readOnly") is True or source in signs.read_only_volumes:
            return Place("none", f"volume {name} is read-only")
        if source in signs.ephemeral_volumes:
            until = "stays on one node" if source == "hostPath" else "gone with the Pod"
            return Place("ephemeral", f"{source} volume {name}, {until}")
        driver = body.get("driver") if source == "csi" else None
        if isinstance(driver, str) and driver in signs.read_only_drivers:
            return Place("none", f"volume {name} of {driver} keeps nothing")
        if isinstance(driver, str) and driver in signs.ephemeral_drivers:
            return Place("ephemeral", f"volume {name} of {driver}, gone with the Pod")
        if source == "csi":
            # An inline volume lives as long as the Pod; what is in it outlives that only on a store of its own.
            options = mapping(body.get("volumeAttributes")).get("mountOptions")
            if isinstance(options, str) and "ro" in options[:MAX_NAME].split(","):
                return Place("none", f"volume {name} is read-only")
            if not _is_storage(driver, signs.storage_drivers):
                return Place("unknown", f"volume {name} of a CSI driver that may keep nothing")
        if source in signs.durable_volumes:
            what = next((text for text in map(body.get, _WHAT) if isinstance(text, str) and text), "")[:MAX_NAME]
            return Place("durable", f"{source} volume {name}" + (f" ({what})" if what else ""))
        return Place("unknown", f"{source} volume {name}")

    def _volume(self, name: str) -> tuple[str, JsonObject]:
        """A volume's source and what stands in it; empty where the template has no such volume."""
        found = self._view.volumes[self._container.template.path].get(name)
        if found is None and (claim := self._container.template.everywhere.get(name)) is not None:
            return "persistentVolumeClaim", claim
        return found or self._view.claimed_volumes.get(name, ("", {}))


def _is_storage(driver: Any, beginnings: tuple[str, ...]) -> bool:
    if driver in beginnings:
        return True
    words = _NOT_IN_WORDS.split(driver[:MAX_NAME].lower()) if isinstance(driver, str) else []
    return any(word.startswith(beginnings) for word in words)
