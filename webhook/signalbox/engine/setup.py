"""Everything an answer depends on beside the request and the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from signalbox.cluster.view import ClusterView, EmptyClusterView
from signalbox.controllers import Controllers, default_controllers
from signalbox.finding import Finding
from signalbox.inject.plan import Plan
from signalbox.policy.mode import Mode
from signalbox.policy.policy_set import PolicySet
from signalbox.record import Record
from signalbox.review import JsonObject, Response
from signalbox.workload.kinds.kind import WorkloadKind
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.signs import Signs
from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Setup:
    """What the engine is run with. ``max_mode`` caps every rule; ``verify_patches`` applies each patch before it is sent."""

    signs: Signs
    policies: PolicySet
    cluster: ClusterView = field(default_factory=EmptyClusterView)
    controllers: Controllers = field(default_factory=default_controllers)
    kinds: Mapping[tuple[str, str], WorkloadKind] = field(default_factory=lambda: KINDS)
    max_mode: Mode = Mode.ENFORCE
    verify_patches: bool = False


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
    plan: Plan | None = None
    record: Record = field(default_factory=dict)
