"""Where well-known programs take a secret behind an option of one letter, or in a certain place. Pure.

``-p`` is a port to one program and a password to another: only the program says which.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class _Option:
    """``-p``. ``glued``: as ``-pX``; ``spaced``: as ``-p X``; ``after``: only what stands behind this is the secret."""

    letters: str
    glued: bool = True
    spaced: bool = True
    after: str = ""


_P = (_Option("-p"),)
_PROMPTS = (_Option("-p", spaced=False),)
_USER = (_Option("-u", after=":"),)
_OPTIONS: Mapping[str, tuple[_Option, ...]] = {
    **dict.fromkeys("mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump mariadb-admin 7z 7za 7zz".split(), _PROMPTS),  # noqa: SIM905
    **dict.fromkeys("mongo mongosh mongodump mongorestore mongoexport mongoimport sshpass".split(), _P),  # noqa: SIM905
    **dict.fromkeys(("redis-cli", "valkey-cli"), (_Option("-a"),)),
    **dict.fromkeys("ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami".split(), (_Option("-w"),)),  # noqa: SIM905
    **dict.fromkeys(("zip", "unzip"), (_Option("-P"),)),
    "curl": (*_USER, _Option("-U", after=":"), _Option("-b", after="=")),
    "lftp": (_Option("-u", after=","),),
    "smbclient": (_Option("-U", after="%"),),
    "openssl": tuple(_Option(f"-{name}", glued=False) for name in ("k", "K", "pass", "passin", "passout")),
}
# To these, only where they log in; `docker run -p` is a port.
_AT_LOGIN = frozenset({"docker", "podman", "nerdctl", "helm", "oras", "skopeo", "buildah", "crane", "az"})
# How many words behind these two the secret comes: `mc alias set NAME URL USER SECRET`, `htpasswd -b FILE USER SECRET`.
_PLACES: Mapping[tuple[str, str], int] = {("alias", "set"): 4, ("htpasswd", "-b"): 3, ("htpasswd", "-nb"): 2}
# What is printed into these is a password.
_READERS = re.compile(
    r"(\b(?:echo|printf)\s+(?:-\w+\s+|[\"']?%s(?:\\n)?[\"']?\s+)?)(?P<printed>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'|;&<]+)(?=\s*\|\s*"
    r"(?:sudo\s+-S|kinit|passwd|chpasswd|[^|\n;&]*--?(?:password|passphrase|token)[-=](?:stdin|fd)))|(\bpasswd\s+<<<\s*)(\S+)"
)

PROGRAMS = tuple(sorted({*_OPTIONS, *_AT_LOGIN, "alias", "htpasswd", "kinit", "passwd", "sudo"}, reverse=True))
"""The programs: text without any of their names need not come here, but for what is read from standard input."""

_COMMANDS = re.compile(rf"\b(?:{'|'.join(map(re.escape, PROGRAMS))})\b|--?(?:password|passphrase|token)[-=](?:stdin|fd)")
_TOKEN = re.compile(r"\\\n|[;|&\n]+|\"[^\"]*\"|'[^']*'|[^\s;|&\"']+(?:\"[^\"]*\"|'[^']*')?")
_DEEPEST = 4


def mask_commands(text: str, mark: Callable[[str], str], depth: int = 0) -> str:
    """A shell's text without the secrets that such programs are given."""
    if depth > _DEEPEST or _COMMANDS.search(text) is None:
        return text
    text = _READERS.sub(lambda found: _printed(found, mark), text)
    parts: list[str] = []
    done = 0
    for line in _lines(text):
        words = [_unquoted(token) for token in line]
        secrets = dict(secret_places(words))
        for index, token in enumerate(line):
            start, end = token.span()
            shown = token[0]
            if index in secrets:
                quote = len(shown) - len(shown.lstrip("\"'")) if shown[:1] in "\"'" else 0
                kept, secret = shown[: secrets[index] + quote], shown[secrets[index] + quote :]
                closing = secret[-1:] if secret[-1:] in ('"', "'") else ""
                secret = secret.removesuffix(closing) if closing else secret
                opening = secret[:1] if secret[:1] in ('"', "'") else ""
                shown = f"{kept}{opening}{mark(secret.removeprefix(opening))}{closing}"
            elif shown[:1] in "\"'" and " " in shown:
                shown = f"{shown[0]}{mask_commands(shown[1:-1], mark, depth + 1)}{shown[-1]}"
            if shown != token[0]:
                parts += (text[done:start], shown)
                done = end
    return "".join((*parts, text[done:])) if parts else text


def secret_places(words: Sequence[object]) -> Iterator[tuple[int, int]]:
    """In which words of a command line a secret begins, and at which character."""
    options: tuple[_Option, ...] = ()
    logs_in = "login" in words
    for at, word in enumerate(words):
        if not isinstance(word, str):
            continue
        program = word.rpartition("/")[2]
        options = _OPTIONS.get(program) or (_P if logs_in and program in _AT_LOGIN else options)
        for option in options:
            if not word.startswith(option.letters):
                continue
            following = words[at + 1] if at + 1 < len(words) else None
            if len(word) > len(option.letters) and option.glued:
                yield from _secret_of(at, word, len(option.letters), option.after)
            elif word == option.letters and option.spaced and isinstance(following, str):
                yield from _secret_of(at + 1, following, 0, option.after)
    for at, pair in enumerate(pairwise(word.rpartition("/")[2] if isinstance(word, str) else "" for word in words)):
        place = at + 1 + _PLACES.get(pair, len(words))
        if place < len(words) and isinstance(words[place], str):
            yield place, 0


def _secret_of(at: int, word: str, start: int, after: str) -> Iterator[tuple[int, int]]:
    found = word.find(after, start) if after else start
    if found >= 0 and len(word) > found + len(after):
        yield at, found + len(after)


def _lines(text: str) -> Iterator[list[re.Match[str]]]:
    line: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "\\\n":
            continue
        if token[0][0] in ";|&\n":
            yield line
            line = []
        else:
            line.append(token)
    yield line


def _unquoted(token: re.Match[str]) -> str:
    text = token[0]
    return text[1:-1] if text[:1] in "\"'" and len(text) > 1 else text


def _printed(found: re.Match[str], mark: Callable[[str], str]) -> str:
    if found[1] is None:
        return f"{found[3]}{mark(found[4])}"
    secret = found["printed"]
    quote = secret[0] if secret[0] in "\"'" else ""
    return f"{found[1]}{quote}{mark(secret.strip(quote) if quote else secret)}{quote}"
