"""The engine: one admission request in, one answer out. Pure: no I/O, time is an argument."""

from signalbox.engine.mutation import mutate
from signalbox.engine.setup import CaughtError, Outcome, Setup
from signalbox.engine.validation import validate

__all__ = ["CaughtError", "Outcome", "Setup", "mutate", "validate"]
