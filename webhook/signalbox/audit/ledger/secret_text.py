"""What looks like a secret in text: passwords, tokens, keys. Pure.

Nothing here knows what a secret is. It errs towards taking something away: what is lost is at most the certainty of a
replay, and the entry says so.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from signalbox.audit.ledger.secret_commands import PROGRAMS, mask_commands, secret_places
from signalbox.audit.ledger.secret_names import is_secret_name

# Most text holds none of these, and is looked at no further. Words, not one expression: that takes twenty times as long.
_HINTS = (
    *"pass pwd psw pw= pw: -pw _pw secret token key cred auth bearer basic cookie jwt sig login :// -----begin".split(),  # noqa: SIM905
    *"pat= pat: _pat -pat eyj hf_ sk- sk_ rk_ ghp_ gho_ ghu_ ghs_ ghr_ github_ xox xapp akia asia aiza ya29 nvapi".split(),  # noqa: SIM905
    *"dckr_ npm_ hvs. hvb. sg. pypi- dp. r8_ dapi lsv2 gsk_ pcsk_ tvly sntrys rpa_ dop_v1 atatt shpat whsec thin:".split(),  # noqa: SIM905
    *"glpat- glrt- gldt- glft- glptt- glcbt- glimt- glsoat- glagent- telegram webhook --user --proxy-user".split(),  # noqa: SIM905
    *("export pw", " -u", "%3d", *PROGRAMS),
)
_RUN = re.compile(r"[A-Za-z0-9+/=]{24}")
_PEM = re.compile(
    r"-----BEGIN [A-Z ]{0,40}?(?:PRIVATE KEY|CERTIFICATE)[A-Z ]{0,40}-----.*?(?:-----END [A-Z ]{0,80}-----|\Z)"
    r"|\bAGE-SECRET-KEY-\w+",
    re.DOTALL,
)
# The password may hold a slash, as people write it; behind a host and its port there is one too.
_URL_PASSWORD = re.compile(r"(://[^/\s:@\"'<>]*:)([^/\s\"'<>]+(?=@)|(?!\d{1,5}[/?#])[^\s\"'<>@]{1,128}+(?=@))")
_PGPASS = re.compile(r"((?<![^\s\"'])[\w.*-]{1,128}:(?:\d{2,5}|\*):[\w.*-]{1,128}:[\w.*-]{1,128}:)([^\s\"'<>]+)")
_THIN = re.compile(r"(\bthin:[^/\s\"'@]{1,128}/)([^\s\"'@]{1,128}+)(?=@)")
_URL_TOKEN = re.compile(
    r"(\bhttps?://)([^/\s:@\"'<>]{16,}|(?=[^/\s:@\"'<>\d]*\d)[^/\s:@\"'<>]{8,}|\$[^/\s:@\"'<>]+|[^/\s:@\"'<>]{8,}(?=:@))(?=:?@)",
    re.IGNORECASE,
)
_URL_KEY = re.compile(r"([?&]key=)([^&\s\"'<>]+)", re.IGNORECASE)
_HOOK = re.compile(
    r"(\bhooks\.slack\.com/services/|\bdiscord(?:app)?\.com/api/webhooks/|\bwebhook\.office\.com/webhookb2/"
    r"|\bapi\.telegram\.org/bot|\bhooks\.zapier\.com/hooks/catch/)([^\s\"'<>]+)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(\bauthorization\s{0,4}[:=]\s{0,4}(?:(?:bearer|basic|token|apikey)\s{1,4})?)([^\s\"'<>]+)", re.IGNORECASE
)
_SCHEME = re.compile(r"(\b(?:bearer|basic)\s{1,4})([^\s\"'<>$,;]{6,}|\$[({]?\w+[)}]?)", re.IGNORECASE)
_KNOWN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[opusr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|gl[a-z]{1,4}t-[\w-]{16,}"
    r"|xox[abeoprs]-[\w-]{8,}|xapp-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|nvapi-[\w-]{16,}"
    r"|dckr_pat_[\w-]{16,}|npm_[A-Za-z0-9]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*|hv[sb]\.[\w-]{16,}|[sr]k_(?:live|test)_\w{8,}"
    r"|SG\.[\w-]{8,}\.[\w-]{8,}|pypi-[\w-]{16,}|dp\.\w{2,5}\.[\w.-]{16,}|r8_\w{16,}|dapi[0-9a-f]{16,}|whsec_\w{16,}"
    r"|shpat_\w{16,}|lsv2_\w{16,}|gsk_\w{16,}|pcsk_\w{16,}|tvly-[\w-]{12,}|sntrys_[\w=-]{16,}|rpa_\w{16,}|dop_v1_\w{16,}"
    r"|ATATT[\w=-]{16,})"
)
# A run of hexadecimal or base64 digits that is no part of a path, a name with hyphens or an image's digest. With slashes in
# it, it is a key of AWS, which has 40, or padded: paths are neither.
_RANDOM = re.compile(
    r"(?<![A-Za-z0-9+=/:._@-])(?:(?=[A-Za-z+=]*\d)(?=[\d+=]*[A-Za-z])[A-Za-z0-9+=]{32,}(?![A-Za-z0-9+=/._-])"
    r"|(?=[A-Z0-9+/]*[a-z])(?=[a-z0-9+/]*[A-Z])(?=[A-Za-z+/]*\d)(?:[A-Za-z0-9+/]{40}(?![A-Za-z0-9+=/._-])|[A-Za-z0-9+/]{24,}=+))"
)
# In quotes, a list in brackets, a block or a list of YAML, or a word.
_VALUE = re.compile(
    r"\"([^\"]*)\"|'([^']*)'|\[([^\]]*)\]|[|>][+-]?[ \t]*\n([ \t]+[^\n]*(?:\n[ \t]{2,}[^\n]*)*)"
    r"|-[ \t]+([^\n]*(?:\n[ \t]*-[ \t]+[^\n]*)*)|((?:(?!<removed |</)[^\s\"'&;,|)}\]])+)"
)
_ASSIGNED = re.compile(
    r"(?<![\w.-])((?:--?)?[A-Za-z_][\w.-]{0,127})\\?[\"']?\]?\s{0,4}(?::=|=>|==|[=:]|%3D)\s{0,4}\\?(?!//)", re.IGNORECASE
)
_OPTION = re.compile(r"(?<![\w.-])(--?[A-Za-z][\w.-]{0,127})(?:\s{1,8}|\s{1,4}\\\s{1,8})(?![-\\])")
# `name: DB_PASSWORD` with `value: x` beside it, `putenv("DB_PASSWORD", "x")`, `["--token", "x"]`, `<password>x<`.
_BESIDE = re.compile(
    r"\b(?:name|key)\\?[\"']?\s{0,4}[:=]\s{0,4}\\?[\"']?([\w.-]{1,128})\\?[\"']?\s{0,4},?\s{0,40}\\?[\"']?value\\?[\"']?"
    r"\s{0,4}[:=]\s{0,4}\\?|[\"'](-{0,2}[A-Za-z_][\w.-]{0,127})\\?[\"']\s{0,4},\s{0,4}\\?(?=[\"'])"
    r"|<([A-Za-z_][\w.-]{0,127})>\s{0,40}",
    re.IGNORECASE,
)
# `password x` of a .netrc, `setenv DB_PASSWORD x`, `aws configure set aws_secret_access_key x`.
_SAID = re.compile(
    r"(?<![\w.$/-])(\w{0,64}(?:pass|pwd|psw|secret|token|key|cred)\w{0,64})[ \t]{1,4}(?:is[ \t]{1,4})?", re.IGNORECASE
)
_SAYING = frozenset({"set", "setenv", "machine", "create"})
# Of an Authorization header the word after it is the secret.
_SCHEMES = frozenset({"bearer", "basic", "token", "apikey"})
_USER_OPTION = re.compile(r"(?<!\S)((?:-u|--user|--userpwd|--proxy-user)(?:\s+|=)[\"']?[^\s:\"']*:)([^\s\"']+)")
_USER_OPTIONS = frozenset({"-u", "--user", "--userpwd", "--proxy-user"})
_LOGIN = re.compile(r"(\blogin\s+(?:--\S+\s+){0,4})(?!-)([^\s\"'&;|<>$]{16,})")
_LOGIN_CALL = re.compile(r"(\blogin\(\s{0,4}(?:key\s{0,4}=\s{0,4})?\\?[\"'])([^\"'\\<>]+)")

# The same few words stand in every manifest.
_SHORTEST, _SHORT = 6, 48
_SAID_BEFORE = 120

Mark = Callable[[str], str]
"""What stands in for a text that is taken away."""
Told = Callable[[str], None]
"""Who hears the name of each option or variable whose value went."""


@lru_cache(maxsize=8192)
def _is_suspect_word(text: str) -> bool:
    return _is_suspect(text)


def _is_suspect(text: str) -> bool:
    lowered = text.lower()
    return any(hint in lowered for hint in _HINTS) or _RUN.search(text) is not None


def mask_text(text: str, mark: Mark, told: Told | None = None) -> str:
    """The text with everything that looks like a secret replaced."""
    if len(text) < _SHORTEST or not (_is_suspect_word(text) if len(text) <= _SHORT else _is_suspect(text)):
        return text

    def second(found: re.Match[str]) -> str:
        return found.group(1) + mark(found.group(2))

    text = _PEM.sub(lambda found: mark(found.group(0)), text)
    for pattern in (_URL_PASSWORD, _URL_TOKEN, _URL_KEY, _HOOK, _THIN, _PGPASS, _USER_OPTION):
        text = pattern.sub(second, text)
    text = mask_commands(text, mark)
    for pattern in (_HEADER, _SCHEME, _LOGIN_CALL):
        text = pattern.sub(second, text)
    for pattern in (_BESIDE, _ASSIGNED, _OPTION, _SAID):
        text = _mask_named(text, pattern, mark, told)
    text = _LOGIN.sub(second, text)
    text = _KNOWN.sub(lambda found: mark(found.group(0)), text)
    return _RANDOM.sub(lambda found: mark(found.group(0)), text)


def _mask_named(text: str, names: re.Pattern[str], mark: Mark, told: Told | None) -> str:
    """Masks the values behind names of secrets. What follows any other name is looked at in its turn."""
    parts: list[str] = []
    done = at = 0
    while (found := names.search(text, at)) is not None:
        name = found[found.lastindex or 0]
        # Its own text may begin another: `'a', 'token', 'x'`.
        at = max(found.end(found.lastindex or 0), found.start() + 1)
        value = _VALUE.match(text, found.end()) if is_secret_name(name.lstrip("-"), bare_key=name[:1] == "-") else None
        if value is None or value.lastindex is None or not value[value.lastindex] or value[0].lower() in _SCHEMES:
            continue
        if names is _SAID and not _is_said(text, found.start(), value[0]):
            continue
        if told is not None:
            told(name)
        # What a shell or Kubernetes fills in is no secret itself, but who follows it would find one.
        start, end = value.span(value.lastindex)
        parts += (text[done:start], mark(text[start:end]))
        done, at = end, value.end()
    return "".join((*parts, text[done:])) if parts else text


def _is_said(text: str, start: int, value: str) -> bool:
    """Whether a word behind the name of a secret is one: in a sentence it is not."""
    if len(value) < _SHORTEST or value[0] in "-<|>":
        return False
    if any(character.isdigit() or character == "$" for character in value[:_SHORT]):
        return True
    line = max(text.rfind("\n", max(start - _SAID_BEFORE, 0), start), start - _SAID_BEFORE, 0)
    return not _SAYING.isdisjoint(text[line:start].split())


def mask_words(words: Sequence[object], mark: Mark, told: Told | None = None) -> list[object]:
    """A command line as a list: each word masked, and the words that options like ``--token`` take."""
    masked: list[object] = []
    before = ""
    places = dict(secret_places(words))
    for index, word in enumerate(words):
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
        elif index in places:
            masked.append(word[: places[index]] + mark(word[places[index] :]))
        elif before in _USER_OPTIONS and ":" in word:
            user, _, password = word.partition(":")
            masked.append(f"{user}:{mark(password)}" if password else word)
        elif before == "login" and len(word) >= 16 and word[:1] not in "-$":
            masked.append(mark(word))
        elif "_" in before and is_secret_name(before) and _is_said(before, 0, word):
            # `aws configure set aws_secret_access_key x`.
            masked.append(mark(word))
        else:
            masked.append(mask_text(word, mark, told))
        before = word
    return masked


def _takes_secret(option: str) -> bool:
    return option[:1] == "-" and "=" not in option and is_secret_name(option.lstrip("-"), bare_key=True)
