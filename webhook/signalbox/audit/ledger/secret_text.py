"""What looks like a secret, in names and in text: passwords, tokens, keys. Pure.

Nothing here knows what a secret is. It errs towards taking something away: what is lost is at most the certainty of a
replay, and the entry says so.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = _words(
    "password passwords passwd passphrase passcode pwd pass secret secrets token credential credentials creds cred apikey"
    " apikeys auth authorization bearer cookie cookies jwt privatekey accesskey secretkey signature sig pat"
)
_KEY_WORDS = frozenset({"key", "keys"})
_KEY_OWNERS = _words(
    "api access private secret ssh encryption signing account storage license auth service master admin deploy shared sas"
    " wandb hf openai anthropic aws azure gcp comet neptune mlflow sts session rsa client webhook"
)
# Last in a name they say that the value only speaks of a secret: secretName, password_file, pad_token_id.
_ABOUT = _words(
    "name names ref refs file files path dir folder class id ids type count length len limit max min size ttl seconds"
    " expiration enabled mode provider mount volume index format version method policy"
)
_LONGEST_NAME = 128

# Most text holds none of these, and is looked at no further.
_SUSPECT = re.compile(
    r"pass|pwd|secret|token|key|cred|auth|bearer|basic|cookie|jwt|sig|\bpat\b|login|://|-----BEGIN|eyJ|hf_|sk-|gh[opusr]_"
    r"|github_pat|glpat|xox|AKIA|ASIA|AIza|ya29|nvapi|dckr_|npm_|\s-u|[A-Za-z0-9+=]{32}",
    re.IGNORECASE,
)
_PEM = re.compile(r"-----BEGIN [A-Z ]*(?:PRIVATE KEY|CERTIFICATE)[A-Z ]*-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)
_URL_PASSWORD = re.compile(r"(://[^/\s:@\"'<>]*:)([^/\s\"'<>]+)(?=@)")
_URL_TOKEN = re.compile(r"(\bhttps?://)([^/\s:@\"'<>]{16,})(?=@)", re.IGNORECASE)
_HOOK = re.compile(r"(\bhooks\.slack\.com/services/|\bdiscord(?:app)?\.com/api/webhooks/)([^\s\"'<>]+)", re.IGNORECASE)
_SCHEME = re.compile(r"(\b(?:bearer|basic)\s+)([^\s\"'<>$,;]{6,})", re.IGNORECASE)
_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[opusr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|nvapi-[\w-]{16,}"
    r"|dckr_pat_[\w-]{16,}|npm_[A-Za-z0-9]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*)"
)
# A run of hexadecimal or base64 digits that is no part of a path, a name with hyphens or an image's digest.
_RANDOM = re.compile(r"(?<![A-Za-z0-9+=/:._@-])(?=[A-Za-z+=]*\d)(?=[\d+=]*[A-Za-z])[A-Za-z0-9+=]{32,}(?![A-Za-z0-9+=/._-])")
_VALUE = re.compile(r"\"([^\"]*)\"|'([^']*)'|([^\s\"'&;,|)}\]]+)")
_ASSIGNED = re.compile(r"(?<![\w.-])((?:--?)?[A-Za-z_][\w.-]{0,127})\\?[\"']?\s{0,4}[=:]\s{0,4}\\?(?!//)")
_OPTION = re.compile(r"(?<![\w.-])(--?[A-Za-z][\w.-]{0,127})\s{1,8}(?!-)")
# Of an Authorization header the word after it is the secret.
_SCHEMES = frozenset({"bearer", "basic"})
_USER_OPTION = re.compile(r"(?<!\S)((?:-u|--user|--userpwd|--proxy-user)(?:\s+|=)[\"']?[^\s:\"']*:)([^\s\"']+)")
_LOGIN = re.compile(r"(\blogin\s+(?:--\S+\s+){0,4})(?!-)([^\s\"'&;|<>$]{16,})")
_SSHPASS = re.compile(r"(\bsshpass\s+-p\s*)(\S+)")
_USER_OPTIONS = frozenset({"-u", "--user", "--userpwd", "--proxy-user"})

# The same few words stand in every manifest.
_SHORTEST, _SHORT = 6, 48

Mark = Callable[[str], str]
"""What stands in for a text that is taken away."""


def is_secret_name(name: str, bare_key: bool = False) -> bool:
    """Whether a field, variable or option of this name is likely to hold a secret; ``bare_key``: ``key`` alone counts."""
    return len(name) <= _LONGEST_NAME and _is_secret_name(name, bare_key)


@lru_cache(maxsize=8192)
def _is_secret_name(name: str, bare_key: bool) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT:
        # An access key's id is half of a pair; other ids are not secret.
        return words[-3:] == ["access", "key", "id"]
    if not _SECRET_WORDS.isdisjoint(words):
        return True
    if bare_key and words == ["key"]:
        return True
    return any(word in _KEY_WORDS and words[at - 1] in _KEY_OWNERS for at, word in enumerate(words) if at)


@lru_cache(maxsize=8192)
def _is_suspect_word(text: str) -> bool:
    return _SUSPECT.search(text) is not None


def mask_text(text: str, mark: Mark, told: Callable[[str], None] | None = None) -> str:
    """The text with everything that looks like a secret replaced. ``told`` hears the name of each option or variable."""
    if len(text) < _SHORTEST or not (_is_suspect_word(text) if len(text) <= _SHORT else _SUSPECT.search(text)):
        return text

    def second(found: re.Match[str]) -> str:
        return found.group(1) + mark(found.group(2))

    text = _PEM.sub(lambda found: mark(found.group(0)), text)
    text = _URL_PASSWORD.sub(second, text)
    text = _URL_TOKEN.sub(second, text)
    text = _HOOK.sub(second, text)
    text = _USER_OPTION.sub(second, text)
    text = _SSHPASS.sub(second, text)
    text = _SCHEME.sub(second, text)
    text = _mask_named(text, _ASSIGNED, mark, told)
    text = _mask_named(text, _OPTION, mark, told)
    text = _LOGIN.sub(second, text)
    text = _KNOWN.sub(lambda found: mark(found.group(0)), text)
    return _RANDOM.sub(lambda found: mark(found.group(0)), text)


def _mask_named(text: str, names: re.Pattern[str], mark: Mark, told: Callable[[str], None] | None) -> str:
    """Masks the values behind names of secrets. What follows any other name is looked at in its turn."""
    parts: list[str] = []
    done = at = 0
    while (found := names.search(text, at)) is not None:
        name, at = found.group(1), found.end()
        value = _VALUE.match(text, at) if is_secret_name(name.lstrip("-"), bare_key=name[:1] == "-") else None
        if value is None or value.lastindex is None or not value[value.lastindex] or value[0].lower() in _SCHEMES:
            continue
        if told is not None:
            told(name)
        # What a shell or Kubernetes fills in is no secret itself, but who follows it would find one.
        start, end = value.span(value.lastindex)
        parts += (text[done:start], mark(text[start:end]))
        done, at = end, value.end()
    return "".join((*parts, text[done:])) if parts else text


def mask_words(words: Sequence[object], mark: Mark, told: Callable[[str], None] | None = None) -> list[object]:
    """A command line as a list: each word masked, and the words that options like ``--token`` take."""
    masked: list[object] = []
    before = ""
    for word in words:
        if not isinstance(word, str):
            # A number that YAML read as one: `--password`, `1234`.
            secret = word is not None and type(word) in (int, float) and _takes_secret(before)
            masked.append(mark(str(word)) if secret else word)
            before = ""
            continue
        if word and word[:1] != "-" and _takes_secret(before):
            if told is not None:
                told(before)
            masked.append(mark(word))
        elif before in _USER_OPTIONS and ":" in word:
            user, _, password = word.partition(":")
            masked.append(f"{user}:{mark(password)}" if password else word)
        elif (before == "login" and len(word) >= 16 and word[:1] not in "-$") or (before == "-p" and "sshpass" in masked):
            masked.append(mark(word))
        else:
            masked.append(mask_text(word, mark, told))
        before = word
    return masked


def _takes_secret(option: str) -> bool:
    return option[:1] == "-" and "=" not in option and is_secret_name(option.lstrip("-"), bare_key=True)
