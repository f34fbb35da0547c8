"""Tells in the status of every policy object whether workloads are judged by it, and why not, in the words of lint."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.configuration import LoadedSetup, SetupFiles, load_setup_files
from signalbox.controller.duty import DutyContext
from signalbox.controller.policies import PresentPolicies
from signalbox.last_good import LastGoodError, read_last_good
from signalbox.manifests import PathBytes
from signalbox.plain_text import clean
from signalbox.policy.mode import MODE_WORDS
from signalbox.policy.resources import collection_path
from signalbox.policy_objects import object_bytes, object_name
from signalbox.process.logs import Log
from signalbox.review import JsonObject
from signalbox.workload.kinds.kind import mapping, members

_DIGITS = 12
_MOST_PROBLEMS = 20
_LONGEST_PROBLEM = 500
_MOST_NAMED = 3
_LOADED_AGAIN = timedelta(minutes=5)


class PolicyStatusDuty:
    """Writes the status of those objects whose status is another than it should be."""

    name = "policy-status"
    seconds = 5.0

    def __init__(self, context: DutyContext, present: PresentPolicies) -> None:
        self._api: ApiServer = context.api
        self._namespace = context.options.namespace
        self._log: Log = context.log
        self._present = present
        self._loaded: tuple[SetupFiles, datetime, LoadedSetup] | None = None

    def run(self, now: datetime) -> None:
        """Do it once. One object that cannot be written does not keep the others from it; raises ApiError in the end."""
        files, objects = self._present.read()
        if not objects:
            return
        loaded = self._load(files, now)
        kept = self._kept() if loaded.errors else None
        failed: list[ApiError] = []
        for obj in objects:
            status = status_of(obj, loaded, kept)
            if status == obj.get("status"):
                continue
            path = f"{collection_path(obj['kind'])}/{object_name(obj)}/status"
            try:
                self._api.patch(path, {"status": status})
            except ApiError as error:
                # Deleted since it was listed.
                if not error.not_found:
                    failed.append(error)
        if failed:
            raise failed[0]

    def _load(self, files: SetupFiles, now: datetime) -> LoadedSetup:
        """Loading thousands of objects takes seconds: the same files are loaded again only for what time changes in them."""
        before = self._loaded
        if before is not None and before[0] == files and abs(now - before[1]) < _LOADED_AGAIN:
            return before[2]
        loaded = load_setup_files(files, now=now)
        self._loaded = files, now, loaded
        return loaded

    def _kept(self) -> SetupFiles | None:
        try:
            return read_last_good(self._api, self._namespace)
        except LastGoodError as error:
            self._log.warning("last good policies not read", text=str(error))
            return None


def status_of(obj: JsonObject, loaded: LoadedSetup, kept: SetupFiles | None) -> JsonObject:
    """The status an object should have. ``kept`` is the set in force where the present one has errors."""
    document = object_bytes(obj)
    of_object = [problem for problem in loaded.problems if problem.file == document.path]
    broken = any(problem.severity == "error" for problem in of_object)
    told = [clean(problem, _LONGEST_PROBLEM) for problem in of_object]
    if len(told) > _MOST_PROBLEMS:
        told = [*told[:_MOST_PROBLEMS], f"and {len(told) - _MOST_PROBLEMS} more, which signalbox lint shows"]
    waits = not broken and kept is not None and document not in kept.objects
    if waits:
        told.append(f"not in force yet: the set before it stays until these are mended: {_named(loaded.left_out)}")
    if broken and kept is not None and any(one.path == document.path for one in kept.objects):
        told.append("its version before stays in force")
    generation = mapping(obj.get("metadata")).get("generation")
    status = {
        "loaded": not broken and not waits,
        "problems": told,
        "digest": _digest(document),
        "observedGeneration": generation if isinstance(generation, int) else 0,
    }
    return {**status, **_rules(obj)} if obj.get("kind") == "WorkloadPolicy" else status


def _rules(obj: JsonObject) -> JsonObject:
    rules = members(mapping(obj.get("spec")).get("rules"))
    counts = Counter(mode for rule in rules if isinstance(mode := mapping(rule).get("mode"), str))
    modes = [f"{counts[word]} {word}" for word in reversed(MODE_WORDS) if counts[word]]
    return {"rules": len(rules), "modes": ", ".join(modes)}


def _digest(document: PathBytes) -> str:
    return hashlib.sha256(b"".join(file.data for file in document.files)).hexdigest()[:_DIGITS]


def _named(documents: Sequence[str]) -> str:
    more = f" and {len(documents) - _MOST_NAMED} more" if len(documents) > _MOST_NAMED else ""
    return clean(", ".join(documents[:_MOST_NAMED]) + more, _LONGEST_PROBLEM)
