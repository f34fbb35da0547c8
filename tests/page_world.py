"""A platform of four teams as the pages show it: two weeks of requests in a ledger, and what stands in the cluster.

The same in every run. All of it went through the engine: nothing that a page shows is made up.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from signalbox.audit.as_json import scan_json, subject_json
from signalbox.audit.largest import Largest
from signalbox.audit.scan import Scan
from signalbox.audit.tally import Tally
from signalbox.engine import Setup
from tests.audit_world import found, stored
from tests.ledgers import Recording, recording
from tests.world import NOW, Cluster, policies, policy, setup

Manifest = dict[str, Any]
DAYS = 14
RULES = """
owner: ml-platform
description: A spot node or a low priority ends a run without notice; hours of GPU time are lost with its progress.
match: {accelerators: {total: {min: 1}}}
rules:
  - name: checkpoint
    check: checkpoint
    when: {trains: true, any: [{spot: [demanded, preferred]}, {priority: {below: 10000}}]}
    with: {accept: [durable], unknown: warn}
    mode: warn
    overrides: [{namespaces: [research-sandbox], mode: audit, until: 2026-12-20}]
"""
LIMITS = """
owner: ml-platform
description: What a team can ever be given of the cluster; more would wait for ever.
match: {accelerators: {total: {min: 1}}}
rules:
  - {name: within-reach, check: accelerator-limit, with: {maxTotal: 48}, mode: enforce}
"""
GPUS = """
owner: ml-platform
description: GPUs cannot be overcommitted; a mismatch fails later, at a place its user does not look.
rules:
  - {name: limits-equal-requests, check: gpu-requests, mode: enforce}
  - {name: bypass, check: gpu-bypass, mode: warn}
"""
TRAINING = """
owner: ml-platform
description: Training ends; what starts a finished run again for ever holds its GPUs for nothing.
match: {trains: true}
rules:
  - {name: not-in-a-deployment, check: controller-kind, with: {barePods: none}, mode: enforce}
"""
GRACE = """
owner: ml-platform
description: A run that is ended needs time to write its last checkpoint.
inject: {terminationGracePeriodSeconds: 120}
rules:
  - {name: long-enough, check: termination-grace, with: {min: 120}, mode: audit}
"""
TIME = """
owner: ml-platform
description: A run without an end holds its GPUs until somebody notices.
match: {accelerators: {total: {min: 8}}}
rules:
  - {name: bounded, check: time-limits, with: {max: 604800}, mode: audit}
"""
EXCEPTIONS = """
apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: nightly-eval}
spec:
  rules: [interruptible/checkpoint]
  match: {namespaces: [team-eval], names: ["nightly-*"]}
  until: 2026-12-04
  reason: Moves to object storage with the next release of the harness.
  approvedBy: platform-oncall
---
apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: pretrain-3}
spec:
  rules: ["limits/*"]
  match: {namespaces: [team-research], names: ["pretrain-3*"]}
  until: 2027-02-28
  reason: The third pretraining run has the cluster to itself until it is done.
  approvedBy: head-of-research
---
apiVersion: policy.workload.ai/v1alpha1
kind: PolicyException
metadata: {name: old-harness}
spec:
  rules: [gpus/limits-equal-requests]
  match: {namespaces: [team-eval]}
  until: 2026-11-15
  reason: Was mended on 2026-11-12.
  approvedBy: platform-oncall
