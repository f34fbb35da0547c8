"""The documentation says what the code does."""

import re
from pathlib import Path

import yaml

from signalbox.policy.kind_document import KindSpec, WorkloadKindDocument, compile_kind
from tests.generate_docs import KINDS_PAGE, PAGE, README, demo_text, kinds_page, page, readme

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_of_checks_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


def test_the_table_of_kinds_is_current() -> None:
    text = KINDS_PAGE.read_text(encoding="utf-8")
    assert text == kinds_page(text), "run: make docs"


def test_the_page_of_kinds_has_every_key_of_a_kind_of_ones_own_and_an_example_that_is_valid() -> None:
    text = KINDS_PAGE.read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert compile_kind(WorkloadKindDocument.model_validate(yaml.safe_load(example))).text == "Sweep.lab.example.com"
    rows = [line.split("|")[1] for line in text[text.index("| key of `spec`") :].splitlines()[2:]]
    assert sorted(key for row in rows for key in re.findall(r"`(\w+)`", row)) == sorted(KindSpec.model_fields)


def test_every_link_between_pages_leads_somewhere() -> None:
    for document in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_make_target_that_is_written_down_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in PAGES:
        for target in re.findall(r"`make ([a-z0-9-]+)", document.read_text(encoding="utf-8")):
            assert target in targets, f"{document.name}: make {target}"


def test_the_readme_shows_what_the_demo_prints() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == readme(text, demo_text()), "run: make docs"
