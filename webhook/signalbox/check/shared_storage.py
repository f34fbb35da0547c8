"""A volume that one node can mount is not shared by Pods of several nodes.

A disk that is attached to a node, and a claim with access mode ReadWriteOnce, can be written from one node only: the first
Pod gets it and the others wait for ever, with their GPUs promised to them. Seen are disks that the manifest names itself and
claims that it makes for all Pods together (Volcano `spec.volumes`); a claim of its own for each Pod (`volumeClaimTemplates`,
`ephemeral`) is right. The access modes of a claim that is only named stand in another object, so it passes, and so do Pods
that are kept on one node.

Rule:
    check: shared-storage
Refused:
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: pretrain, namespace: research}
    spec:
      volumes:
        - mountPath: /ckpt
          volumeClaim: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Ti}}}
      tasks:
        - name: worker
          replicas: 4
          template:
            spec:
              restartPolicy: OnFailure
              containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
Passes:
    apiVersion: batch.volcano.sh/v1alpha1
    kind: Job
    metadata: {name: pretrain, namespace: research}
    spec:
      volumes:
        - mountPath: /ckpt
          volumeClaim: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Ti}}}
      tasks:
        - name: worker
          replicas: 4
          template:
            spec:
              restartPolicy: OnFailure
              containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 8}}}]
"""

from collections.abc import Iterator
from itertools import islice

from signalbox.check.check import Check, NoParameters
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.view import WorkloadView

# Volume sources that are a disk of one node at a time (kubernetes core/v1: GCE PD, EBS, Azure Disk and their like).
_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "cinder", "vsphereVolume", "rbd", "iscsi", "fc")
_ONE_NODE = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
_HOSTNAME = "kubernetes.io/hostname"
_VOLCANO_VOLUMES: Path = ("spec", "volumes")
_MOST_VOLUMES = 256


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem]:
    """One problem a volume, keyed by its name or by where it is mounted."""
    view = subject.view
    if view.pods is not None and view.pods < 2:
        return
    if view.kind.group == "batch.volcano.sh" and view.kind.kind == "Job":
        yield from islice(_claimed_together(view), _MOST_VOLUMES)
    yield from islice(_disks(view), _MOST_VOLUMES)


def _claimed_together(view: WorkloadView) -> Iterator[Problem]:
    pods = view.pods
    if pods is None or any(_stays_on_one_node(template) for template in view.templates):
        return
    for index, volume in enumerate(members(value_at(view.object, _VOLCANO_VOLUMES))):
        modes = members(mapping(mapping(volume).get("volumeClaim")).get("accessModes"))
        if not modes or not all(type(mode) is str and mode in _ONE_NODE for mode in modes):
            continue
        path = (*_VOLCANO_VOLUMES, index, "volumeClaim", "accessModes")
        where = volume.get("mountPath")
        where = where if type(where) is str else ""
        yield Problem(
            f"Its {pods} Pods share the claim at {where}, which only one node can mount; the Pods on others wait for ever.",
            (Evidence(path, ", ".join(modes[:4])),),
            Fix("claim what several nodes can mount:", (Edit((*path, 0), "ReadWriteMany"),)),
            key=f"claim/{where}",
            amount=pods,
        )


def _disks(view: WorkloadView) -> Iterator[Problem]:
    for template in view.templates:
        if template.pods is None or template.pods < 2 or _stays_on_one_node(template):
            continue
        for index, volume in enumerate(members(template.spec.get("volumes"))):
            if type(volume) is not dict:
                continue
            source = next((name for name in _DISKS if mapping(volume.get(name))), "")
            if not source or volume[source].get("readOnly") is True:
                continue
            name = volume.get("name")
            name = name if type(name) is str else ""
            path = (*template.spec_path, "volumes", index)
            claim = {"name": name, "persistentVolumeClaim": {"claimName": "CLAIM"}}
            yield Problem(
                f"{template.pods} Pods share volume {name}, a disk of one node; the Pods on others wait for ever.",
                (Evidence((*path, source), source),),
                Fix(
                    "mount a PersistentVolumeClaim with access mode ReadWriteMany instead.",
                    (Edit(path, claim, to_fill_in=True),),
                ),
                key=f"{template.name}/{name}",
                amount=template.pods,
            )


def _stays_on_one_node(template: PodTemplate) -> bool:
    spec = template.spec
    if spec.get("nodeName") or mapping(spec.get("nodeSelector")).get(_HOSTNAME):
        return True
    together = mapping(mapping(spec.get("affinity")).get("podAffinity")).get("requiredDuringSchedulingIgnoredDuringExecution")
    return any(mapping(term).get("topologyKey") == _HOSTNAME for term in members(together))


CHECK = Check("shared-storage", NoParameters, run, __doc__)
