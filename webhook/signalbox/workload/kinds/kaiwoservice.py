"""KaiwoService ``kaiwo.silogen.ai``: a server, described by the fields of a KaiwoJob.

Its operator writes the Deployment or RayService, which come by again. The two share their fields (``CommonMetaSpec`` in
the reference of the project's CRDs).
"""

from signalbox.workload.kinds.kaiwojob import described_templates
from signalbox.workload.kinds.kind import WorkloadKind

KAIWO_SERVICE = WorkloadKind(
    group="kaiwo.silogen.ai",
    kind="KaiwoService",
    templates=described_templates,
    runs="forever",
    labelled=lambda service: (),
    queue=None,
    defaulted=False,
    type="inference",
    type_decides=True,
)
