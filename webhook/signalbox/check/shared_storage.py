"""A volume that one node can mount is not shared by Pods of several nodes.

A disk that is attached to a node, and a claim with access mode ReadWriteOnce, can be written from one node only: the first
Pod gets it and the others wait for ever, with their GPUs promised to them. Seen are disks that the manifest names itself,
claims that it makes for all Pods together (Volcano `spec.volumes`, JobSet `volumeClaimPolicies`), and claims that it names,
where the PersistentVolumeClaim stands in the files that a command is given or in `--cluster`. The webhook does not watch
claims, so there a claim that is only named passes. Pods of several roles that run at the same time count together. A claim
of its own for each Pod (`volumeClaimTemplates`, `ephemeral`) is right, and so are Pods that are kept on one node, if not on
a claim with access mode ReadWriteOncePod, which is for one Pod.

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
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from signalbox.check.check import Check, NoParameters
from signalbox.check.on_one_node import node_of, stays_together
from signalbox.cluster.view import UNKNOWN
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import PodTemplate, mapping, members
from signalbox.workload.kinds.volcanotasks import GROUP as VOLCANO
from signalbox.workload.kinds.volcanotasks import job_spec
from signalbox.workload.pod_containers import containers_of
from signalbox.workload.view import WorkloadView

# Volume sources that are a disk of one node at a time, and what says which disk (kubernetes core/v1).
_DISKS = {
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskURI",),
    "cinder": ("volumeID",),
    "vsphereVolume": ("volumePath",),
    "rbd": ("pool", "image"),
    "iscsi": ("targetPortal", "iqn", "lun"),
    "fc": (),
}
_ONE_POD = "ReadWriteOncePod"
_ONE_NODE = frozenset({"ReadWriteOnce", _ONE_POD})
_CLAIM = "persistentVolumeClaim"
_MOST_VOLUMES = 256
_POLICIES: Path = ("spec", "volumeClaimPolicies")


@dataclass(slots=True)
class _Shared:
    """One disk or claim, with the volumes that are it: template, index and name."""

    source: str
    modes: tuple[str, ...] = ()
    mounts: list[tuple[PodTemplate, int, str]] = field(default_factory=list)

    @property
    def pods(self) -> int:
        """How many Pods mount it; those whose number is a placeholder count as none."""
        return sum(pods for pods in {template.path: template.pods or 0 for template, _, _ in self.mounts}.values())

    @property
    def is_torn(self) -> bool:
        """Whether some of its Pods may come to where it is not."""
        if _ONE_POD in self.modes:
            return self.pods > 1
        templates = {template.path: template for template, _, _ in self.mounts if template.pods}.values()
        nodes = {node for template in templates if (node := node_of(template))}
        # Pods that want to be where others are go where those go.
        free = sum(one.pods or 0 for one in templates if not node_of(one) and not stays_together(one))
        return free + len(nodes) > 1


def run(subject: CheckSubject, parameters: NoParameters) -> Iterator[Problem]:
    """One problem a volume, keyed by its name or by where it is mounted, one a claim, keyed by its name."""
    view = subject.view
    if view.pods is not None and view.pods < 2:
        return
    if view.acts_as.group == VOLCANO:
        yield from islice(_claimed_together(view), _MOST_VOLUMES)
    yield from islice(_claimed_by_policies(view), _MOST_VOLUMES)
    for shared in islice((one for one in _shared(view) if one.is_torn), _MOST_VOLUMES):
        yield _by_claim(shared) if shared.source == _CLAIM else _by_disk(shared)


def _claimed_together(view: WorkloadView) -> Iterator[Problem]:
    jobs = dict.fromkeys(map(job_spec, view.templates))
    listed = [(job, index, one) for job in jobs for index, one in enumerate(members(value_at(view.object, (*job, "volumes"))))]
    for job, index, volume in listed:
        if type(volume) is not dict:
            continue
        # Volcano mounts it into all tasks.
        tasks = [(template, index, "") for template in view.templates if job_spec(template) == job]
        where = volume.get("mountPath")
        where = f"at {where}" if type(where) is str and where else f"of volume {index + 1}"
        modes = members(mapping(volume.get("volumeClaim")).get("accessModes"))
        path: Path = (*job, "volumes", index, "volumeClaim", "accessModes")
        fix = _by_many(path)
        if not modes:
            name = volume.get("volumeClaimName")
            modes = list(_modes(view, name))
            path = (*job, "volumes", index, "volumeClaimName")
            fix = _other_claim(name) if modes else Fix()
            seen = Evidence(path, str(name), ", ".join(modes[:4]))
        else:
            seen = Evidence(path, ", ".join(map(str, modes[:4])))
        if not modes or not all(type(mode) is str and mode in _ONE_NODE for mode in modes):
            continue
        shared = _Shared(_CLAIM, tuple(modes), tasks)
        if not shared.is_torn:
            continue
        yield _torn(shared, where, seen, fix, where.partition(" ")[2])


def _torn(shared: _Shared, claim: str, seen: Evidence, fix: Fix, key: str = "") -> Problem:
    """The problem of a claim that is made for all Pods together."""
    message = (
        f"Its {shared.pods} Pods share the claim {claim}, which only one node can mount; the Pods on others wait for ever."
    )
    return Problem(message, (seen,), fix, key=f"claim/{key or claim}", amount=shared.pods)


def _by_many(modes: Path) -> Fix:
    return Fix("claim what several nodes can mount:", (Edit((*modes, 0), "ReadWriteMany"),))


def _claimed_by_policies(view: WorkloadView) -> Iterator[Problem]:
    """Claims that a JobSet makes for all Pods that mount them by name."""
    mounting: dict[str, list[PodTemplate]] = {}
    for template in view.templates if value_at(view.object, _POLICIES) else ():
        mounts = (mount for _, one, _ in containers_of(template) for mount in members(one.get("volumeMounts")))
        for name in dict.fromkeys(name for mount in mounts if type(name := mapping(mount).get("name")) is str):
            mounting.setdefault(name, []).append(template)
    for path, claim in _claim_templates(view):
        name, modes = value_at(claim, ("metadata", "name")), members(value_at(claim, ("spec", "accessModes")))
        if type(name) is not str or not modes or not all(type(mode) is str and mode in _ONE_NODE for mode in modes):
            continue
        shared: dict[Path, _Shared] = {}
        for template in mounting.get(name, ()):
            apart = template.path if _runs_apart(view, template) else ()
            shared.setdefault(apart, _Shared(_CLAIM, tuple(modes))).mounts.append((template, 0, name))
        torn = next((one for one in shared.values() if one.is_torn), None)
        if torn is not None:
            where: Path = (*path, "spec", "accessModes")
            seen = Evidence(where, ", ".join(modes[:4]))
            yield _torn(torn, name, seen, _by_many(where))


def _claim_templates(view: WorkloadView) -> Iterator[tuple[Path, Any]]:
    for index, policy in enumerate(members(value_at(view.object, _POLICIES))):
        for at, claim in enumerate(members(mapping(policy).get("templates"))):
            yield (*_POLICIES, index, "templates", at), claim


def _shared(view: WorkloadView) -> Iterator[_Shared]:
    """Every disk, and every claim for one node, with all that mounts it."""
    found: dict[tuple[object, ...], _Shared] = {}
    modes_of: dict[str, tuple[str, ...]] = {}
    for template in view.templates:
        volumes = members(template.spec.get("volumes"))
        apart = _runs_apart(view, template) if volumes else False
        for index, volume in enumerate(volumes):
            if type(volume) is not dict:
                continue
            name = volume.get("name")
            name = name if type(name) is str else ""
            claim = mapping(volume.get(_CLAIM)).get("claimName")
            if type(claim) is str:
                if claim not in modes_of:
                    modes_of[claim] = _modes(view, claim)
                modes = modes_of[claim]
                if modes and _ONE_NODE.issuperset(modes):
                    key = (_CLAIM, claim, template.path if apart else None)
                    found.setdefault(key, _Shared(_CLAIM, modes)).mounts.append((template, index, name))
                continue
            source = next((one for one in _DISKS if mapping(volume.get(one))), "")
            if source and volume[source].get("readOnly") is not True:
                disk = tuple(volume[source].get(part) for part in _DISKS[source])
                same = not apart and disk and all(type(part) in (str, int) for part in disk)
                key = (source, *disk) if same else (source, template.path, index)
                found.setdefault(key, _Shared(source)).mounts.append((template, index, name))
    yield from found.values()


def _modes(view: WorkloadView, claim: object) -> tuple[str, ...]:
    """The access modes of a claim; none where it is not known."""
    known = view.cluster.volume_claim(view.namespace, claim) if type(claim) is str else None
    return () if known is None or known is UNKNOWN else known.access_modes


def _runs_apart(view: WorkloadView, template: PodTemplate) -> bool:
    """Whether its Pods may run when those of other templates do not: a step, or what waits for others to complete."""
    if view.acts_as.steps or template.foreign or template.virtual:
        return True
    return any("dependsOn" in mapping(value_at(view.object, template.path[:length])) for length in range(1, len(template.path)))


def _by_disk(shared: _Shared) -> Problem:
    first, _, name = shared.mounts[0]
    edits, evidence = [], []
    for template, index, called in shared.mounts[:_MOST_VOLUMES]:
        path = (*template.spec_path, "volumes", index)
        claim = {"name": called, _CLAIM: {"claimName": "CLAIM"}}
        if not template.foreign:
            edits.append(Edit(path, claim, to_fill_in=True))
        evidence.append(Evidence((*path, shared.source), shared.source))
    return Problem(
        f"{shared.pods} Pods{_roles(shared)} share volume {name}, a disk of one node; the Pods on others wait for ever.",
        tuple(evidence),
        Fix("mount a PersistentVolumeClaim with access mode ReadWriteMany instead.", tuple(edits)),
        key=f"{first.name}/{name}",
        amount=shared.pods,
    )


def _by_claim(shared: _Shared) -> Problem:
    modes = ", ".join(shared.modes[:4])
    evidence = []
    name = ""
    for template, index, _ in shared.mounts[:_MOST_VOLUMES]:
        volume = mapping(members(template.spec.get("volumes"))[index])
        name = str(mapping(volume.get(_CLAIM)).get("claimName"))
        path = (*template.spec_path, "volumes", index, _CLAIM, "claimName")
        evidence.append(Evidence(path, name, f"its accessModes are {modes}"))
    only = "one Pod can use; the others" if _ONE_POD in shared.modes else "one node can mount; the Pods on others"
    return Problem(
        f"{shared.pods} Pods{_roles(shared)} share claim {name}, which only {only} wait for ever.",
        tuple(evidence),
        _other_claim(name),
        key=f"claim {name}",
        amount=shared.pods,
    )


def _other_claim(name: object) -> Fix:
    return Fix(f"mount a claim with access mode ReadWriteMany instead of {name}; the modes of a claim cannot be changed.")


def _roles(shared: _Shared) -> str:
    names = dict.fromkeys(template.name for template, _, _ in shared.mounts if template.pods and template.name)
    return f" of {' and '.join(islice(names, 4))}" if len(names) > 1 else ""


CHECK = Check("shared-storage", NoParameters, run, __doc__)
