"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# A deadline measures how busy the machine is, not what an example is about.
settings.register_profile("signalbox", deadline=None)
settings.load_profile("signalbox")
