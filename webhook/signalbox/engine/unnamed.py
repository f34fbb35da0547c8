"""What a workload would be taken for under a name that says nothing.

A type that only names tell (``thin``) refuses nothing and excuses from nothing. Whatever reads it, a match, an override, an
exception, an expression or a check, what hangs on it shows where the rules are asked once more about the same work without
its names.

In turn: a rule's match, `when`, modes or check ask a view for its type, which is kept there and may be thin. Each problem
that such a rule finds then warns at most (``not_by_name``). ``judge`` asks for the views under other names (``unnamed``), has
those rules asked about them (``type_asked``), and what all of them find is certain (``under_any_name``). Of an old object the
same is asked where a rule compares.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from signalbox.finding import Finding, Problem, Result
from signalbox.policy.mode import Mode
from signalbox.workload.containers import ContainerView
from signalbox.workload.distributed import is_called_distributed
from signalbox.workload.judgement import Judgement
from signalbox.workload.kinds.kind import members
from signalbox.workload.labels import TYPE_LABEL
from signalbox.workload.type import infer_type
from signalbox.workload.view import WorkloadView

_UNTYPED = Judgement(None)
# No word that a policy can write.
_SOME_TYPE = Judgement("some other")
# Kept with the view, as its judgements are.
_UNNAMED = "unnamed"
_TOGETHER = "Only its name says that its Pods work together"
_NOT_KNOWN = f"(Only by its name it is not known what it is: not refused. Set {TYPE_LABEL}.)"
_TAKEN_BACK = f"(Its name says that it is something else, which excuses from nothing. If it is, set {TYPE_LABEL}.)"
_NAMES = (("name",), ("generateName",), ("image",))
_HANGS_ON_TYPE = ("checkpoint", "resume")
_PROBLEMS = (Result.FAIL, Result.SKIP, Result.UNCHANGED)


def is_thin(view: WorkloadView) -> bool:
    """Whether the type, or that several processes work together, rests on names alone, and something asked for it: where
    nothing did, nothing hangs on it.
    """
    return has_thin_type(view) or is_called_distributed(view.__dict__.get("distributed_by"))


def has_thin_type(view: WorkloadView) -> bool:
    """The same of the type alone."""
    judged = view.__dict__.get("type")
    return isinstance(judged, Judgement) and judged.thin


def unnamed(view: WorkloadView) -> tuple[WorkloadView, ...]:
    """The views of the same work as they may be under another name; none where names do not decide what it is taken for.

    Where nothing else tells the type, another name may tell none or some other: what a rule asks of ``none`` is as little
    certain as what it asks of a type.
    """
    if not is_thin(view):
        return ()
    known: tuple[WorkloadView, ...] | None = view.__dict__.get(_UNNAMED)
    if known is None:
        told: tuple[Judgement, ...] = (view.type,)
        bare = _without_names(view)
        if has_thin_type(view):
            inferred = infer_type(bare)
            told = (inferred,) if inferred.state is not None and not inferred.thin else (_UNTYPED, _SOME_TYPE)
        others = tuple([_taken_for(judgement, view) for judgement in told])
        for other in others:
            other.__dict__["distributed_by"] = bare.distributed_by
        # Of an old object every rule asks.
        known = view.__dict__[_UNNAMED] = others
    return known


def untyped(view: WorkloadView) -> WorkloadView:
    """The same work as if nothing told its type."""
    return _taken_for(_UNTYPED, view)


def _taken_for(judgement: Judgement, view: WorkloadView) -> WorkloadView:
    other = copy(view)
    for name in _HANGS_ON_TYPE:
        other.__dict__.pop(name, None)
    other.__dict__["type"] = judgement
    return other


def _without_names(view: WorkloadView) -> WorkloadView:
    other = copy(view)
    other.metadata = {key: value for key, value in view.metadata.items() if key not in ("name", "generateName")}
    other.__dict__.pop("distributed_by", None)
    other.__dict__["containers"] = tuple([_bare(container) for container in view.containers])
    return other


def _bare(container: ContainerView) -> ContainerView:
    """A container as its command tells of it. The image of one that has none is what it runs, and no mere name."""
    # Read first, with all whose turn comes before: a copy has no turn of its own.
    _ = container.unread
    bare = copy(container)
    names = ("name", "image") if members(container.body.get("command")) else ("name",)
    bare.body = {key: value for key, value in container.body.items() if key not in names}
    return bare


def not_by_name(problem: Problem, view: WorkloadView) -> Problem:
    """What rests on what somebody called the work warns, and says so: a name is no reason to refuse."""
    # Short, so that the fix behind it still has room in a warning.
    state = view.type.state
    if not has_thin_type(view):
        why = f"({_TOGETHER}: not refused.)"
    else:
        why = f"({_likely(view)} {state}: not refused. If not, set {TYPE_LABEL}.)" if state else _NOT_KNOWN
    return replace(problem, message=f"{problem.message} {why}", at_most=min(problem.at_most, Mode.WARN))


def _likely(view: WorkloadView) -> str:
    """How a type is told that is not certain: by a name, or by settings that other work may have too."""
    paths = [seen.path for seen in view.type.evidence]
    return "By its name it is" if any(path[-1:] in _NAMES for path in paths) else "It is likely"


def under_any_name(named: Sequence[Finding], others: Sequence[Sequence[Finding]], view: WorkloadView) -> list[Finding]:
    """What is found under every other name, as it is found there, and what is found by the name alone, as a warning."""
    by_name = {_which(finding): finding for finding in named}
    first, *rest = others
    elsewhere = [{_which(finding): finding for finding in found} for found in rest]
    certain = [finding for finding in first if all(_which(finding) in found for found in elsewhere)]
    found = []
    for finding in certain:
        # Where a mode hangs on the type too, the milder one is certain.
        milder = min((finding, *(found[_which(finding)] for found in elsewhere)), key=lambda one: one.refuses)
        found.append(_not_excused(milder, by_name.get(_which(finding)), view))
    met = {_which(finding) for finding in certain}
    return [*found, *(replace(one, mode=min(one.mode, Mode.WARN)) for one in named if _which(one) not in met)]


def _which(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.key, "" if finding.result in _PROBLEMS else finding.result.value


def _not_excused(finding: Finding, by_name: Finding | None, view: WorkloadView) -> Finding:
    """A finding that another name would bring; where this one would take it away, that is said."""
    if by_name is not None and by_name.result is not Result.SKIP:
        # What it is taken for by name is part of what was seen.
        return replace(finding, evidence=by_name.evidence)
    if finding.result is not Result.FAIL:
        return finding
    state = view.type.state
    if not has_thin_type(view):
        why = f"({_TOGETHER}, which excuses from nothing.)"
    else:
        why = f"({_likely(view)} {state}, which excuses from nothing. If it is, set {TYPE_LABEL}.)" if state else _TAKEN_BACK
    return replace(finding, message=f"{finding.message} {why}", by_type=False)
