"""Manifests that tests share, in the shape of real ones."""

from typing import Any

from tests.world import yaml


def gpu_job(name: str = "llama-sft", namespace: str = "research", gpus: object = 8, **spec: Any) -> dict[str, Any]:
    """A Job of one Pod that fine-tunes on GPUs, as the API server hands it over: defaults are in."""
    job: dict[str, Any] = yaml(f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  suspend: false
  parallelism: 1
  completions: 1
  backoffLimit: 6
  template:
    metadata: {{}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 30
      containers:
        - name: trainer
          image: registry.example/llm:1
          command: [torchrun, sft.py, --output_dir=/tmp/out]
          resources: {{limits: {{nvidia.com/gpu: "{gpus}"}}, requests: {{nvidia.com/gpu: "{gpus}"}}}}
""")
    job["spec"].update(spec)
    return job


def pod_spec(workload: dict[str, Any]) -> dict[str, Any]:
    """The PodSpec of a workload of one template."""
    spec: dict[str, Any] = workload["spec"]
    if workload["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    if workload["kind"] == "JobSet":
        spec = spec["replicatedJobs"][0]["template"]["spec"]
    return spec if workload["kind"] == "Pod" else spec["template"]["spec"]


def deployment(name: str = "chat", namespace: str = "serving", gpus: int = 1) -> dict[str, Any]:
    """An inference server."""
    result: dict[str, Any] = yaml(f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 30
      containers:
        - name: server
          image: registry.example/vllm:1
          command: [vllm, serve, some/model]
          ports: [{{containerPort: 8000}}]
          readinessProbe: {{httpGet: {{path: /health, port: 8000}}}}
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
""")
    return result


def job_set(name: str = "pretrain", namespace: str = "research", gpus: object = 8) -> dict[str, Any]:
    """A JobSet with a CPU coordinator and two GPU workers."""
    result: dict[str, Any] = yaml(f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicatedJobs:
    - name: coordinator
      template:
        spec:
          template:
            spec:
              containers: [{{name: coordinator, image: "registry.example/llm:1", command: [sleep, "100"]}}]
    - name: workers
      replicas: 2
      template:
        spec:
          parallelism: 2
          completions: 2
          template:
            spec:
              containers:
                - name: trainer
                  image: registry.example/llm:1
                  command: [torchrun, --nnodes=4, pretrain.py]
                  resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
""")
    return result
