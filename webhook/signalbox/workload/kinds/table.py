"""Every kind Signalbox judges, keyed by group and kind. Adding one is a file beside this and a line here."""

from signalbox.workload.kinds.cronjob import CRON_JOB
from signalbox.workload.kinds.daemonset import DAEMON_SET
from signalbox.workload.kinds.deployment import DEPLOYMENT
from signalbox.workload.kinds.job import JOB
from signalbox.workload.kinds.jobset import JOB_SET
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.pod import POD
from signalbox.workload.kinds.replicaset import REPLICA_SET
from signalbox.workload.kinds.statefulset import STATEFUL_SET

_ALL: tuple[WorkloadKind, ...] = (
    POD,
    JOB,
    CRON_JOB,
    DEPLOYMENT,
    STATEFUL_SET,
    REPLICA_SET,
    DAEMON_SET,
    JOB_SET,
)

KINDS: dict[tuple[str, str], WorkloadKind] = {(kind.group, kind.kind): kind for kind in _ALL}
