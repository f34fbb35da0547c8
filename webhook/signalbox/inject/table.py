"""Every injector, in the order they run. Adding one is a file beside this and a line here."""

from collections.abc import Callable
from types import ModuleType

from signalbox.inject import env, metadata, node_selector, priority, queue, termination_grace, tolerations
from signalbox.inject.plan import Plan
from signalbox.inject.target import InjectionTarget

Inject = Callable[[Plan, InjectionTarget], None]

MODULES: dict[str, ModuleType] = {
    "queue": queue,
    "priority": priority,
    "tolerations": tolerations,
    "node-selector": node_selector,
    "termination-grace": termination_grace,
    "env": env,
    "labels": metadata,
}

INJECTORS: tuple[Inject, ...] = tuple(module.inject for module in MODULES.values())
