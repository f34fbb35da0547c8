"""How a setting is switched on and off: ``--do_train no``, ``--resume=latest``, ``spot: "false"``."""

OFF = frozenset({"false", "no", "none", "null", "0", "off", "never", "disable", "disabled"})
ON = frozenset({"", "true", "yes", "1", "on"})


def is_off(value: str) -> bool:
    """Whether a value turns something off."""
    return value.lower() in OFF
