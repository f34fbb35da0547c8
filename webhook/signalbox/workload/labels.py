"""The labels and annotations that Signalbox reads and writes."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
# KAI reads the top owner's label (once of another name), then the Pod's; Volcano the annotation of plain Pods, and for
# Ray's kinds a label.
SCHEDULER_QUEUE_LABELS = ("kai.scheduler/queue", "runai/queue", "volcano.sh/queue-name")
SCHEDULER_QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
TEAM_LABEL = "workload.ai/team"
TYPE_LABEL = "workload.ai/type"
FRAMEWORK_LABEL = "workload.ai/framework"
CHECKPOINT_REQUIRED = "required"
CHECKPOINT_LABEL = "workload.ai/checkpoint"
CHECKPOINT_URI = "workload.ai/checkpoint-uri"
# Inferred from the object; where we set them they are inferred again instead of believed.
JUDGED_LABELS = (TYPE_LABEL, FRAMEWORK_LABEL, CHECKPOINT_LABEL)
INJECTED = "workload.ai/injected"
# On pod templates and Pods: the names of the labels we put there, so that a child does not show them as its user's word.
INJECTED_LABELS = "workload.ai/injected-labels"
