"""Everything an answer depends on beside the request and the time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from signalbox.cluster.view import ClusterView, EmptyClusterView
from signalbox.controllers import Controllers, default_controllers
from signalbox.engine.namespace_policies import NamespacePolicies, sort_policies
from signalbox.engine.type_asked import rules_telling_trainings_apart
from signalbox.finding import Finding
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import Injection, Policy, PolicySet
from signalbox.record import Record
from signalbox.review import JsonObject, Response
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.labels import INJECTED_LABELS, JUDGED_LABELS, QUEUE_LABEL
from signalbox.workload.signs import Signs
from signalbox.workload.view import WorkloadView

_ANNOTATIONS = ("metadata", "annotations")
# More namespaces than a cluster has; where names are made up, the oldest answers are worked out again.
_MOST_NAMESPACES = 5000


@dataclass(frozen=True, slots=True)
class Setup:
    """What the engine is run with. ``max_mode`` caps every rule; ``verify_patches`` applies each patch before it is sent;
    ``help_page`` is named below refusals by policies that name none.

    Sorted out once: ``everywhere`` holds all policies by what they are asked for, ``injected_names`` the labels, annotations,
    node selectors and variables that may be ours, each with the section it stands in, ``telling_apart`` the rules to which it
    matters what sort of training something is; ``reads_annotations``: the expression of some rule reads other annotations than
    ours.
    """

    signs: Signs
    policies: PolicySet
    cluster: ClusterView = field(default_factory=EmptyClusterView)
    controllers: Controllers = field(default_factory=default_controllers)
    kinds: Mapping[tuple[str, str], WorkloadKind] = field(default_factory=lambda: KINDS)
    max_mode: Mode = Mode.ENFORCE
    verify_patches: bool = False
    help_page: str = ""
    everywhere: NamespacePolicies = field(init=False)
    telling_apart: frozenset[str] = field(init=False)
    injected_names: frozenset[tuple[str, str]] = field(init=False)
    reads_annotations: bool = field(init=False)
    _by_namespace: dict[str, NamespacePolicies] = field(init=False, default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        policies = self.policies.policies
        named = [name for policy in policies if policy.inject for name in _names(policy.inject)]
        named += [("labels", name) for name in (*JUDGED_LABELS, QUEUE_LABEL)]
        object.__setattr__(self, "everywhere", sort_policies(policies))
        object.__setattr__(self, "telling_apart", rules_telling_trainings_apart(self.policies))
        object.__setattr__(self, "reads_annotations", any(map(_reads_annotations, policies)))
        object.__setattr__(self, "injected_names", frozenset((*named, ("annotations", INJECTED_LABELS))))

    def policies_in(self, namespace: str) -> NamespacePolicies:
        """The policies that have a say in a namespace."""
        found = self._by_namespace.get(namespace)
        if found is None:
            if len(self._by_namespace) >= _MOST_NAMESPACES:
                self._by_namespace.clear()
            policies = self.policies.policies
            found = sort_policies(policy for policy in policies if policy.match is None or policy.match.may_match_in(namespace))
            self._by_namespace[namespace] = found
        return found


def _reads_annotations(policy: Policy) -> bool:
    read = [rule.expression.syntax.fields for rule in policy.rules if rule.expression is not None]
    of_workload = any(path[:1] in ((), ("annotations",)) for fields in read for path in fields("workload"))
    whole = (path for fields in read for path in fields("object"))
    return of_workload or any(_ANNOTATIONS[: len(path)] == path[:2] for path in whole)


def _names(injection: Injection) -> Iterator[tuple[str, str]]:
    for section, names in (
        ("labels", injection.labels),
        ("annotations", injection.annotations),
        ("nodeSelector", injection.node_selector),
        ("env", injection.env),
    ):
        yield from ((section, name) for name in names)


@dataclass(frozen=True, slots=True)
class CaughtError:
    """A fault of ours that was not let through to the request: where it happened, and the exception."""

    where: str
    error: BaseException


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer and what led to it. ``view`` is None where the request was none of our business."""

    response: Response
    findings: tuple[Finding, ...] = ()
    errors: tuple[CaughtError, ...] = ()
    view: WorkloadView | None = None
    mutated: JsonObject | None = None
    record: Record = field(default_factory=dict)
