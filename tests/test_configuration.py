"""From files to a setup: what is read, what is left out, what is a problem."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from signalbox.cluster.view import UNKNOWN
from signalbox.configuration import LoadedSetup, load_setup, shipped_policies
from signalbox.policy.mode import Mode

POLICY = """apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadPolicy
metadata: {{name: {name}}}
spec:
  inject: {{queue: main}}
"""
SIGNS = """apiVersion: policy.workload.ai/v1alpha1
kind: WorkloadSigns
metadata: {name: ours}
spec:
  accelerators:
    - {reason: our own card, resources: [example.com/card], vendor: example}
"""
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def names(loaded: LoadedSetup) -> list[str]:
    return [policy.name for policy in loaded.setup.policies.policies]


def test_the_shipped_policies_are_right() -> None:
    loaded = load_setup(now=NOW)
    assert loaded.problems == ()
    assert names(loaded)
    assert shipped_policies().is_dir()


def test_a_folder_is_read_with_those_below_it_but_not_its_tests(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", POLICY.format(name="two"))
    write(tmp_path / "team" / "a.yml", POLICY.format(name="one"))
    write(tmp_path / "tests" / "t.yaml", POLICY.format(name="test"))
    write(tmp_path / "notes.txt", "no policy")
    loaded = load_setup([tmp_path])
    assert names(loaded) == ["one", "two"]
    assert loaded.problems == ()


def test_a_mounted_config_map_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "..2026_11_29" / "a.yaml", POLICY.format(name="one"))
    (tmp_path / "..data").symlink_to("..2026_11_29")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    loaded = load_setup([tmp_path])
    assert names(loaded) == ["one"]
    assert loaded.problems == ()


def test_a_bad_document_is_left_out_and_told(tmp_path: Path) -> None:
    file = write(tmp_path / "a.yaml", POLICY.format(name="good") + "---\n" + POLICY.format(name="Bad_Name"))
    loaded = load_setup([file])
    assert names(loaded) == ["good"]
    assert [problem.line for problem in loaded.errors] == [9]


def test_a_file_that_is_no_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", POLICY.format(name="good"))
    write(tmp_path / "b.yaml", "spec: [\n")
    loaded = load_setup([tmp_path])
    assert names(loaded) == ["good"]
    assert str(loaded.errors[0]).startswith(f"{tmp_path}/b.yaml:2:1: ")


@pytest.mark.parametrize("text", ["", "# only a remark\n", "---\n---\n"])
def test_an_empty_set_is_a_problem_not_a_set_that_refuses_nothing(tmp_path: Path, text: str) -> None:
    file = write(tmp_path / "a.yaml", text)
    assert [problem.message for problem in load_setup([file]).errors] == ["no document in it"]


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    assert len(load_setup([tmp_path / "nowhere"]).errors) == 1


def test_signs_may_stand_among_the_policies(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", POLICY.format(name="one"))
    write(tmp_path / "signs.yaml", SIGNS)
    loaded = load_setup([tmp_path])
    assert loaded.problems == ()
    assert loaded.signs == ("ours",)
    assert loaded.setup.signs.accelerator("example.com/card") is not None
    assert loaded.setup.signs.accelerator("nvidia.com/gpu") is not None


def test_signs_of_their_own_file(tmp_path: Path) -> None:
    loaded = load_setup(signs=[write(tmp_path / "signs.yaml", SIGNS)])
    assert loaded.problems == ()
    assert loaded.setup.signs.accelerator("example.com/card") is not None


def test_a_mistake_in_signs_is_told_with_its_place(tmp_path: Path) -> None:
    loaded = load_setup(signs=[write(tmp_path / "signs.yaml", SIGNS.replace("vendor", "vendr"))])
    assert {problem.path for problem in loaded.errors} >= {"spec.accelerators[0].vendr"}
    assert loaded.setup.signs.accelerator("nvidia.com/gpu") is not None


def test_a_policy_where_signs_are_expected_is_a_problem(tmp_path: Path) -> None:
    loaded = load_setup(signs=[write(tmp_path / "a.yaml", POLICY.format(name="one"))])
    assert [problem.path for problem in loaded.errors] == ["kind"]


def test_the_cluster_folder_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path / "ns.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {x: z}}\n").parent
    setup = load_setup(cluster=folder).setup
    assert setup.cluster.namespace_labels("a") == {"x": "z", "kubernetes.io/metadata.name": "a"}
    assert load_setup().setup.cluster.namespace_labels("a") is UNKNOWN


def test_options_reach_the_setup() -> None:
    setup = load_setup(max_mode=Mode.AUDIT, verify_patches=True).setup
    assert setup.max_mode is Mode.AUDIT
    assert setup.verify_patches


def test_a_policy_file_cut_off_behind_its_first_comment_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text((Path(__file__).parents[1] / "policies" / "gpu-requests.yaml").read_text())
    (tmp_path / "half.yaml").write_text("# Which queue work stands in\n#\n")
    loaded = load_setup([tmp_path])
    assert [str(problem) for problem in loaded.errors] == [f"{tmp_path / 'half.yaml'}:1:1: no document in it"]
