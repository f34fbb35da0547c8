"""What the benchmark judges by: the shipped policies and one CEL rule."""

from pathlib import Path

from signalbox.configuration import shipped_policies
from signalbox.server.loading import SetupLoader

POLICIES = [shipped_policies(), Path(__file__).with_name("cel.yaml")]

loader = SetupLoader(POLICIES)
