"""A training runtime in the files that a command is given: the TrainJob beside it is judged with it, as the cluster would."""

import json
from pathlib import Path

import pytest

from signalbox.cli.main import main

RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {{name: torch{namespace}}}
spec:
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: registry.example/torch
                      command: [torchrun, --nproc_per_node=8, train.py, --output_dir, /ckpt]
                      volumeMounts: [{{name: ckpt, mountPath: /ckpt}}]
                  volumes: [{{name: ckpt, persistentVolumeClaim: {{claimName: ckpt}}}}]
---
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama}
spec:
  runtimeRef: {kind: TrainingRuntime, name: torch}
  trainer: {numNodes: 2}
"""


def _checkpoint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    main(("inspect", "job.yaml", "-o", "json", *words))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [job] = [line for line in lines if line["kind"] == "TrainJob"]
    return str(job["checkpoint"]["state"])


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_train_job_is_judged_with_the_runtime_in_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(RUNTIME.format(namespace="") + TRAIN_JOB)
    assert _checkpoint(capsys) == "durable"
    assert _checkpoint(capsys, "-n", "research") == "durable"


def test_a_runtime_of_another_namespace_is_not_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(RUNTIME.format(namespace=", namespace: others") + TRAIN_JOB)
    assert _checkpoint(capsys) != "durable"


def test_a_runtime_that_cannot_be_read_leaves_the_job_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    broken = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: [a]\n---\n"
    Path("job.yaml").write_text(broken + TRAIN_JOB)
    assert _checkpoint(capsys) != "durable"


POLICY = """\
apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {name: kept}
spec: {rules: [{name: kept, check: checkpoint, mode: enforce}]}
"""


def test_the_audit_of_files_takes_the_runtime_into_account_as_check_does() -> None:
    Path("policy.yaml").write_text(POLICY)
    Path("job.yaml").write_text(TRAIN_JOB)
    asked = ("job.yaml", "--policies", "policy.yaml")
    assert [main((command, *asked)) for command in ("audit", "check")] == [1, 1]
    Path("job.yaml").write_text(RUNTIME.format(namespace="") + TRAIN_JOB)
    assert [main((command, *asked)) for command in ("audit", "check")] == [0, 0]


def test_a_runtime_is_no_kind_to_be_described(capsys: pytest.CaptureFixture[str]) -> None:
    Path("job.yaml").write_text(RUNTIME.format(namespace="") + TRAIN_JOB)
    main(("check", "job.yaml"))
    assert "kinds suggest" not in capsys.readouterr().out
    assert main(("kinds", "suggest", "job.yaml")) == 0
    assert "no kind found" in capsys.readouterr().err
