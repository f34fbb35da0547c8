"""DaemonSet ``apps``: one Pod a node, so the number of Pods is not in the object; counted as one. Kueue does not queue it."""

from signalbox.workload.kinds.replicated import replicated_kind

DAEMON_SET = replicated_kind("DaemonSet", pods=lambda spec: 1, queue=None)
