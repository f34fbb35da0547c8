"""Which policies the cases of a PolicyTest are run against."""

import os
from collections.abc import Sequence
from pathlib import Path

from signalbox.cli.policy_test import PolicyTest
from signalbox.cli.setup_options import stop_at
from signalbox.cli.terminal import Terminal
from signalbox.configuration import NOT_POLICIES, load_setup, shipped_policies
from signalbox.engine import Setup
from signalbox.manifests import SUFFIXES, read_manifests
from signalbox.policy.documents import API_VERSION

_USUAL = Path("policies/tests")
_POLICY = "WorkloadPolicy"
_SHIPPED = "the shipped set"


class TestSetups:
    """The setup of each test; tests that judge by the same files share one."""

    __test__ = False

    def __init__(self, policies: Sequence[str], signs: Sequence[str]) -> None:
        self._policies = tuple(Path(path) for path in policies)
        self._signs = [Path(path) for path in signs]
        self._known: dict[tuple[tuple[Path, ...], Path | None], Setup] = {}

    def of(self, test: PolicyTest) -> Setup:
        """The setup of a test. Raises CommandError where its policies or its cluster cannot be used."""
        policies = self._policies_of(test)
        cluster = test.folder / test.spec.cluster if test.spec.cluster else None
        key = (policies, cluster)
        if key not in self._known:
            loaded = load_setup(policies or None, self._signs, cluster)
            stop_at(loaded.errors)
            self._known[key] = loaded.setup
        return self._known[key]

    @property
    def text(self) -> str:
        """The policies of all tests so far, in words."""
        named = {policies: len(setup.policies.policies) for (policies, _), setup in self._known.items()}
        return " and ".join(f"{_named(policies)} ({_policies(number)})" for policies, number in named.items())

    def rules(self) -> list[str]:
        """Every rule of every set that was tested."""
        found = (rule.id for setup in self._known.values() for policy in setup.policies.policies for rule in policy.rules)
        return sorted(set(found))

    def _policies_of(self, test: PolicyTest) -> tuple[Path, ...]:
        """What a test is run against; empty for the shipped set."""
        if test.spec.policies:
            return (_shortest(test.folder / test.spec.policies),)
        if self._policies:
            return self._policies
        folder = Path(os.path.abspath(test.folder))
        if folder.name in NOT_POLICIES and _holds_policies(folder.parent):
            return (_shortest(folder.parent),)
        return ()


def default_tests(err: Terminal) -> str:
    """The tests that are run where none is named; it is told where that are not those of the present folder."""
    if _USUAL.is_dir():
        return str(_USUAL)
    tests = shipped_policies() / "tests"
    err.line(f"no {_USUAL} here, the tests of the shipped set are run")
    return str(tests)


def _holds_policies(folder: Path) -> bool:
    """Whether a policy stands in one of the files right in the folder."""
    files = [str(file) for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES]
    for manifest in read_manifests(files).objects:
        if manifest.kind == _POLICY and manifest.value.get("apiVersion") == API_VERSION:
            return True
    return False


def _shortest(path: Path) -> Path:
    """The path from where we are, as long as it lies below."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else Path(relative)


def _named(policies: tuple[Path, ...]) -> str:
    if policies in ((), (shipped_policies(),)):
        return _SHIPPED
    return ", ".join(map(str, policies))


def _policies(number: int) -> str:
    return f"{number} polic{'y' if number == 1 else 'ies'}"
