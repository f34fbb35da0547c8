"""From files to what the engine works with: policies, signs, the cluster. Used by the command line and the server alike.

Nothing here raises for what stands in a file: each fault is a problem with its place, and what is right is loaded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from signalbox.check.table import PARAMETERS
from signalbox.cluster.view import ClusterView, EmptyClusterView
from signalbox.controllers import Controllers, default_controllers
from signalbox.engine import Setup
from signalbox.manifests import PathBytes, parse_manifests, read_bytes
from signalbox.policy.kind_document import WorkloadKindDocument, compile_kind
from signalbox.policy.loading import Kinds, load_policy_set
from signalbox.policy.mode import Mode
from signalbox.policy.problem import PolicyProblem, Problems
from signalbox.policy.signs_compile import compile_signs
from signalbox.policy.signs_document import WorkloadSignsDocument
from signalbox.signs_loading import default_documents, load_default_signs
from signalbox.source import Document, SourceProblem
from signalbox.workload.kinds.kind import WorkloadKind, mapping
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.signs import Signs

NOT_POLICIES = frozenset({"tests"})
"""Folders that are not read among policies: test cases stand beside what they test."""

_SIGNS = "WorkloadSigns"
_KIND = "WorkloadKind"
_EMPTY_CLUSTER = (
    "no Namespace, PriorityClass, WorkloadPriorityClass, LocalQueue or ClusterQueue in it: nothing is known of the cluster"
)


@dataclass(frozen=True, slots=True)
class LoadedSetup:
    """A setup of everything that is right, and every fault: the documents with one are left out of it.

    ``signs`` names the WorkloadSigns beside the shipped ones, ``left_out`` the documents with a fault, and ``documents``
    leads from ``WorkloadPolicy/name`` to where it is written.
    """

    setup: Setup
    problems: tuple[PolicyProblem, ...] = ()
    signs: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[PolicyProblem, ...]:
        """The faults that left something out; the others are only warned of."""
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @property
    def warnings(self) -> tuple[PolicyProblem, ...]:
        """What somebody should look at, though nothing is left out for it."""
        return tuple(problem for problem in self.problems if problem.severity == "warning")


@dataclass(frozen=True, slots=True)
class SetupFiles:
    """Everything a setup is made of, as it was read at one moment: who has it judges by the very same bytes.

    ``objects`` are policies that stand in the cluster instead of a file, see ``policy_objects``.
    """

    policies: tuple[PathBytes, ...]
    signs: tuple[PathBytes, ...] = ()
    cluster: PathBytes | None = None
    objects: tuple[PathBytes, ...] = ()


def shipped_policies() -> Path:
    """The folder of the shipped policies: data of the package, or in a checkout the repository's own."""
    package = Path(__file__).parent / "shipped" / "policies"
    return package if package.is_dir() else Path(__file__).parents[2] / "policies"


def read_setup_files(
    policies: Sequence[Path] | None = None, signs: Sequence[Path] = (), cluster: Path | None = None
) -> SetupFiles:
    """The files of a setup as they are now. ``policies`` None means the shipped set."""
    paths = [shipped_policies()] if policies is None else policies
    return SetupFiles(
        tuple(read_bytes(str(path), NOT_POLICIES) for path in paths),
        tuple(read_bytes(str(path), NOT_POLICIES) for path in signs),
        None if cluster is None else read_bytes(str(cluster)),
    )


def load_setup(
    policies: Sequence[Path] | None = None,
    signs: Sequence[Path] = (),
    cluster: Path | None = None,
    *,
    max_mode: Mode = Mode.ENFORCE,
    verify_patches: bool = False,
    controllers: Controllers | None = None,
    now: datetime | None = None,
) -> LoadedSetup:
    """Everything to judge by, read and loaded at once; see ``read_setup_files`` and ``load_setup_files``."""
    files = read_setup_files(policies, signs, cluster)
    return load_setup_files(files, max_mode=max_mode, verify_patches=verify_patches, controllers=controllers, now=now)


def load_setup_files(
    files: SetupFiles,
    *,
    max_mode: Mode = Mode.ENFORCE,
    verify_patches: bool = False,
    help_page: str = "",
    controllers: Controllers | None = None,
    now: datetime | None = None,
    view: ClusterView | None = None,
) -> LoadedSetup:
    """Everything to judge by. WorkloadSigns and WorkloadKinds may stand among the policies.

    With ``now``, exceptions and overrides that are over are warned of. A ``view`` takes the place of the files' cluster.
    """
    in_files, problems = _parse(files.policies)
    sign_documents, sign_problems = _parse(files.signs)
    objects, object_problems = _parse(files.objects)
    documents = [*in_files, *objects]
    loaded_signs = _load_signs([*filter(_of_workloads, in_files), *sign_documents, *filter(_of_workloads, objects)])
    of_policies = [document for document in documents if not _of_workloads(document)]
    loaded = load_policy_set(of_policies, PARAMETERS, loaded_signs.signs, now, loaded_signs.kinds)
    of_files, cluster_problems = _load_cluster(files.cluster)
    setup = Setup(
        signs=loaded_signs.signs,
        policies=loaded.policy_set,
        cluster=of_files if view is None else view,
        controllers=controllers or default_controllers(),
        kinds=loaded_signs.kinds,
        max_mode=max_mode,
        verify_patches=verify_patches,
        help_page=help_page,
    )
    every = (*problems, *sign_problems, *object_problems, *loaded_signs.problems, *loaded.problems, *cluster_problems)
    left_out = _left_out(every, [*documents, *sign_documents])
    return LoadedSetup(setup, every, loaded_signs.names, left_out, loaded.documents)


