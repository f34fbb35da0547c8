"""A rule of one's own, written in the Common Expression Language.

`cel` is an expression over `workload` (the judgements, by the same names as in `match`), `object`, `oldObject` and
`request`. As in a ValidatingAdmissionPolicy, true passes. `message` and `fix.text` may name values of the workload in
braces; `fix.set` gives the fields to write instead.

Rule:
    cel: workload.accelerators.total <= 2
    message: interactive-dev takes at most 2 GPUs, this asks for {workload.accelerators.total}.
    fix: {set: {"metadata.labels[kueue.x-k8s.io/queue-name]": training-large}}
    when: {queues: [interactive-dev]}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: interactive-dev}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata:
      name: sweep
      namespace: research
      labels: {kueue.x-k8s.io/queue-name: interactive-dev}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 2}}}]
"""
