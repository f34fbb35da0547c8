"""MXJob ``kubeflow.org``: roles in ``spec.mxReplicaSpecs`` (mxnet-operator ``pkg/apis/mxnet``, then the training-operator).

``jobMode: MXTune`` looks for faster kernels with the same roles of other names. The older operator has the run policy's fields
in ``spec`` itself. Kueue has given the kind up.
"""

from dataclasses import replace

from signalbox.fieldpath import Path
from signalbox.workload.kinds.listedreplicas import with_list
from signalbox.workload.kinds.replicaspecs import replica_specs_kind

_SCHEDULING: Path = ("spec", "schedulingPolicy")
_KIND = with_list(replica_specs_kind("MXJob", "mxReplicaSpecs", "mxnet"))

MX_JOB = replace(
    _KIND,
    queue=None,
    queue_fields=(*_KIND.queue_fields, (*_SCHEDULING, "queue")),
    suspend=None,
    priority=(*_KIND.priority, (*_SCHEDULING, "priorityClass")),
)
