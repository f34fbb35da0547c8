"""StatefulSet ``apps``: ``replicas`` Pods that are started again when they finish."""

from signalbox.workload.kinds.replicated import replicated_kind

STATEFUL_SET = replicated_kind("StatefulSet")
