"""Framework: pytorch, jax, deepspeed, vllm …

Every sign is asked and the most specific one wins, wherever it stands: ``torchrun pretrain_gpt.py`` on a PyTorch image is
Megatron.
"""

from typing import TYPE_CHECKING

from signalbox.fieldpath import value_at
from signalbox.workload.command import program_name
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence, Judgement
from signalbox.workload.labels import FRAMEWORK_LABEL
from signalbox.workload.signs import Signs
from signalbox.workload.started import Started
from signalbox.workload.vocabulary import MAX_NAME, Saying, name_words, option_name

if TYPE_CHECKING:
    from signalbox.fieldpath import Path
    from signalbox.workload.view import WorkloadView

_Found = tuple[Saying, "Path", str]


def judge_framework(view: "WorkloadView") -> Judgement:
    """The framework's name or None. The user's label wins."""
    declared, path = view.user_label(FRAMEWORK_LABEL)
    if declared:
        return Judgement(declared, (Evidence(path, declared),), declared=True)
    return infer_framework(view)


def infer_framework(view: "WorkloadView") -> Judgement:
    """The framework as it would be without the user's label."""
    accelerated = [container for container in view.containers if container.accelerated]
    best: _Found | None = None
    for container in accelerated or view.containers:
        best = _lower(best, _of_container(container, view.signs))
    if best is None and accelerated:
        for container in view.containers:
            best = _lower(best, _of_container(container, view.signs))
    if best is not None:
        return Judgement(best[0].says, (Evidence(best[1], best[2], best[0].reason),))
    kind = view.acts_as
    name = value_at(view.object, kind.named_by) if kind.named_by is not None else None
    saying = view.signs.frameworks.of_image(name) if isinstance(name, str) else None
    if saying is not None and kind.named_by is not None:
        return Judgement(saying.says, (Evidence(kind.named_by, str(name), saying.reason),))
    return Judgement(None) if kind.framework is None else Judgement(kind.framework, (Evidence(("kind",), view.kind.kind),))


def _of_container(container: ContainerView, signs: Signs) -> _Found | None:
    frameworks = signs.frameworks
    best: _Found | None = None
    trains = any(said is not None and said.trains for said in container.said)
    for started, said in zip(container.started, container.said, strict=True):
        if trains and said is not None and said.saying.says == "inference":
            # A server that a run asks (`vllm serve … & torchrun train.py`).
            continue
        best = _lower(best, _of_started(started, signs))
    image = container.image
    if image:
        best = _lower(best, _found(frameworks.of_image(image), (*container.path, "image"), image))
    for index, name, _ in container.variables:
        saying = frameworks.environment.get(option_name(name))
        if saying is not None:
            best = _lower(best, _found(saying, container.place("env", index), name))
    called = container.body.get("name")
    if best is None and trains and isinstance(called, str) and len(name_words(called[:MAX_NAME])) == 1:
        # Operators of training expect their container by such a name.
        best = _found(frameworks.of_name(called[:MAX_NAME]), (*container.path, "name"), called)
    return best


def _of_started(started: Started, signs: Signs) -> _Found | None:
    target, frameworks = started.target, signs.frameworks
    if target is None or (target.role == "program" and target.name in signs.commands.utilities):
        return None
    words = started.invocation.words
    path = started.invocation.field(min(target.at, len(words) - 1))
    best: _Found | None = None
    for launcher in target.launchers:
        saying = frameworks.of_command((launcher,)) or frameworks.of_module(launcher)
        best = _lower(best, _found(saying, path, launcher))
    if target.role == "code":
        for saying, piece in frameworks.of_code(started.code):
            best = _lower(best, _found(saying, path, piece))
        return best
    if target.role == "module":
        best = _lower(best, _found(frameworks.of_module(target.name.lower()), path, f"-m {target.name}"))
    else:
        name = program_name(target.name)
        saying = frameworks.of_command((name.lower(), *words[target.at + 1 : target.at + 2])) if name else None
        best = _lower(best, _found(saying, path, name))
        if target.role == "script":
            folder = program_name(target.name.rpartition("/")[0]).lower()
            of_script = frameworks.of_name(name.rpartition(".")[0] or name) or (frameworks.of_name(folder) if folder else None)
            best = _lower(best, _found(of_script, path, target.name))
    # A launcher's own options count too: `accelerate launch --use_deepspeed`.
    for option in started.options:
        saying = option.meaning.framework
        if saying is not None:
            best = _lower(best, _found(saying, started.invocation.field(option.at), words[option.at]))
    return best


def _found(saying: Saying | None, path: "Path", shown: str) -> _Found | None:
    return None if saying is None else (saying, path, shown)


def _lower(first: _Found | None, second: _Found | None) -> _Found | None:
    if first is None or second is None:
        return first or second
    return second if second[0].rank < first[0].rank else first
