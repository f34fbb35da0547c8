"""ReplicationController, the ReplicaSet of Kubernetes' first years: Kueue does not queue it."""

from dataclasses import replace

from signalbox.workload.kinds.replicaset import REPLICA_SET

REPLICATION_CONTROLLER = replace(REPLICA_SET, group="", kind="ReplicationController")
