"""Five manifests of the shapes a cluster sees most, and AdmissionReviews made of them, no two alike."""

import copy
from typing import Any

GPU = {"limits": {"nvidia.com/gpu": 8, "memory": "400Gi"}, "requests": {"cpu": "32", "memory": "400Gi"}}
TRAIN = ["torchrun", "--nproc-per-node=8", "train.py", "--output_dir=s3://models/run", "--save_steps=500"]


def _template(container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": container["name"]}},
        "spec": {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            **spec,
        },
    }


def _trainer(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": "registry.example/train:1.4",
        "command": TRAIN,
        "env": [{"name": f"SETTING_{index}", "value": str(index)} for index in range(12)],
        "resources": GPU,
        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    }


_DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}]

WEB = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": _template(
            {
                "name": "web",
                "image": "nginx:1.29",
                "ports": [{"containerPort": 8080}],
                "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}},
            },
            restartPolicy="Always",
        ),
    },
}
GPU_JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "sft", "namespace": "team-research", "labels": {"team": "research"}},
    "spec": {
        "backoffLimit": 3,
        "completions": 4,
        "parallelism": 4,
        "completionMode": "Indexed",
        "template": _template(_trainer("trainer"), restartPolicy="Never", volumes=_DATA),
    },
}
JOB_SET = {
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "kind": "JobSet",
    "metadata": {"name": "pretrain", "namespace": "team-research"},
    "spec": {
        "failurePolicy": {"maxRestarts": 3},
        "replicatedJobs": [
            {
                "name": name,
                "replicas": replicas,
                "template": {
                    "spec": {
                        "parallelism": 4,
                        "completions": 4,
                        "backoffLimit": 0,
                        "template": {"spec": {"restartPolicy": "Never", "containers": [_trainer(name)], "volumes": _DATA}},
                    }
                },
            }
            for name, replicas in (("leader", 1), ("workers", 8))
        ],
    },
}
BARE_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "debug", "namespace": "team-platform"},
    "spec": {
        **_template({"name": "shell", "image": "ubuntu:24.04", "command": ["sleep", "3600"], "resources": {}})["spec"],
        "restartPolicy": "Always",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
    },
}
CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly-eval", "namespace": "team-eval"},
    "spec": {
        "schedule": "0 3 * * *",
        "concurrencyPolicy": "Allow",
        "jobTemplate": {
            "spec": {
                "backoffLimit": 6,
                "template": _template(_trainer("eval"), restartPolicy="OnFailure", volumes=_DATA),
            }
        },
    },
}

MANIFESTS: dict[str, dict[str, Any]] = {
    "web Deployment": WEB,
    "GPU Job": GPU_JOB,
    "JobSet": JOB_SET,
    "bare Pod": BARE_POD,
    "CronJob": CRON_JOB,
}


def review(manifest: dict[str, Any], number: int) -> dict[str, Any]:
    """A CREATE of that manifest under a name of its own."""
    body = copy.deepcopy(manifest)
    name = body["metadata"]["name"] = f"{body['metadata']['name']}-{number}"
    group, _, version = body["apiVersion"].rpartition("/")
    resource = f"{body['kind'].lower()}s"
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": f"00000000-0000-4000-8000-{number:012d}",
            "kind": {"group": group, "version": version, "kind": body["kind"]},
            "resource": {"group": group, "version": version, "resource": resource},
            "name": name,
            "namespace": body["metadata"]["namespace"],
            "operation": "CREATE",
            "userInfo": {"username": "ann@example.com", "groups": ["research", "system:authenticated"]},
            "object": body,
            "oldObject": None,
            "dryRun": False,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions", "fieldManager": "kubectl"},
        },
    }
