"""What the environment variables of a container say of its work."""

from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import scalar
from signalbox.workload.meaning import meaning_of
from signalbox.workload.options_say import ordered_by
from signalbox.workload.programs import starts_what_it_is_told
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import option_name


def by_variables(container: ContainerView, signs: Signs) -> Said | None:
    """Two settings that only such work has, or one beside others that it has as well: one alone is thin.

    One is enough that says which of its works a program does, if that is to train (`MODE=train`).
    """
    best, met, ordered = _read(container, signs)
    return best if ordered or len(met) > 1 else None


def by_one_variable(container: ContainerView, signs: Signs) -> Said | None:
    """What the only such setting would say: one alone is thin."""
    best, met, ordered = _read(container, signs)
    return best if not ordered and len(met) == 1 else None


def _read(container: ContainerView, signs: Signs) -> tuple[Said | None, set[str], bool]:
    """What speaks first, the names of all that have to do with it, and whether one of them orders to train."""
    best: Said | None = None
    met: set[str] = set()
    ordered = False
    for index, name, entry in container.variables:
        saying = signs.types.environment.get(option_name(name))
        meaning = meaning_of(name, signs)
        if saying is None and meaning is not None:
            if meaning.selects or meaning.choice:
                saying = ordered_by(container.env.get(name, ""), signs) if _may_be_told(container, signs) else None
                ordered = ordered or saying is not None
            elif meaning.hint is not None and not meaning.hint.general:
                met.add(name)
        if saying is None or (saying.general and not container.accelerated):
            continue
        met.add(name)
        if best is None or saying.rank < best.saying.rank:
            shown = f"{name}={scalar(entry.get('value'))}"
            evidence = Evidence(container.place("env", index), shown, saying.reason)
            best = Said(saying, evidence, Strength.WEAK, source="variable")
    return best, met, ordered


def _may_be_told(container: ContainerView, signs: Signs) -> bool:
    """Whether a variable may say what it does: its image's own program, or one that is named for nothing."""
    return all(starts_what_it_is_told(started.target, signs) for started in container.started)
