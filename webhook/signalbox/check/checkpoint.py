"""Work that can be interrupted must keep its progress where it outlives the Pod.

A spot node is taken back without notice and a low-priority run is preempted; what was written to an `emptyDir`, a
`hostPath` or the container's own disk is gone with the Pod, and the run starts over. `accept` lists the states that pass.
A path that only a config file or a placeholder holds cannot be judged: `unknown` says whether that passes, warns or
refuses. A checkpoint that nothing reads back (no `--resume`, no load from where it is saved, no test whether one is there)
saves nothing either, but a program may do that by itself, so it never refuses: `unread` says whether that passes, is noted
(recorded, shown by `explain` and in reports) or warned of. Where all that outlives the Pod is the folder of the finished
model (`MODEL_DIR=/model` on a volume), and nothing says that progress is saved on the way, it warns, unless `unread` is
`pass`; so it does where saving is told to happen never (`save_freq=-1`). A run that is told to save nothing at all is refused,
and so is one whose model is only copied away once it is over (`python train.py && aws s3 cp model.pt s3://…`).

Rule:
    check: checkpoint
    with: {accept: [durable], unknown: warn}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: llama-sft, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {cloud.google.com/gke-spot: "true"}
          containers:
            - name: trainer
              image: registry.example/llm:1
              command: [torchrun, sft.py, --output_dir=/tmp/out]
              resources: {limits: {nvidia.com/gpu: 8}}
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: llama-sft, namespace: research}
    spec:
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {cloud.google.com/gke-spot: "true"}
          containers:
            - name: trainer
              image: registry.example/llm:1
              command: [torchrun, sft.py, --output_dir=/ckpt/llama-sft, --resume_from_checkpoint=latest]
              resources: {limits: {nvidia.com/gpu: 8}}
              volumeMounts: [{name: ckpt, mountPath: /ckpt}]
          volumes: [{name: ckpt, persistentVolumeClaim: {claimName: ckpt}}]
"""

from typing import Literal

from signalbox.check.check import Check, Parameters
from signalbox.check.instead import moved, turned_on
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.policy.mode import Mode
from signalbox.workload.checkpoint import lasting_folder
from signalbox.workload.judgement import Evidence
from signalbox.workload.labels import CHECKPOINT_URI
from signalbox.workload.view import WorkloadView


class CheckpointParameters(Parameters):
    """Which checkpoints are good enough."""

    accept: list[Literal["durable", "ephemeral", "none"]] = ["durable"]
    unknown: Literal["pass", "warn", "refuse"] = "warn"
    unread: Literal["pass", "note", "warn"] = "note"


_SEEN = {
    "none": "no durable checkpoint is declared.",
    "ephemeral": "its checkpoint is lost with the Pod.",
    "durable": "a durable checkpoint is not what the policy accepts here.",
    "unknown": "where its checkpoint goes cannot be seen from the manifest.",
}
_COPIED_LAST = "what it makes is copied away only once it is over."


def run(subject: CheckSubject, parameters: CheckpointParameters) -> list[Problem]:
    """One problem at most, keyed by what is wrong: no `checkpoint` that counts, a `finished-model` alone, or no `resume`."""
    view = subject.view
    checkpoint = view.checkpoint
    state = checkpoint.state or "none"
    at_most = Mode.ENFORCE
    if state == "unknown":
        if parameters.unknown == "pass":
            return []
        at_most = Mode.WARN if parameters.unknown == "warn" else Mode.ENFORCE
    elif ("none" if checkpoint.copied_last and state == "durable" else state) in parameters.accept:
        return _unread(view, parameters) if state == "durable" and parameters.unread != "pass" else []
    why, evidence = _interruption(view)
    doubt = "may start over" if state == "unknown" else "would start over"
    off = checkpoint.saving_off.value if checkpoint.saving_off else ""
    seen = "its saving is turned off." if off else _COPIED_LAST if checkpoint.copied_last else _SEEN[state]
    return [
        Problem(
            f"{why}, and this run {doubt}: {seen}",
            evidence=(*evidence, *checkpoint.evidence),
            fix=_fix(view, state, off),
            key="checkpoint",
            at_most=at_most,
        )
    ]


def _unread(view: WorkloadView, parameters: CheckpointParameters) -> list[Problem]:
    """A checkpoint that outlives the Pod, and a run that starts over all the same: it is not read, or only made at the end."""
    resume = view.resume
    finished = view.checkpoint.finished_only
    if resume.state not in ("unsaid", "starts-over") and not finished:
        return []
    why, evidence = _interruption(view)
    never = view.checkpoint.saving_off
    if never is not None:
        message = f"{why}, and this run saves nothing before its end: {never.value} turns that off."
        fix = Fix("let it save every so often, where that outlives the Pod.")
    elif finished:
        message = f"{why}, and only its finished model is seen to outlive the Pod; its program may save its progress too."
        fix = Fix("if it does not, let it save where that outlives the Pod (--output_dir, or what its framework calls it).")
    elif resume.state == "starts-over":
        message = f"{why}, and this run starts over: its checkpoint is durable, but it is told not to read it back."
        fix = Fix("let it go on from its last checkpoint when it is started again.")
    else:
        message = f"{why}, and nothing in the manifest reads its checkpoint back; its program may do so by itself."
        fix = Fix("if it does not, tell it to go on from its last checkpoint (--resume, or what its framework calls it).")
    at_most = Mode.WARN if finished or parameters.unread == "warn" else Mode.AUDIT
    return [
        Problem(
            message,
            evidence=(*evidence, *view.checkpoint.evidence, *resume.evidence),
            fix=fix,
            key="finished-model" if finished else "resume",
            at_most=at_most,
        )
    ]


def _interruption(view: WorkloadView) -> tuple[str, tuple[Evidence, ...]]:
    spot = view.spot
    if spot.state in ("demanded", "preferred"):
        return "Spot work is interrupted without notice", spot.evidence
    priority = view.priority
    if priority.state == "known":
        return f"Work of priority {priority.value} can be preempted", priority.evidence
    if spot.state == "permitted":
        return "Work that tolerates spot nodes can be interrupted without notice", spot.evidence
    return "Work of this kind can be interrupted", priority.evidence


def _fix(view: WorkloadView, state: str, off: str) -> Fix:
    name = view.name.rstrip("-") or view.kind.kind.lower()
    edit = Edit(("metadata", "annotations", CHECKPOINT_URI), f"s3://BUCKET/{name}", to_fill_in=True)
    if off:
        text = f"let it save as it goes, where that outlives the Pod ({turned_on(off)})"
        return Fix(f"{text}; where it is saved all the same, declare it:", (edit,))
    if state == "unknown":
        return Fix("say where it goes:", (edit,))
    folder = lasting_folder(view)
    if folder:
        # What is mounted already is nearer than any bucket.
        lost = moved(view.checkpoint.evidence[0].value, folder) if state == "ephemeral" else ""
        example = lost or f"--output_dir={folder}/{name}, or what its framework calls it"
        text = f"let it save below {folder}, which outlives the Pod ({example}); where it does so already, declare it:"
        return Fix(text, (Edit(edit.path, f"{folder}/<RUN>", to_fill_in=True),))
    return Fix("mount a PersistentVolumeClaim where it writes, or write to a bucket and declare it:", (edit,))


CHECK = Check("checkpoint", CheckpointParameters, run, __doc__)
