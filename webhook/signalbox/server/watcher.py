"""The process that watches the cluster for ``signalbox serve``: ``python -m signalbox.server.watcher``, started by it.

A process of its own, so that the one which parses what users send holds no credential of the API server, and so that neither
threads nor connections stand in the way of forking workers. It writes into the server's private directory:
``journal`` (cluster/journal.py), ``status`` (how each watch stands) and, once, ``last-good``.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

import orjson

from signalbox.apiserver.connection import ApiServer, connect
from signalbox.apiserver.error import ApiConfigurationError, ApiError
from signalbox.cluster.journal import JournalWriter
from signalbox.cluster.resources import POLICY_OBJECTS, WATCHED
from signalbox.cluster.watch import ClusterWatch
from signalbox.process.logs import LEVELS, Log
from signalbox.process.wakeup import Wakeup
from signalbox.review import JsonObject
from signalbox.server.watcher_files import JOURNAL, LAST_GOOD, STATUS

_STATUS_SECONDS = 1.0
_ASK_AGAIN_SECONDS = 1.0


def main(arguments: list[str]) -> int:
    """Watch until the server is gone; the exit code."""
    parser = argparse.ArgumentParser(description="The watching process of `signalbox serve`, which starts it.")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--kubeconfig")
    parser.add_argument("--context")
    parser.add_argument("--last-good", required=True, help="where the ConfigMap of the last good policies stands in the API")
    parser.add_argument("--log-level", choices=list(LEVELS), default="info")
    options = parser.parse_args(arguments)
    ended = Wakeup()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    # Ctrl-C in a terminal goes to the whole group; the server ends its processes itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = Log(options.log_level)
    try:
        # One try: each failure is to be seen at once, and the watches try again by themselves.
        api = connect(options.kubeconfig, options.context, tries=1)
    except ApiConfigurationError as error:
        log.error("cluster watch cannot start", text=str(error))
        return 1
    keep = (api, options.last_good, options.directory, log)
    threading.Thread(target=_keep_last_good, args=keep, name="last-good", daemon=True).start()
    journal = JournalWriter(options.directory / JOURNAL)
    watch = ClusterWatch(api, (*POLICY_OBJECTS, *WATCHED), journal, log, threading.Event().wait)
    watch.start()
    while os.getppid() == options.parent:
        watch.mend()
        _write_status(watch, options.directory / STATUS)
        if ended.wait(_STATUS_SECONDS):
            break
    return 0


def _write_status(watch: ClusterWatch, file: Path) -> None:
    try:
        watch.write_status(file)
    except OSError:
        # A full disk is told of by the journal. That we are alive is seen by the time of the file.
        with contextlib.suppress(OSError):
            os.utime(file)


def _keep_last_good(api: ApiServer, path: str, directory: Path, log: Log) -> None:
    """Ask until there is an answer, for the ConfigMap as it is then: it matters only where the start finds a bad set."""
    new = directory / f"{LAST_GOOD}.new"
    told = False
    while True:
        found: JsonObject = {}
        answered = True
        try:
            found = api.get(path)
        except ApiError as error:
            if not told and not error.not_found:
                log.warning("last good policies not read", text=str(error))
            told, answered = True, not error.passing
        # On a full disk, which the journal tells of, it is tried again as well.
        with contextlib.suppress(OSError):
            if answered:
                new.write_bytes(orjson.dumps(found))
                new.replace(directory / LAST_GOOD)
                return
        time.sleep(_ASK_AGAIN_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