"""
DOCUMENTS = (
    policy(RULES, "interruptible"),
    policy(LIMITS, "limits"),
    policy(GPUS, "gpus"),
    policy(TRAINING, "training"),
    policy(GRACE, "grace"),
    policy(TIME, "time"),
    EXCEPTIONS,
)
TEXT = "\n---\n".join(DOCUMENTS)


@lru_cache(maxsize=1)
def world() -> Setup:
    """The policies in force, in a cluster that is known whole."""
    made = setup(*DOCUMENTS, cluster=Cluster(default="train-normal"))
    # The digest names the content, as it does of files.
    return replace(made, policies=replace(policies(TEXT), digest="7c1d0e3b9a54f2d8"))


def run(
    name: str,
    namespace: str,
    gpus: int,
    command: str,
    *,
    team: str = "",
    pods: int = 1,
    spot: bool = True,
    kind: str = "Job",
    request: int | None = None,
    grace: int = 30,
    **spec: Any,
) -> Manifest:
    """A workload, with all that an API server fills in."""
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(request or gpus)}}
    container = {"name": "main", "image": "registry.example/llm:1", "command": command.split(), "resources": resources}
    pod: Manifest = {
        "restartPolicy": "Always" if kind == "Deployment" else "Never",
        "terminationGracePeriodSeconds": grace,
        "containers": [container],
    }
    if spot:
        pod["nodeSelector"] = {"cloud.google.com/gke-spot": "true"}
    template = {"metadata": {"labels": {"app": name}}, "spec": pod}
    labels = {"workload.ai/team": team} if team else {}
    if kind == "Deployment":
        body = {"replicas": pods, "selector": {"matchLabels": {"app": name}}, "template": template, **spec}
        return stored("apps/v1", kind, name, body, namespace=namespace, metadata={"labels": labels})
    body = {"parallelism": pods, "completions": pods, "backoffLimit": 6, "template": template, **spec}
    return stored("batch/v1", kind, name, body, namespace=namespace, metadata={"labels": labels})


def asked(
    seed: int = 7, per_day: float = 20.0, now: datetime = NOW, safe: bool = False
) -> Iterator[tuple[datetime, str, Manifest]]:
    """Requests, oldest first: when, by whom, for what. Fewer of them are unsafe towards the end: teams mend their work."""
    chance = random.Random(seed)
    for back in range(DAYS, 0, -1):
        day = now - timedelta(days=back)
        weekend = day.weekday() >= 5
        count = round(per_day * (0.35 if weekend else 1.0) * chance.uniform(0.8, 1.2))
        for number in range(count):
            at = day + timedelta(minutes=number * 1430 / count)
            yield at, *_one(chance, back, number, safe)


def _one(chance: random.Random, back: int, number: int, safe: bool) -> tuple[str, Manifest]:
    unsafe = chance.random() < 0.16 + 0.05 * back / 2 and not safe
    name = f"{back:02d}{number:02d}"
    match chance.choices(("sft", "pretrain", "eval", "serve", "sweep", "mismatch", "service"), (34, 8, 22, 12, 14, 5, 3))[0]:
        case "sft":
            where = "/tmp/out" if unsafe else f"s3://checkpoints/sft-{name}"
            user = chance.choice(("ann", "ben", "chao"))
            return user, run(f"llama-sft-{name}", "team-research", 8, f"torchrun sft.py --output_dir={where}", team="research")
        case "pretrain":
            pods = chance.choice((2, 4, 8))
            command = "torchrun pretrain.py --output_dir=s3://checkpoints/pretrain"
            return "dana", run(f"pretrain-{name}", "team-research", 8, command, team="research", pods=pods, grace=300)
        case "eval":
            return "eval-bot", run(f"nightly-mmlu-{name}", "team-eval", 2, "lm_eval --model hf --tasks mmlu", team="eval")
        case "serve":
            command = "vllm serve meta-llama/Llama-3.1-8B-Instruct"
            return "gitops", run(
                f"chat-{name}", "team-serving", 1, command, team="serving", kind="Deployment", spot=False, pods=2, grace=120
            )
        case "sweep":
            where = "/scratch/sweep" if unsafe else "s3://checkpoints/sweep"
            return chance.choice(("eve", "finn")), run(
                f"reward-sweep-{name}", "team-platform", 4, f"python train_reward.py --output_dir={where}", team="platform"
            )
        case "mismatch":
            return "finn", run(
                f"probe-{name}", "team-platform", 4, "python bench_nccl.py", team="platform", request=2, spot=False
            )
        case _:
            command = "torchrun train.py --output_dir=s3://checkpoints/service"
            return "gus", run(f"trainer-{name}", "team-research", 8, command, team="research", kind="Deployment", spot=False)


def standing(seed: int = 11) -> Iterator[Manifest]:
    """What stands in the cluster."""
    chance = random.Random(seed)
    for number in range(26):
        where = "/tmp/out" if number % 4 == 0 else f"s3://checkpoints/sft-{number}"
        yield run(f"llama-sft-{number:02d}", "team-research", 8, f"torchrun sft.py --output_dir={where}", team="research")
    yield run(
        "pretrain-3-large", "team-research", 8, "torchrun pretrain.py --output_dir=/ckpt", team="research", pods=16, grace=300
    )
    yield run(
        "pretrain-4", "team-research", 8, "torchrun pretrain.py --output_dir=/tmp/ckpt", team="research", pods=8, grace=300
    )
    for number in range(9):
        where = "/scratch/sweep" if number % 3 == 0 else "s3://checkpoints/sweep"
        yield run(
            f"reward-sweep-{number:02d}", "team-platform", 4, f"python train_reward.py --output_dir={where}", team="platform"
        )
    for number in range(6):
        command = "python finetune.py --output_dir=/tmp/eval-model"
        yield run(f"nightly-distill-{number}", "team-eval", 2, command, team="eval")
    for number in range(8):
        command = "vllm serve meta-llama/Llama-3.1-8B-Instruct"
        pods = chance.choice((1, 2, 3))
        yield run(
            f"chat-{number}", "team-serving", 1, command, team="serving", kind="Deployment", spot=False, pods=pods, grace=120
        )
    command = "torchrun train.py --output_dir=s3://checkpoints/service"
    yield run("reward-model", "team-platform", 4, command, team="platform", kind="Deployment", spot=False)
    yield run("toy-run", "research-sandbox", 1, "torchrun train.py --output_dir=/tmp/toy")


def scan_of(objects: Iterator[Manifest], now: datetime = NOW, by: Setup | None = None) -> Manifest:
    """The scan of these objects as the controller keeps it."""
    scan, tally, largest = Scan(by or world(), now), Tally(), Largest(5000)
    for subject in scan.subjects([found(obj) for obj in objects]):
        tally.add(subject)
        largest.add(subject)
    workloads = [{**subject_json(subject), "children": 1} for subject in largest]
    return {**scan_json(scan.summary(), tally), "workloads": workloads, "workloadsLeftOut": 0}


def write_scan_file(file: Path, now: datetime = NOW) -> None:
    """The same as `signalbox audit -o json` writes it."""
    scan = scan_of(standing(), now)
    lines = [json.dumps(one) for one in scan.pop("workloads")]
    file.write_text("\n".join([*lines, json.dumps({"summary": scan})]) + "\n")


def write_ledger(file: Path, per_day: float = 20.0, now: datetime = NOW, by: Setup | None = None, safe: bool = False) -> None:
    """Two weeks of requests, through the webhook's own recorder; ``safe``: once every team has mended its work."""
    with recording(file, by or world()) as made:
        count = ask_all(made, per_day, now, safe)
        made.settled(count)
    assert not made.watch.losses, made.watch.losses


def ask_all(made: Recording, per_day: float, now: datetime, safe: bool = False) -> int:
    """Hand all requests over; how many there were."""
    count = 0
    for at, user, obj in asked(per_day=per_day, now=now, safe=safe):
        manifest = {**obj, "metadata": {key: obj["metadata"][key] for key in ("name", "namespace", "labels")}}
        made.ask(manifest, at, user=user, uid=f"{count:08d}-0000-4000-8000-000000000000")
        count += 1
    return count
