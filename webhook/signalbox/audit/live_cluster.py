"""What a live cluster knows (namespaces, priority classes, queues, quotas), listed once: the view that a scan judges by."""

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.audit.result import ScanError
from signalbox.cluster.resources import WATCHED, WatchedKind
from signalbox.cluster.state import ClusterState
from signalbox.plain_text import clean

_BEGINNINGS = 3


def read_live_cluster(api: ApiServer) -> tuple[ClusterState, tuple[ScanError, ...]]:
    """The cluster as it is now, and what of it could not be read: rules that ask for that are *not judged*."""
    state, errors = ClusterState(), []
    for kind in WATCHED:
        try:
            faults = _read(api, kind, state)
        except ApiError as error:
            state.forget(kind.group, kind.kind)
            errors.append(ScanError(kind.text, clean(error, 300)))
        else:
            errors += [ScanError(kind.text, clean(fault, 300)) for fault in faults]
    return state, tuple(errors)


def _read(api: ApiServer, kind: WatchedKind, state: ClusterState) -> list[str]:
    """Lists a kind into the state, in the first version that is served; what of its objects cannot be used."""
    for path in kind.paths:
        for beginning in range(_BEGINNINGS):
            faults = []
            try:
                for items, _, _ in api.pages(path):
                    found = [state.put(kind.group, kind.kind, kind.slim(item)) for item in items if not kind.leaves_out(item)]
                    faults += [str(fault) for fault in found if fault is not None]
            except ApiError as error:
                if error.not_found:
                    break
                # Taking an object over twice does no harm, so a list that has expired is begun anew.
                if not error.expired or beginning == _BEGINNINGS - 1:
                    raise
            else:
                state.synced(kind.group, kind.kind)
                return faults
    state.absent(kind.group, kind.kind)
    return []
