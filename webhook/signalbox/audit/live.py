"""A live cluster as what a scan judges, and judges by."""

from collections.abc import Container, Iterator, Sequence
from datetime import datetime

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.audit.family import Key, parents_first
from signalbox.audit.listing import Item, Listed, Progress, Resource, discover, list_all
from signalbox.audit.live_cluster import read_live_cluster
from signalbox.audit.result import EVERY_KIND, ScanError
from signalbox.configuration import LoadedSetup, SetupFiles, load_setup_files
from signalbox.controllers import Controllers
from signalbox.engine import Setup
from signalbox.last_good import NAMESPACE, LastGoodError, read_last_good
from signalbox.plain_text import clean
from signalbox.policy.mode import Mode
from signalbox.policy_listing import list_policy_objects
from signalbox.policy_objects import with_objects


def live_setup(
    api: ApiServer,
    files: SetupFiles,
    now: datetime,
    *,
    policy_objects: bool = True,
    max_mode: Mode = Mode.ENFORCE,
    controllers: Controllers | None = None,
) -> tuple[LoadedSetup, tuple[ScanError, ...]]:
    """The policies of files and, with ``policy_objects``, of the cluster; the cluster as it is now; what could not be read."""
    view, errors = read_live_cluster(api)
    if policy_objects:
        try:
            files = with_objects(files, list_policy_objects(api))
        except ApiError as error:
            errors = (*errors, ScanError("the policies of the cluster", clean(error, 300)))
    return load_setup_files(files, max_mode=max_mode, controllers=controllers, now=now, view=view), errors


def setup_in_force(
    api: ApiServer, files: SetupFiles, namespace: str, now: datetime, max_mode: Mode = Mode.ENFORCE
) -> tuple[Setup, list[ScanError]]:
    """What the webhook judges by: what is there, or where that has faults the last good set; what went wrong."""
    loaded, unread = live_setup(api, files, now, max_mode=max_mode)
    errors = [*unread, *(ScanError("policies", f"left out: {problem}") for problem in loaded.errors)]
    if loaded.errors:
        try:
            kept = read_last_good(api, namespace)
        except (ApiError, LastGoodError) as error:
            errors.append(ScanError("the last good policies", clean(error, 300)))
        else:
            if kept is not None:
                return load_setup_files(kept, max_mode=max_mode, view=loaded.setup.cluster).setup, errors
    return loaded.setup, errors


def policies_in_force(api: ApiServer, namespace: str = NAMESPACE) -> SetupFiles | None:
    """The policies that the cluster's webhook judges by, files and objects, as its controller keeps them.

    None where none are kept or this account may not read them.
    """
    try:
        return read_last_good(api, namespace)
    except (ApiError, LastGoodError):
        return None


def live_items(
    api: ApiServer,
    setup: Setup,
    namespaces: Sequence[str] = (),
    excluded: Container[Key] = (),
    progress: Progress | None = None,
) -> Iterator[Item]:
    """Everything of the kinds that the setup knows and the cluster has, owners first."""
    try:
        found = list(discover(api, {key: kind for key, kind in setup.kinds.items() if key not in excluded}))
    except ApiError as error:
        yield ScanError("the kinds of the cluster", clean(error, 300), EVERY_KIND)
        return
    yield from (one for one in found if isinstance(one, ScanError))
    served = {one.key: one for one in found if isinstance(one, Resource)}
    yield from (Listed(kind) for key, kind in setup.kinds.items() if key not in served)
    yield from list_all(api, [served[key] for key in parents_first(served, setup.controllers)], namespaces, progress)
