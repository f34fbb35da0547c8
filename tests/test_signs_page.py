"""``docs/signs.md`` is true: it names every section, field and role, its examples are judged as it says, its output is real."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from signalbox.cli.main import main
from signalbox.cluster.view import EmptyClusterView
from signalbox.configuration import LoadedSigns, load_signs
from signalbox.policy.signs_compile import compile_signs
from signalbox.policy.signs_document import SignsSpec, WorkloadSignsDocument
from signalbox.signs_loading import default_documents
from signalbox.workload.judgement import Judgement
from signalbox.workload.signs import Signs
from signalbox.workload.view import WorkloadView
from tests.world import yaml

PAGE = (Path(__file__).parents[1] / "docs" / "signs.md").read_text(encoding="utf-8")
REFERENCE = PAGE[PAGE.index("\n## Reference") :]
# A document, a manifest, and the two lines below them.
EXAMPLES = re.findall(
    r"^```yaml\n((?:(?!^```).*\n)*?)^```\n\n^```yaml\n((?:(?!^```).*\n)*?)^```\n\n^- Without it: (.+)\.\n- With it: (.+)\.$",
    PAGE,
    re.MULTILINE,
)
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PRINTED = re.findall(r"^```console\n\$ signalbox (.*)\n((?:.*\n)*?)^```", PAGE, re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)` \| (.+?)(?: \| `([^`]+)`)? \|$", re.MULTILINE)


def sections(model: type[BaseModel] = SignsSpec, above: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """Every list of entries a document may hold, by its path, with the entry's model."""
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if get_origin(annotation) is list:
            (entry,) = get_args(annotation)
            yield above + name, entry
        else:
            assert isinstance(annotation, type)
            assert issubclass(annotation, BaseModel)
            yield from sections(annotation, f"{name}.")


def reference(section: str) -> str:
    """What the reference says of one section."""
    found = [part for part in REFERENCE.split("\n### ")[1:] if f"`{section}`" in part.partition("\n")[0]]
    assert len(found) == 1, f"docs/signs.md needs one heading that names `{section}`, it has {len(found)}"
    return found[0]


