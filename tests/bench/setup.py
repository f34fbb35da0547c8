"""What the benchmark judges by: the shipped policies and one CEL rule."""

from pathlib import Path

from signalbox.configuration import load_setup, shipped_policies
from signalbox.server.loading import setup_loader

POLICIES = [shipped_policies(), Path(__file__).with_name("cel.yaml")]

load = setup_loader(lambda: load_setup(POLICIES))
