"""The pages over sources that a test steers, asked as a listener asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from typing import Any

from signalbox.audit.from_json import KnownScan, read_scan_json
from signalbox.audit.ledger.reading import Ledger
from signalbox.audit.page.app import PageApp
from signalbox.audit.page.known import Known
from signalbox.engine import Setup
from signalbox.process.listener import Asked, Page
from signalbox.process.logs import Log
from tests.page_world import scan_of, standing, world
from tests.world import NOW


@dataclass
class FixedSources:
    """What a test says that is known."""

    of_ledger: Known[Ledger] = field(default_factory=lambda: Known(advice="No ledger is named."))
    of_scan: Known[KnownScan] = field(default_factory=lambda: Known(advice="No scan is known."))
    of_setup: Known[Setup] = field(default_factory=lambda: Known(trouble="the policies cannot be read: nobody answers"))

    def ledger(self) -> Known[Ledger]:
        return self.of_ledger

    def scan(self) -> Known[KnownScan]:
        return self.of_scan

    def setup(self) -> Known[Setup]:
        return self.of_setup


class Pages:
    """The app, and what it answers."""

    def __init__(self, sources: Any, now: Callable[[], datetime] = lambda: NOW, hosts: tuple[str, ...] = ()) -> None:
        self.app = PageApp(sources, Log("error"), hosts, now)

    def get(self, address: str, host: str = "localhost:9091") -> Page:
        path, _, query = address.partition("?")
        return self.app.answer(Asked(query, "text/html", path, host))

    def text(self, address: str, status: int = 200) -> str:
        """What a reader reads; its spaces are one each."""
        page = self.get(address)
        assert page.status == status, f"{address}: {page.status}\n{page.body.decode()}"
        return read(page.body.decode())

    def html(self, address: str) -> str:
        page = self.get(address)
        assert page.status == 200, f"{address}: {page.status}\n{page.body.decode()}"
        return page.body.decode()


def known_scan() -> Known[KnownScan]:
    return Known(read_scan_json(scan_of(standing())))


def known_setup() -> Known[Setup]:
    return Known(world())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def read(html: str) -> str:
    """The text of a page."""
    reader = _Reader()
    reader.feed(html)
    return " ".join(" ".join(reader.words).split())


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    """Its elements with their attributes."""
    reader = _Reader()
    reader.feed(html)
    return reader.tags


def links(html: str) -> list[str]:
    """Where it leads."""
    return [value for tag, attributes in tags(html) if tag == "a" and (value := attributes.get("href"))]
