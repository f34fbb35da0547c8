"""The documentation says what the code does."""

import re
from pathlib import Path

from tests.generate_docs import PAGE, README, demo_text, page, readme

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_of_checks_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs"


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
