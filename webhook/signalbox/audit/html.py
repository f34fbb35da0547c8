"""A scan as one HTML file: self-contained, without a script, everything that a manifest says escaped."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from signalbox.audit.as_json import by_weight, heaviest
from signalbox.audit.largest import Largest
from signalbox.audit.result import ScanSummary
from signalbox.audit.tally import Tally
from signalbox.audit.words import number
from signalbox.policy.mode import Mode

TEMPLATES = Path(__file__).parent / "templates"


def scan_page(summary: ScanSummary, tally: Tally, largest: Largest, children_of: Callable[[str], int]) -> str:
    """The page of a scan with these workloads in detail."""
    return _template().render(
        summary=summary,
        tally=tally,
        rules=by_weight(tally.rules.values()),
        teams=heaviest(tally.teams.values()),
        kinds=heaviest(tally.kinds.values()),
        subjects=list(largest),
        dropped=largest.dropped,
        children_of=children_of,
        enforce=Mode.ENFORCE,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    return environment.get_template("scan.html")
