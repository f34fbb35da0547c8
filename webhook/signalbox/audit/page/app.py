"""The pages for people: from one GET to one answer. Read-only, without a script, under a strict policy for browsers."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from signalbox.audit.page.filters import BadQueryError, Filters, parse_query
from signalbox.audit.page.hosts import is_known_host
from signalbox.audit.page.look import Look, NotFoundError
from signalbox.audit.page.render import TEMPLATES, render
from signalbox.audit.page.sources import Sources
from signalbox.audit.page.views.accelerators import accelerators_view
from signalbox.audit.page.views.downloads import DOWNLOADS
from signalbox.audit.page.views.exceptions import exceptions_view
from signalbox.audit.page.views.overview import overview_view
from signalbox.audit.page.views.requests import request_view, requests_view
from signalbox.audit.page.views.rule import rule_view
from signalbox.audit.page.views.workloads import workload_view, workloads_view
from signalbox.audit.page.weighing import Weighings
from signalbox.process.listener import Asked, Page
from signalbox.process.logs import Log, crash_fields

View = Callable[[Look], bytes]

_HTML = "text/html; charset=utf-8"
# Nothing but our own stylesheet, mark and form; no frame around us, nothing kept, nothing told to other sites.
HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)

_VIEWS: dict[str, View] = {
    "/": overview_view,
    "/rule": rule_view,
    "/workloads": workloads_view,
    "/workload": workload_view,
    "/requests": requests_view,
    "/request": request_view,
    "/accelerators": accelerators_view,
    "/exceptions": exceptions_view,
}
_FILES = {"/style.css": "text/css; charset=utf-8", "/mark.svg": "image/svg+xml"}


class PageApp:
    """``answer`` is for a listener. ``hosts`` are names beside loopback's; ``last_asked`` is when somebody did, monotonic."""

    def __init__(
        self,
        sources: Sources,
        log: Log,
        hosts: tuple[str, ...] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._sources = sources
        self._log = log
        self._hosts = hosts
        self._now = now
        self._weighings = Weighings(sources, now, log)
        self.last_asked = monotonic()

    def answer(self, asked: Asked) -> Page:
        """One page, whatever is asked."""
        self.last_asked = monotonic()
        if not is_known_host(asked.host, self._hosts):
            # A site whose name was made to lead to loopback must not read what stands here.
            text = "this name is not known here: open the page as http://localhost, or name the host with --page-host\n"
            return Page(text.encode(), status=421, headers=HEADERS)
        if asked.path in _FILES:
            return Page((TEMPLATES / Path(asked.path).name).read_bytes(), _FILES[asked.path], headers=HEADERS)
        filters = Filters()
        try:
            query = parse_query(asked.query)
            filters = Filters.of(query)
            look = Look(self._sources, self._weighings, filters, query, self._now())
            if asked.path in DOWNLOADS:
                return DOWNLOADS[asked.path](look, HEADERS)
            if asked.path not in _VIEWS:
                raise NotFoundError("There is no such page.")
            return Page(_VIEWS[asked.path](look), _HTML, headers=HEADERS)
        except BadQueryError as error:
            return self._told(400, "This address cannot be used", str(error), filters)
        except NotFoundError as error:
            return self._told(404, "Not found", str(error), filters)
        except Exception as error:  # noqa: BLE001 the last line of defence: logged, and the next page is another matter
            self._log.error("page failed", path=asked.path, **crash_fields(error))
            return self._told(500, "This page failed", "That is a fault of Signalbox; its log has more.", filters)

    def _told(self, status: int, title: str, text: str, filters: Filters) -> Page:
        return Page(render("told.html", filters, here="", title=title, text=text), _HTML, status, HEADERS)
