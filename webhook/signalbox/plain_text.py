"""Text for people: values from a manifest made safe to print, and lines as wide as a terminal."""

WIDTH = 80
_VALUE_LIMIT = 100


def clean(text: object, limit: int = _VALUE_LIMIT) -> str:
    """A value from a manifest made safe to print: one line, no control characters, at most ``limit`` characters."""
    shown = str(text)
    if not shown.isprintable():
        # Controls, ESC, line breaks, marks that reorder or hide text, lone surrogates: runs of them become one space.
        shown = " ".join("".join(character if character.isprintable() else " " for character in shown).split())
    shown = shown.strip()
    return shown if len(shown) <= limit else shown[: limit - 1].rstrip() + "…"


def wrap(start: str, text: str, first: str, rest: str) -> list[str]:
    """``text`` behind ``start`` as lines of at most WIDTH; a field path too long for one is broken before a dot."""
    lines = [first + start]
    empty = True
    for word in text.split():
        room = WIDTH - 1 - len(lines[-1]) - (0 if empty else 1)
        if len(word) > room and not empty and len(word) <= WIDTH - 1 - len(rest):
            lines.append(rest)
            empty, room = True, WIDTH - 1 - len(rest)
        while len(word) > room and (cut := _last_dot(word, room)) > 0:
            lines[-1] += ("" if empty else " ") + word[:cut]
            word = word[cut:]
            lines.append(rest + "  ")
            empty, room = True, WIDTH - 1 - len(rest) - 2
        if len(word) > room and not empty:
            lines.append(rest)
            empty = True
        lines[-1] += ("" if empty else " ") + word
        empty = False
    return lines


def _last_dot(path: str, room: int) -> int:
    """Where to break a field path: before the last dot outside brackets that leaves the head within ``room``; 0 for none."""
    depth, cut = 0, 0
    for index, character in enumerate(path[: room + 1]):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
        elif character == "." and depth == 0:
            cut = index
    return cut