def words_of(annotation: Any) -> tuple[str, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


SECTIONS = dict(sections())
FIELDS = [(section, field) for section, model in SECTIONS.items() for field in model.model_fields if field != "reason"]
WORDS = [
    (section, word)
    for section, model in SECTIONS.items()
    for field in model.model_fields.values()
    for word in words_of(field.annotation)
]


def shipped(section: str) -> Iterator[BaseModel]:
    """The shipped entries of a section."""
    for document in default_documents():
        found: Any = document.spec
        for name in section.split("."):
            found = getattr(found, name)
        yield from found


def name_of(block: str) -> str:
    name = yaml(block)["metadata"]["name"]
    assert isinstance(name, str)
    return name


def judged(manifest: str, loaded: LoadedSigns) -> dict[str, str]:
    value = yaml(manifest)
    kind = loaded.kinds[value["apiVersion"].rpartition("/")[0], value["kind"]]
    view = WorkloadView(value, kind, loaded.signs, EmptyClusterView())

    def state(judgement: Judgement) -> str:
        return judgement.state or "not known"

    return {
        "type": state(view.type),
        "framework": state(view.framework),
        "distributed": "yes" if view.distributed else "no",
        "checkpoint": state(view.checkpoint),
        "resume": state(view.resume),
        "spot": state(view.spot),
        "accelerators": str(view.accelerators.total),
    }


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with every document and manifest of the page, each in a file of its name."""
    for block in BLOCKS:
        (tmp_path / f"{name_of(block)}.yaml").write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_has_its_examples_and_no_other_block() -> None:
    assert len(EXAMPLES) == 8
    assert [block for document, manifest, _, _ in EXAMPLES for block in (document, manifest)] == BLOCKS
    names = [name_of(block) for block in BLOCKS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_has_a_heading_of_the_reference(section: str) -> None:
    assert reference(section)


@pytest.mark.parametrize(("section", "field"), FIELDS)
def test_every_field_of_a_section_is_explained(section: str, field: str) -> None:
    assert field in [row[0] for row in ROW.findall(reference(section))]


@pytest.mark.parametrize(("section", "word"), WORDS)
def test_every_role_and_every_other_fixed_word_of_a_section_is_explained(section: str, word: str) -> None:
    text = reference(section)
    if "role" in SECTIONS[section].model_fields:
        assert word in [row[0] for row in ROW.findall(text)]
    else:
        assert f"`{word}`" in text


def test_the_reason_of_every_entry_is_explained_once() -> None:
    assert all("reason" in model.model_fields for model in SECTIONS.values())
    assert "every entry has a `reason`" in REFERENCE


@pytest.mark.parametrize("section", [section for section in SECTIONS if section != "frameworks"])
def test_the_reference_names_nothing_that_is_not_there_and_its_examples_are_shipped_signs(section: str) -> None:
    entries = list(shipped(section))
    known = {word for one, word in WORDS if one == section}
    fields = {field for one, field in FIELDS if one == section}
    if section == "types":
        entries += shipped("frameworks")
        fields.add("framework")
    for name, _, example in ROW.findall(reference(section)):
        assert name in fields | known
        if not example:
            assert name in known
        elif name in fields:
            values = [getattr(entry, name, None) for entry in entries]
            met = [one for value in values for one in (value if isinstance(value, list) else [value])]
            assert example in [str(one).lower() if isinstance(one, bool) else str(one) for one in met], f"{name}: {example}"
        else:
            of_role = [entry.model_dump() for entry in entries if getattr(entry, "role", None) == name]
            met = [one for entry in of_role for one in entry["words" if section == "names" else "names"]]
            assert example in met, f"{name}: {example}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: name_of(example[0]))
def test_an_example_changes_the_judgement_as_the_page_says(example: tuple[str, str, str, str], files: Path) -> None:
    document, manifest, without, with_it = example
    loaded = load_signs([files / f"{name_of(document)}.yaml"])
    assert loaded.problems == ()
    assert loaded.names == (name_of(document),)
    before, after = (dict(re.findall(r"(\w+) `([^`]+)`", line)) for line in (without, with_it))
    assert before.keys() == after.keys() != set()
    assert all(before[name] != after[name] for name in before)
    assert judged(manifest, load_signs()).items() >= before.items()
    assert judged(manifest, loaded).items() >= after.items()


def test_the_examples_may_stand_together_and_change_no_other_example(files: Path) -> None:
    loaded = load_signs([files / f"{name_of(document)}.yaml" for document, _, _, _ in EXAMPLES])
    assert loaded.problems == ()
    for _, manifest, _, with_it in EXAMPLES:
        assert judged(manifest, loaded).items() >= dict(re.findall(r"(\w+) `([^`]+)`", with_it)).items()


@pytest.mark.parametrize(("command", "shown"), [one for one in PRINTED if one[0].startswith("explain")])
@pytest.mark.usefixtures("files")
def test_explain_prints_what_the_page_shows(command: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    printed = capsys.readouterr().out
    at = 0
    for part in re.split(r"^ +…\n", shown, flags=re.MULTILINE):
        at = printed.index(part, at) + len(part)


def test_lint_prints_what_the_page_shows(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ((command, shown),) = [one for one in PRINTED if one[0].startswith("lint")]
    file = files / command.partition(" ")[2]
    text = file.read_text(encoding="utf-8").replace("fine-tuning", "finetuning")
    file.write_text(text.replace("commands: [forge tune", "command: [forge tune"), encoding="utf-8")
    assert main(shlex.split(command)) == 1
    assert capsys.readouterr().out == shown


@pytest.mark.usefixtures("files")
def test_the_commands_of_the_page_can_be_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    block = PAGE[PAGE.index("```\nsignalbox explain") :].split("```")[1]
    Path("manifests").mkdir()
    shutil.copy("nightly.yaml", "manifests")
    for line in block.strip().splitlines():
        assert main(shlex.split(line)[1:]) == 0, line
    assert "fine-tuning" in capsys.readouterr().out


def document(spec: dict[str, Any], name: str = "ours") -> WorkloadSignsDocument:
    head = {"apiVersion": "policy.workload.ai/v1alpha1", "kind": "WorkloadSigns", "metadata": {"name": name}}
    return WorkloadSignsDocument.model_validate({**head, "spec": spec})


def with_shipped(*documents: WorkloadSignsDocument) -> Signs:
    return compile_signs([*default_documents(), *documents])


def test_two_documents_of_one_name_are_a_mistake(files: Path) -> None:
    file = files / "our-images.yaml"
    found = load_signs([file, file]).problems
    assert [problem.message for problem in found] == [f"WorkloadSigns/our-images is defined at {file}:1 already"]


def test_a_document_that_is_called_like_a_shipped_one_replaces_nothing() -> None:
    assert with_shipped(document({}, "type")) == with_shipped()


def test_of_two_documents_that_give_a_word_a_type_the_later_one_counts() -> None:
    first = document({"types": [{"type": "training", "reason": "x", "commands": ["zap"]}]}, "first")
    second = document({"types": [{"type": "benchmark", "reason": "x", "commands": ["zap"]}]}, "second")
    for later, documents in (("benchmark", (first, second)), ("training", (second, first))):
        found = with_shipped(*documents).types.of_command(("zap",))
        assert found is not None
        assert found.says == later


def test_an_entry_of_ones_own_is_more_specific_than_all_that_are_shipped() -> None:
    signs = with_shipped(document({"types": [{"type": "inference", "reason": "x", "words": ["zap"]}]}))
    assert all(signs.types.words["zap"].rank < saying.rank for word, saying in signs.types.words.items() if word != "zap")


def test_a_spot_label_is_replaced_as_a_whole() -> None:
    key = "cloud.google.com/gke-nodepool"
    shipped = with_shipped().spot_label(key)
    assert shipped is not None
    assert shipped.matches("spot-1")
    entry = {"keys": [key], "values": ["flex"], "named": True, "reason": "x"}
    label = with_shipped(document({"spot": {"labels": [entry]}})).spot_label(key)
    assert label is not None
    assert label.matches("flex-1")
    assert not any(label.matches(pool) for pool in ("spot-1", "no-flex"))
    assert not label.excludes("spot-1")


def test_a_wrapper_is_replaced_as_a_whole() -> None:
    entry = {"role": "wrapper", "names": ["timeout"], "words": 2, "reason": "x"}
    wrapper = with_shipped(document({"commands": [entry]})).commands.wrappers["timeout"]
    assert (wrapper.words, wrapper.options) == (2, frozenset())


def test_a_shipped_word_is_weakened_by_the_same_word_under_general() -> None:
    entry = {"type": "data-processing", "general": True, "words": ["transform"], "reason": "x"}
    assert not with_shipped().types.words["transform"].general
    assert with_shipped(document({"types": [entry]})).types.words["transform"].general


def test_a_later_document_takes_a_word_out_of_the_roles_it_cannot_have_at_once() -> None:
    signs = with_shipped(
        document(
            {
                "ports": [{"meaning": "interactive", "ports": [29500], "reason": "x"}],
                "commands": [{"role": "utility", "names": ["axolotl"], "reason": "x"}],
            }
        )
    )
    assert 29500 in with_shipped().ports.rendezvous
    assert 29500 in signs.ports.interactive - signs.ports.rendezvous
    assert with_shipped().types.of_command(("axolotl", "train"))
    assert signs.types.of_command(("axolotl", "train")) is None


def test_a_word_has_every_role_that_one_document_gives_it() -> None:
    entries = [{"meaning": meaning, "ports": [4711], "reason": "x"} for meaning in ("interactive", "rendezvous")]
    ports = with_shipped(document({"ports": entries})).ports
    assert 4711 in ports.rendezvous & ports.interactive
