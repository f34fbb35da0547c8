"""What a command says where what it was given to read holds nothing."""

from typing import TYPE_CHECKING

from signalbox.cli.terminal import Terminal

if TYPE_CHECKING:
    from signalbox.manifests import Manifest, Manifests

_STDIN = "-"
_MOST_KINDS = 8


def nothing_to_judge(read: "Manifests", err: Terminal) -> bool:
    """Whether there was not a single object and no fault either, told path by path.

    A pipe whose first half failed ends like this: that must not pass for "nothing is wrong".
    """
    if read.objects or read.problems:
        return False
    for path in read.empty:
        if path == _STDIN:
            err.line("signalbox: standard input holds no object, nothing was judged (did the command before the pipe fail?)")
        else:
            err.line(f"signalbox: {path}: no object in it, nothing was judged")
    return True


def kinds_of(manifests: "list[Manifest]") -> str:
    """The kinds of these objects, each once, in their order."""
    from signalbox.plain_text import clean

    kinds = list(dict.fromkeys(clean(manifest.kind, 60) or "no kind" for manifest in manifests))
    shown = kinds[:_MOST_KINDS]
    return ", ".join([*shown, "…"] if len(kinds) > _MOST_KINDS else shown)