@dataclass(frozen=True, slots=True)
class LoadedSigns:
    """The shipped signs together with others, the names of those, and what was wrong with them.

    ``kinds``: every kind that is known, those of WorkloadKind documents among them.
    """

    signs: Signs
    problems: tuple[PolicyProblem, ...] = ()
    names: tuple[str, ...] = ()
    kinds: Kinds = field(default_factory=lambda: KINDS)


def load_signs(paths: Sequence[Path] = ()) -> LoadedSigns:
    """The shipped signs and kinds, and those of the files given."""
    documents, problems = _parse(tuple(read_bytes(str(path), NOT_POLICIES) for path in paths))
    loaded = _load_signs(documents)
    return replace(loaded, problems=(*problems, *loaded.problems))


def _load_signs(documents: Sequence[Document]) -> LoadedSigns:
    if not documents:
        return LoadedSigns(load_default_signs())
    every: list[PolicyProblem] = []
    models: list[WorkloadSignsDocument] = []
    kinds: dict[tuple[str, str], WorkloadKind] = {}
    places: dict[str, Document] = {}
    for document in documents:
        found = Problems(document)
        kind = _kind_of(document)
        name = f"{kind}/{_name_of(document)}"
        first = places.setdefault(name, document)
        if first is not document and _name_of(document) is not None:
            found.add(("metadata", "name"), f"{name} is defined at {first.file}:{first.line} already")
        elif kind == _SIGNS:
            try:
                models.append(WorkloadSignsDocument.model_validate(document.value))
            except ValidationError as error:
                found.add_validation(error, WorkloadSignsDocument)
        elif kind == _KIND:
            _add_kind(document, kinds, found)
        else:
            found.add(("kind",), f"kind {_SIGNS} or {_KIND} is expected here")
        every += found.found
    signs = compile_signs([*default_documents(), *models]) if models else load_default_signs()
    return LoadedSigns(signs, tuple(every), tuple(model.metadata.name for model in models), {**KINDS, **kinds})


def _add_kind(document: Document, kinds: dict[tuple[str, str], WorkloadKind], found: Problems) -> None:
    try:
        kind = compile_kind(WorkloadKindDocument.model_validate(document.value))
    except ValidationError as error:
        found.add_validation(error, WorkloadKindDocument)
        return
    if kinds.setdefault((kind.group, kind.kind), kind) is not kind:
        found.add(("spec", "kind"), f"{kind.text} is declared already")


def _load_cluster(read: PathBytes | None) -> tuple[ClusterView, tuple[PolicyProblem, ...]]:
    """The cluster view of a folder of YAML; without one, a view that knows nothing."""
    if read is None:
        return EmptyClusterView(), ()
    from signalbox.cluster.folder import cluster_of

    view, found = cluster_of(parse_manifests([read]))
    problems = [_problem(problem) for problem in found]
    if view.knows_nothing and not problems:
        problems.append(PolicyProblem(read.path, 1, 1, "", _EMPTY_CLUSTER, "warning"))
    return view, tuple(problems)


def _parse(read: Sequence[PathBytes]) -> tuple[list[Document], list[PolicyProblem]]:
    found = parse_manifests(read)
    # A mistyped folder or a file cut off behind its first comment must not pass for a set that refuses nothing.
    empty = [PolicyProblem(path, 1, 1, "", "no document in it") for path in found.empty]
    return [manifest.document for manifest in found.objects], [*map(_problem, found.problems), *empty]


def _problem(problem: SourceProblem) -> PolicyProblem:
    return PolicyProblem(problem.file, problem.line, problem.column, "", problem.message)


def _left_out(problems: Sequence[PolicyProblem], documents: Sequence[Document]) -> tuple[str, ...]:
    """The documents with a fault, by kind, name and place; where there is no document, the place alone."""
    starts: dict[str, list[Document]] = {}
    for document in documents:
        starts.setdefault(document.file, []).append(document)
    named: dict[str, None] = {}
    for problem in problems:
        if problem.severity != "error":
            continue
        above = [document for document in starts.get(problem.file, ()) if document.line <= problem.line]
        # A fault that has no key path is one of the YAML: it belongs to no document that was read.
        place = f"{problem.file}:{problem.line}" if problem.line else problem.file
        named[_named(above[-1]) if above and problem.path else place] = None
    return tuple(named)


def _named(document: Document) -> str:
    text = f"{_kind_of(document) or 'document'} {_name_of(document) or 'without a name'}"
    # An object of the cluster is its own place.
    return text if text == document.file else f"{text} ({document.file}:{document.line})"


def _name_of(document: Document) -> str | None:
    name = mapping(mapping(document.value).get("metadata")).get("name")
    return name if isinstance(name, str) else None


def _of_workloads(document: Document) -> bool:
    return _kind_of(document) in (_SIGNS, _KIND)


def _kind_of(document: Document) -> object:
    return document.value.get("kind") if isinstance(document.value, dict) else None
