"""InferenceService ``serving.kubeflow.org``: KServe's by the name it had before, KFServing; the same fields."""

from dataclasses import replace

from signalbox.workload.kinds.inferenceservice import INFERENCE_SERVICE

KFSERVING_INFERENCE_SERVICE = replace(INFERENCE_SERVICE, group="serving.kubeflow.org", namesake=True)
