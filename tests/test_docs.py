"""The documentation says what the code does."""

import re
from pathlib import Path

import click
import yaml

from signalbox.check.table import CHECKS
from signalbox.cli.main import cli
from signalbox.configuration import load_setup, shipped_policies
from signalbox.policy.kind_document import KindSpec, WorkloadKindDocument, compile_kind
from tests.audit_docs import PAGE as AUDIT_PAGE
from tests.audit_docs import audit_page
from tests.code_facts import events
from tests.generate_docs import KINDS_PAGE, PAGE, README, demo_text, kinds_page, page, readme
from tests.operations_page import OPERATIONS_PAGE, REFUSED_PAGE, meanings, operations_page, refused_page

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_of_checks_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


def test_the_table_of_kinds_is_current() -> None:
    text = KINDS_PAGE.read_text(encoding="utf-8")
    assert text == kinds_page(text), "run: make docs"


def test_the_tables_of_the_operations_page_are_current() -> None:
    text = OPERATIONS_PAGE.read_text(encoding="utf-8")
    assert text == operations_page(text), "run: make docs"


def test_the_page_for_those_who_were_refused_has_every_check() -> None:
    text = REFUSED_PAGE.read_text(encoding="utf-8")
    assert text == refused_page(text), "run: make docs"


def test_the_page_on_the_audit_shows_what_the_commands_print() -> None:
    text = AUDIT_PAGE.read_text(encoding="utf-8")
    assert text == audit_page(text), "run: make docs"


def test_every_event_of_the_log_is_explained() -> None:
    text = OPERATIONS_PAGE.read_text(encoding="utf-8")
    assert set(events()) == set(meanings(text)), "run: make docs"
    assert [event for event, meaning in meanings(text).items() if not meaning] == [], "say in docs/operations.md what it means"


def test_the_page_of_kinds_has_every_key_of_a_kind_of_ones_own_and_an_example_that_is_valid() -> None:
    text = KINDS_PAGE.read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert compile_kind(WorkloadKindDocument.model_validate(yaml.safe_load(example))).text == "Sweep.lab.example.com"
    rows = [line.split("|")[1] for line in text[text.index("| key of `spec`") :].splitlines()[2:]]
    assert sorted(key for row in rows for key in re.findall(r"`(\w+)`", row)) == sorted(KindSpec.model_fields)


def test_the_page_of_policies_shows_a_rule_for_every_check_that_the_shipped_policies_leave_out(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    section = text[text.index("### Checks that the shipped policies leave out") :]
    example = tmp_path / "habits.yaml"
    example.write_text(section[section.index("```yaml") + 8 : section.index("```\n\n")], encoding="utf-8")
    asked, shipped = (_checks(path) for path in (example, shipped_policies()))
    assert asked == set(CHECKS) - shipped


def _checks(path: Path) -> set[str]:
    return {rule.check for policy in load_setup([path]).setup.policies.policies for rule in policy.rules if rule.check}


def test_every_link_between_pages_leads_somewhere() -> None:
    for document in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_every_link_to_a_section_finds_it() -> None:
    for document in PAGES:
        for linked, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", document.read_text(encoding="utf-8")):
            target = document.parent / linked if linked else document
            titles = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles], (
                f"{document.name}: {linked}#{anchor}"
            )


def test_every_command_that_is_written_down_exists() -> None:
    commands = cli.list_commands(click.Context(cli))
    for document in PAGES:
        text = document.read_text(encoding="utf-8")
        for command in re.findall(r"`(?:kubectl )?signalbox(?: --\w+)? ([a-z]+)", text):
            assert command in commands, f"{document.name}: signalbox {command}"


def test_every_make_target_that_is_written_down_exists() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for document in PAGES:
        for target in re.findall(r"`make ([a-z0-9-]+)", document.read_text(encoding="utf-8")):
            assert target in targets, f"{document.name}: make {target}"


def test_the_readme_shows_what_the_demo_prints() -> None:
    text = README.read_text(encoding="utf-8")
    assert text == readme(text, demo_text()), "run: make docs"
