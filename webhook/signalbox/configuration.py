"""From files to what the engine works with: policies, signs, the cluster. Used by the command line and the server alike.

Nothing here raises for what stands in a file: each fault is a problem with its place, and what is right is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from signalbox.check.table import PARAMETERS
from signalbox.cluster.view import ClusterView, EmptyClusterView
from signalbox.controllers import Controllers, default_controllers
from signalbox.engine import Setup
from signalbox.manifests import read_manifests
from signalbox.policy.loading import load_policy_set
from signalbox.policy.mode import Mode
from signalbox.policy.problem import PolicyProblem, Problems
from signalbox.policy.signs_document import WorkloadSignsDocument, compile_signs
from signalbox.signs_loading import default_documents, load_default_signs
from signalbox.source import Document
from signalbox.workload.signs import Signs

# Test cases stand beside the policies they test.
_NOT_POLICIES = frozenset({"tests"})
_SIGNS = "WorkloadSigns"


@dataclass(frozen=True, slots=True)
class LoadedSetup:
    """A setup of everything that is right, and every fault: the documents with one are left out of it.

    ``signs`` names the WorkloadSigns beside the shipped ones.
    """

    setup: Setup
    problems: tuple[PolicyProblem, ...] = ()
    signs: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[PolicyProblem, ...]:
        """The faults that left something out; the others are only warned of."""
        return tuple(problem for problem in self.problems if problem.severity == "error")


def shipped_policies() -> Path:
    """The folder of the shipped policies: data of the package, or in a checkout the repository's own."""
    package = Path(__file__).parent / "shipped" / "policies"
    return package if package.is_dir() else Path(__file__).parents[2] / "policies"


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
    """Everything to judge by. ``policies`` None means the shipped set; WorkloadSigns may stand among them.

    With ``now``, exceptions and overrides that are over are warned of.
    """
    paths = [shipped_policies()] if policies is None else policies
    documents, problems = _read(paths)
    of_signs = [document for document in documents if _is_signs(document)]
    loaded_signs = load_signs(signs, of_signs)
    loaded = load_policy_set(
        [document for document in documents if not _is_signs(document)], PARAMETERS, loaded_signs.signs, now
    )
    view, cluster_problems = load_cluster(cluster)
    setup = Setup(
        signs=loaded_signs.signs,
        policies=loaded.policy_set,
        cluster=view,
        controllers=controllers or default_controllers(),
        max_mode=max_mode,
        verify_patches=verify_patches,
    )
    every = (*problems, *loaded_signs.problems, *loaded.problems, *cluster_problems)
    return LoadedSetup(setup, every, loaded_signs.names)


@dataclass(frozen=True, slots=True)
class LoadedSigns:
    """The shipped signs together with others, the names of those, and what was wrong with them."""

    signs: Signs
    problems: tuple[PolicyProblem, ...] = ()
    names: tuple[str, ...] = ()


def load_signs(paths: Sequence[Path] = (), documents: Sequence[Document] = ()) -> LoadedSigns:
    """The shipped signs, and those of the files and documents given."""
    read, problems = _read(paths) if paths else ([], ())
    if not read and not documents:
        return LoadedSigns(load_default_signs(), tuple(problems))
    every = list(problems)
    models: list[WorkloadSignsDocument] = []
    for document in (*documents, *read):
        found = Problems(document)
        if not _is_signs(document):
            found.add(("kind",), f"kind {_SIGNS} is expected here")
        else:
            try:
                models.append(WorkloadSignsDocument.model_validate(document.value))
            except ValidationError as error:
                found.add_validation(error, WorkloadSignsDocument)
        every += found.found
    signs = compile_signs([*default_documents(), *models]) if models else load_default_signs()
    return LoadedSigns(signs, tuple(every), tuple(model.metadata.name for model in models))


def load_cluster(folder: Path | None) -> tuple[ClusterView, tuple[PolicyProblem, ...]]:
    """The cluster view of a folder of YAML; without one, a view that knows nothing."""
    if folder is None:
        return EmptyClusterView(), ()
    from signalbox.cluster.folder import read_cluster

    view, problems = read_cluster(str(folder))
    return view, tuple(PolicyProblem(problem.file, problem.line, problem.column, "", problem.message) for problem in problems)


def _read(paths: Sequence[Path]) -> tuple[list[Document], list[PolicyProblem]]:
    documents: list[Document] = []
    problems: list[PolicyProblem] = []
    for path in paths:
        found = read_manifests([str(path)], skip=_NOT_POLICIES)
        documents += (manifest.document for manifest in found.objects)
        problems += (
            PolicyProblem(problem.file, problem.line, problem.column, "", problem.message) for problem in found.problems
        )
        if not found.objects and not found.problems:
            # A mistyped folder must not pass for a set of policies that refuses nothing.
            problems.append(PolicyProblem(str(path), 1, 1, "", "no document in it"))
    return documents, problems


def _is_signs(document: Document) -> bool:
    return isinstance(document.value, dict) and document.value.get("kind") == _SIGNS
