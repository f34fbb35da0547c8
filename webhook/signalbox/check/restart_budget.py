"""How often the work is started again: often enough on spot, and not for ever on GPUs.

A spot run with no retry is over at the first interruption. A GPU run that fails on its first line and is retried a
hundred times holds its GPUs all night. `min` and `max` bound the retries of each Job (`backoffLimit`, 6 where it is not
set, or `backoffLimitPerIndex`) and of a JobSet as a whole (`failurePolicy.maxRestarts`); with `max`, no rule for
failures may start again what ended by itself and leave it uncounted. Kinds that are started again for ever, and bare
Pods, have no such number and pass.

Rule:
    check: restart-budget
    with: {min: 1, max: 10}
Refused:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {karpenter.sh/capacity-type: spot}
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
Passes:
    apiVersion: batch/v1
    kind: Job
    metadata: {name: sweep, namespace: research}
    spec:
      backoffLimit: 3
      template:
        spec:
          restartPolicy: Never
          nodeSelector: {karpenter.sh/capacity-type: spot}
          containers: [{name: trainer, image: "registry.example/llm:1", resources: {limits: {nvidia.com/gpu: 1}}}]
"""

from collections.abc import Iterator

from signalbox.check.check import Bounds, Check, named
from signalbox.fieldpath import Path, value_at
from signalbox.finding import CheckSubject, Edit, Fix, Problem
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping, members
from signalbox.workload.view import WorkloadView

# batch/v1 defaults (kubernetes pkg/apis/batch/v1/defaults.go): with a limit per index the whole Job's is unbounded.
_DEFAULT_BACKOFF = 6
_WITHOUT_COUNT = "RestartJobSetAndIgnoreMaxRestarts"
# 128 and the number of SIGKILL or SIGTERM.
_ENDED = frozenset({137, 143})
_MOST_RULES = 16


class RestartBudgetParameters(Bounds):
    """The bounds; either may be left out."""


def run(subject: CheckSubject, parameters: RestartBudgetParameters) -> Iterator[Problem]:
    """One problem for too few retries of the whole, one for each part with too many."""
    view = subject.view
    budgets = [(path, _value(view, path)) for path in _paths(view)]
    known = [(path, retries) for path, retries in budgets if retries is not None]
    if not known:
        return
    if parameters.min is not None and not _survives_disruption(view):
        best = max(retries for _, retries in known)
        if best < parameters.min:
            path = view.kind.restarts or known[0][0]
            yield Problem(
                f"It is started again {_times(best)}, so the first interruption ends it.",
                tuple(Evidence(path, str(retries)) for path, retries in known),
                Fix("", (Edit(path, parameters.min),)),
                key="too-few",
                amount=parameters.min - best,
            )
    if parameters.max is not None:
        yield from _uncounted(view)
        for path, retries in known:
            if retries > parameters.max:
                yield Problem(
                    f"It is started again up to {_times(retries)}; at most {parameters.max} are allowed on these GPUs.",
                    (Evidence(path, str(retries)),),
                    Fix("", (Edit(path, parameters.max),)),
                    key=f"too-many/{named(view, path)}",
                    amount=retries,
                )


def _uncounted(view: WorkloadView) -> Iterator[Problem]:
    """Rules by which a failure of the run's own is started again and uses up no retry (batch/v1 ``podFailurePolicy``, JobSet
    ``failurePolicy``).
    """
    found = [
        (*template.job, "podFailurePolicy", "rules", at)
        for template in view.templates
        if template.job is not None
        for at, rule in enumerate(members(value_at(view.object, (*template.job, "podFailurePolicy", "rules"))))
        if mapping(rule).get("action") == "Ignore" and _are_its_own(mapping(rule).get("onExitCodes"))
    ]
    found += [
        (*place, "spec", "failurePolicy", "rules", at)
        for place, _ in view.objects
        for at, rule in enumerate(members(value_at(view.object, (*place, "spec", "failurePolicy", "rules"))))
        if mapping(rule).get("action") == _WITHOUT_COUNT and not _is_of_disruption(mapping(rule))
    ]
    for path in found[:_MOST_RULES]:
        action = str(value_at(view.object, (*path, "action")))
        yield Problem(
            "A rule for failures starts it again as often as it fails, whatever its budget says.",
            (Evidence((*path, "action"), action),),
            Fix("let only disruptions go uncounted (onPodConditions: DisruptionTarget), or leave the rule out."),
            key=f"uncounted/{named(view, path)}",
        )


def _are_its_own(codes: object) -> bool:
    """Whether a program may end so by itself, and not only when it is told to."""
    if type(codes) is not dict:
        return False
    values = members(codes.get("values"))
    return codes.get("operator") != "In" or not all(type(value) is int and value in _ENDED for value in values)


def _is_of_disruption(rule: dict[str, object]) -> bool:
    """Whether a JobSet's rule is for Jobs that fail by their Pods' failure policies alone (``onJobFailureReasons``)."""
    return members(rule.get("onJobFailureReasons")) == ["PodFailurePolicy"]


def _paths(view: WorkloadView) -> list[Path]:
    paths: list[Path] = [view.kind.restarts] if view.kind.restarts else []
    for template in view.templates:
        if template.job is not None:
            job = mapping(value_at(view.object, template.job))
            field = "backoffLimitPerIndex" if job.get("backoffLimitPerIndex") is not None else "backoffLimit"
            paths.append((*template.job, field))
    return paths


def _value(view: WorkloadView, path: Path) -> int | None:
    value = value_at(view.object, path)
    if value is None:
        return view.kind.restarts_default if path == view.kind.restarts else _DEFAULT_BACKOFF
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _survives_disruption(view: WorkloadView) -> bool:
    """Whether every Job ignores failures by disruption: then those use up no retry (podFailurePolicy)."""
    jobs = [mapping(value_at(view.object, template.job)) for template in view.templates if template.job is not None]
    return bool(jobs) and all(_ignores_disruption(job) for job in jobs)


def _ignores_disruption(job: dict[str, object]) -> bool:
    for rule in members(mapping(job.get("podFailurePolicy")).get("rules")):
        if mapping(rule).get("action") == "Ignore":
            for condition in members(mapping(rule).get("onPodConditions")):
                if mapping(condition).get("type") == "DisruptionTarget":
                    return True
    return False


def _times(number: int) -> str:
    return {0: "0 times", 1: "once"}.get(number, f"{number} times")


CHECK = Check("restart-budget", RestartBudgetParameters, run, __doc__, looks_at=lambda view: bool(_paths(view)))
