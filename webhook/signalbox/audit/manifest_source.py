"""What there is to judge in files: manifests as their authors wrote them, and what ``kubectl get -o yaml`` printed."""

from collections.abc import Container, Iterator, Mapping, Sequence

from signalbox.admission import namespace_of
from signalbox.audit.family import Key, parents_first
from signalbox.audit.listing import Found, Item, Listed
from signalbox.audit.result import ScanError
from signalbox.controllers import Controllers
from signalbox.manifests import Manifest, Manifests
from signalbox.workload.kinds.kind import WorkloadKind, mapping


def from_manifests(
    read: Manifests,
    kinds: Mapping[Key, WorkloadKind],
    controllers: Controllers,
    namespaces: Sequence[str] = (),
    excluded: Container[Key] = (),
) -> Iterator[Item]:
    """The workloads among the manifests, owners first, and what could not be read.

    With ``namespaces`` only those of them; where it is one, it is that of manifests that name none. What has a uid has been
    in a cluster and is taken as it was there.
    """
    own = namespaces[0] if len(namespaces) == 1 else ""
    for problem in read.problems:
        yield ScanError(f"{problem.file}:{problem.line}" if problem.line else problem.file, problem.message)
    by_kind: dict[Key, list[Manifest]] = {}
    for manifest in read.objects:
        by_kind.setdefault((manifest.group, manifest.kind), []).append(manifest)
    wanted = [key for key in by_kind if key in kinds and key not in excluded]
    # What is in no file never comes: nothing waits for an owner of these kinds.
    yield from (Listed(kind) for key, kind in kinds.items() if key not in by_kind)
    for key in parents_first(wanted, controllers):
        for manifest in by_kind[key]:
            obj = manifest.value
            stored = isinstance(mapping(obj.get("metadata")).get("uid"), str)
            namespace = namespace_of(obj, own)
            if not namespaces or namespace in namespaces:
                yield Found(obj, kinds[key], namespace, stored, f"{manifest.file}:{manifest.document.line}")
        yield Listed(kinds[key])
