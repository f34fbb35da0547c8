"""What to write in place of a setting, in the spelling that its user gave it: ``--save_strategy=no``, ``save: false``."""

import re

from signalbox.workload.vocabulary import name_words

_SETTING = re.compile(r"([^=:\s]+)(=|:\s*+|\s++)(\S+)\Z")
_ON = {"0": "1", "no": "yes", "false": "true", "off": "on"}
_TAKES_BACK = frozenset({"no", "nosave", "disable", "skip"})


def turned_on(shown: str) -> str:
    """What to write so that a setting which turns saving off does so no longer."""
    setting = _SETTING.match(shown)
    name, sign, value = setting.groups() if setting is not None else (shown, "", "")
    words = name_words(name)
    if not _TAKES_BACK.isdisjoint(words):
        return f"leave {name} out"
    on = _ON.get(value.lower(), "")
    if words[-1:] == ["strategy"]:
        # Who chooses when to save has no `yes`: transformers takes `steps` or `epoch`.
        on = "epoch"
    elif value.istitle():
        on = on.capitalize()
    return _instead(name, sign, on, shown) if on else f"{shown} turns that off"


def moved(shown: str, folder: str) -> str:
    """What to write so that an option leads into another folder; empty where it is no option with a place."""
    setting = _SETTING.match(shown)
    if setting is None:
        return ""
    name, sign, value = setting.groups()
    if sign[0] == ":" or "=" in value:
        # A URL looks like a name with its value.
        return ""
    return _instead(name, sign, f"{folder}/{value.rstrip('/').rpartition('/')[2]}", shown)


def _instead(name: str, sign: str, value: str, shown: str) -> str:
    return f"write {name}{sign}{value} instead of {shown}"
