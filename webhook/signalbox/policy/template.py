"""Messages with places for values: ``this asks for {workload.accelerators.total}``.

Only the names of the ``workload`` value may stand in braces; they are looked up in a fixed table, so a template reaches
no attribute of anything. ``{{`` and ``}}`` are literal braces.
"""

from dataclasses import dataclass

from signalbox.policy.subject import Subject
from signalbox.policy.workload_value import nearest_field, render_field


class TemplateError(ValueError):
    """A text that is no template; ``column`` (1-based) is where."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.column = column


@dataclass(frozen=True, slots=True)
class Template:
    """A compiled text: literal pieces and, between them, the names to fill in."""

    text: str
    pieces: tuple[str | tuple[str, ...], ...]

    def render(self, subject: Subject) -> str:
        """The text with the values of this workload."""
        return "".join(piece if isinstance(piece, str) else render_field(piece, subject) for piece in self.pieces)


def compile_template(text: str) -> Template:
    """Raises TemplateError on an unknown name or a brace without its partner."""
    pieces: list[str | tuple[str, ...]] = []
    literal = ""
    at = 0
    while at < len(text):
        character = text[at]
        if character in "{}" and text[at : at + 2] == character * 2:
            literal += character
            at += 2
        elif character == "}":
            raise TemplateError('"}" without "{" (write "}}" for a brace)', at + 1)
        elif character == "{":
            end = text.find("}", at)
            if end < 0:
                raise TemplateError('"{" without "}" (write "{{" for a brace)', at + 1)
            if literal:
                pieces.append(literal)
                literal = ""
            pieces.append(_name(text[at + 1 : end], at + 1))
            at = end + 1
        else:
            literal += character
            at += 1
    if literal:
        pieces.append(literal)
    return Template(text, tuple(pieces))


def _name(text: str, column: int) -> tuple[str, ...]:
    steps = tuple(text.strip().split("."))
    wrong = nearest_field(steps)
    if wrong is not None:
        raise TemplateError(f"{{{text}}}: {wrong}", column)
    return steps
