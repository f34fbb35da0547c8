"""AscendJob ``mindxdl.gitee.com``: Ascend operator's job for Huawei's NPUs, roles in ``spec.replicaSpecs``.

Its run policy is that of Kubeflow's operators before they could be suspended; Kueue does not know the kind.
"""

from dataclasses import replace

from signalbox.workload.kinds.replicaspecs import replica_specs_kind

ASCEND_JOB = replace(
    replica_specs_kind("AscendJob", "replicaSpecs", None),
    group="mindxdl.gitee.com",
    queue=None,
    suspend=None,
)
