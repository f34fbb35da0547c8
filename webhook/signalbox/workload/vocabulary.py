"""A vocabulary: what programs, modules, words, options, images, variables and code say about a workload."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

_NAME_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
MAX_PHRASE = 4
# Names are short; of a longer text only its beginning is read, and it is not remembered.
MAX_NAME = 256


@dataclass(frozen=True, slots=True)
class Saying:
    """What a sign says (a type or a framework) and why. The lowest ``rank`` is the most specific.

    ``general``: it means other things elsewhere, so it counts only where something narrows that down: names and programs where
    accelerators are held, images where they are held for ever, hints in what runs to its end.
    """

    says: str
    reason: str = ""
    rank: int = 0
    general: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Signs by where they are met. Keys are lower case.

    ``commands`` hold a program, or a program and its sub-command. ``modules`` are dotted names that stand for all below
    them. ``words`` are words of a name joined by ``_`` (``fine_tune``). ``images`` likewise, met in an image's repository and
    tag; the host of its registry counts only as the beginning of one (``nvcr_io_nim``). ``environment`` and ``arguments`` are
    whole names with ``_``, ``switches`` options that turn one of a program's works on, ``hints`` settings that other work has
    as well, ``pairs`` such that are training two together, ``bases`` such that name the model which is trained further and
    ``adapters`` such that say how a large model is loaded, ``adapter_calls`` pieces of program text that do. ``code`` holds
    pieces of program text, the longest first, ``besides`` such as training has as well.
    """

    commands: dict[str, Saying] = field(default_factory=dict)
    modules: dict[str, Saying] = field(default_factory=dict)
    words: dict[str, Saying] = field(default_factory=dict)
    arguments: dict[str, Saying] = field(default_factory=dict)
    images: dict[str, Saying] = field(default_factory=dict)
    environment: dict[str, Saying] = field(default_factory=dict)
    code: dict[str, Saying] = field(default_factory=dict)
    switches: dict[str, Saying] = field(default_factory=dict)
    hints: dict[str, Saying] = field(default_factory=dict)
    bases: dict[str, Saying] = field(default_factory=dict)
    pairs: dict[str, Saying] = field(default_factory=dict)
    adapters: dict[str, Saying] = field(default_factory=dict)
    adapter_calls: dict[str, Saying] = field(default_factory=dict)
    besides: dict[str, Saying] = field(default_factory=dict)
    known: dict[tuple[str, str], Saying | None] = field(default_factory=dict, compare=False, repr=False)

    def of_command(self, words: tuple[str, ...]) -> Saying | None:
        """What a program (first word, without its folder) says, with or without its sub-command."""
        for length in range(len(words), 0, -1):
            saying = self.commands.get(" ".join(words[:length]))
            if saying is not None:
                return saying
        return None

    def of_module(self, module: str) -> Saying | None:
        """What a dotted module name says: its own entry, else that of the nearest package above it."""
        module = module[:MAX_NAME]
        while module:
            saying = self.modules.get(module)
            if saying is not None:
                return saying
            module = module.rpartition(".")[0]
        return None

    def of_name(self, name: str) -> Saying | None:
        """What the words of a name say, the most specific first."""
        return self._remembered("name", name)

    def of_image(self, image: str) -> Saying | None:
        """What an image's repository and tag say."""
        return self._remembered("image", image)

    def _remembered(self, what: str, text: str) -> Saying | None:
        known = self.known
        key = (what, text)
        if key in known:
            return known[key]
        text = text[:MAX_NAME]
        if what == "name":
            saying = self._lowest(self.words, name_words(text))
        else:
            host, path = _image_words(text)
            saying = self._lowest(self.images, host + path, len(host))
        if len(key[1]) <= MAX_NAME:
            if len(known) > 4096:
                known.clear()
            known[key] = saying
        return saying

    def of_code(self, text: str) -> list[tuple[Saying, str]]:
        """What program text says by what it imports and calls, each with the piece that says it, once."""
        found = []
        # Longest first, so that `SFTTrainer(` is not taken for `Trainer(` too.
        for piece, saying in self.code.items():
            if piece in text:
                found.append((saying, piece))
                text = text.replace(piece, " ")
        return found

    @staticmethod
    def _lowest(table: dict[str, Saying], words: list[str], after: int = 0) -> Saying | None:
        """The lowest that any phrase says which goes on ``after`` so many words."""
        found: Saying | None = None
        for start in range(len(words)):
            phrase = ""
            for at, word in enumerate(words[start : start + MAX_PHRASE], start):
                phrase = f"{phrase}_{word}" if phrase else word
                saying = table.get(phrase) if at >= after else None
                if saying is not None and (found is None or saying.rank < found.rank):
                    found = saying
        return found


def _image_words(image: str) -> tuple[list[str], list[str]]:
    """The words of the registry's host, if an image names one, and of its repository and tag."""
    host, slash, path = image.partition("@")[0].lower().partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        host, path = "", image.partition("@")[0].lower()
    return _SEPARATORS.split(host) if host else [], _SEPARATORS.split(path)


def image_name(image: str) -> tuple[str, str]:
    """The last part of an image's repository, and its tag: ``r.io/team/llm:2@sha256:…`` gives llm and 2."""
    name, _, tag = image.partition("@")[0].rpartition("/")[2].partition(":")
    return name, tag


def name_words(name: str) -> list[str]:
    """The words of a name, lower case: ``Gemma3LLMTrain`` gives gemma, 3, llm, train."""
    if name.islower():
        return _NAME_WORD.findall(name)
    return [word.lower() for word in _NAME_WORD.findall(name)]


def holds_any(words: list[str], phrases: frozenset[str]) -> bool:
    """Whether any of the phrases stands among the words of a name: ``gpt_2`` among gpt, 2, checkpoint, path."""
    if not phrases.isdisjoint(words):
        return True
    for start in range(len(words) - 1):
        phrase = words[start]
        for word in words[start + 1 : start + MAX_PHRASE]:
            phrase = f"{phrase}_{word}"
            if phrase in phrases:
                return True
    return False


@lru_cache(maxsize=8192)
def option_name(text: str) -> str:
    """An option or variable as it is looked up: lower case, ``_`` between words, no leading dashes."""
    return text.lstrip("-+").replace("-", "_").lower()
