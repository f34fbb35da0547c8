"""ReplicaSet ``apps``: mostly a Deployment's child; one made by hand is judged like a Deployment.

Never injected on UPDATE: a ReplicaSet changed under its Deployment is remade without end. Kueue does not queue it.
"""

from signalbox.workload.kinds.replicated import replicated_kind

REPLICA_SET = replicated_kind("ReplicaSet", queue=None, injected_on_update=False)
