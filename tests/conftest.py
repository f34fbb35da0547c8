"""What holds for every test."""

from __future__ import annotations

import gc

from hypothesis import settings

# A deadline measures how busy the machine is, not what an example is about.
settings.register_profile("signalbox", deadline=None)
settings.load_profile("signalbox")


def pytest_collection_finish() -> None:
    """Takes what was collected out of the garbage collector's sight, which would go through it at each of its full rounds."""
    gc.collect()
    gc.freeze()
