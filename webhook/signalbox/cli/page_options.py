"""Where the pages for people are, as options of the processes that have some."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from signalbox.cli.environment_option import option


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options; ``command`` gets ``page``, which makes PageOptions of what the pages are made from."""

    @wraps(command)
    def packed(page_address: str, page_port: int, page_host: tuple[str, ...], no_page: bool, **others: Any) -> Any:
        def page(**facts: Any) -> Any:
            from signalbox.audit.page.settings import PageSettings
            from signalbox.audit.page.start import PageOptions

            hosts = tuple(host.lower() for host in page_host)
            return None if no_page else PageOptions(page_address, page_port, PageSettings(hosts=hosts, **facts))

        return command(page=page, **others)

    options = (
        option(
            "--page-address", default="127.0.0.1", help="Where the pages for people listen: a port-forward reaches loopback."
        ),
        option("--page-port", type=click.IntRange(0, 65535), default=9091, help="0 takes a free one."),
        option("--page-host", multiple=True, show_default=False, help="A name the pages have behind a proxy; repeatable."),
        option("--no-page", is_flag=True, show_default=False, help="No pages for people."),
    )
    for add in reversed(options):
        packed = add(packed)
    return packed
