"""What all that a container starts says together: what trains before the rest, or the server that it ends with."""

from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.said import PRECEDENCE, Said, Strength
from signalbox.workload.signs import Signs

_SEVERAL = 2


def by_commands(container: ContainerView, ends: bool, signs: Signs) -> Said | None:
    """The one of them that says what the container is for."""
    best: Said | None = None
    server: Said | None = None
    for said in container.said:
        if said is None:
            continue
        if _serves(said) or (not ends and _answers_with(said, container, signs)):
            server = said
            continue
        if said.trains and not said.background:
            # The script went on behind the server: that is not what it is for.
            server = None
        if best is None or _order(said) < _order(best):
            best = said
    trained = best is not None and best.trains and not best.background
    if trained and not ends and server is None and _serves_at_last(container, best, signs):
        # `python train.py && gunicorn app:app`: whatever it is that answers then, it goes on for ever.
        return None
    if server is None or best is None or not best.trains:
        # It serves until it is stopped: whatever stood before it only prepared that.
        return server or best
    called_so = server.strength is not Strength.KNOWN and not best.background
    if called_so and (ends or container.probe is None):
        # `python train.py && python serve.py` is training unless something asks it.
        return best
    # A server that comes last in what is to end by itself is no reason to overlook a run before it.
    return best if ends and (best.backed or best.strength is Strength.KNOWN) else server


def _serves_at_last(container: ContainerView, trained: Said | None, signs: Signs) -> bool:
    """Whether the last of several programs is one that serves, be it a model or a page, or one that is probed."""
    last = container.started[-1]
    target = last.target
    if len(container.started) < _SEVERAL or target is None or last.invocation.background or container.said[-1] is trained:
        return False
    words = (program_name(target.name).lower(), *last.invocation.words[target.at + 1 : target.at + 2])
    if words[-1] in signs.commands.asks:
        return False
    saying = signs.types.of_module(target.name.lower()) if target.role == "module" else signs.types.of_command(words)
    if saying is not None:
        return saying.says == "inference"
    # Any other program at the end may be one that only tells of it; a `main.py` that answers a probe may serve.
    plain = target.role in ("script", "module") and target.stem.lower() in signs.commands.generic_scripts
    return plain and not program_name(target.name).endswith(".sh") and container.probe is not None


def _serves(said: Said) -> bool:
    return said.saying.says == "inference" and not said.background and said.strength is not Strength.WEAK


def _answers_with(said: Said, container: ContainerView, signs: Signs) -> bool:
    """Whether what runs a model answers with it: `predict.py` that is probed."""
    if said.saying.says != "batch-inference" or said.background or said.strength is Strength.WEAK:
        return False
    return container.probe is not None


def _order(said: Said) -> int:
    # A server in the background is there for what runs in front of it.
    return 10 if said.background and said.saying.says == "inference" else PRECEDENCE[said.saying.says]
