"""Deployment ``apps``: ``replicas`` Pods that are started again when they finish."""

from signalbox.workload.kinds.replicated import replicated_kind

DEPLOYMENT = replicated_kind("Deployment")
