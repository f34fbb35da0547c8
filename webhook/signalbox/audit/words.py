"""Numbers as people read them, on a terminal and on a page."""


def number(amount: float) -> str:
    """``1,024``, ``0.5``."""
    return f"{amount:,.3f}".rstrip("0").rstrip(".") if amount % 1 else f"{amount:,.0f}"


def plural(count: float, thing: str, things: str = "") -> str:
    """``1 workload``, ``2 workloads``."""
    return f"{number(count)} {thing if count == 1 else things or thing + 's'}"
