"""Which names are likely to stand before a secret. Pure."""

import re
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET_WORDS = _words(
    "password passwords passwd passwrd passphrase passcode pwd psw pswd pw pass secret secrets token credential credentials"
    " creds cred apikey apikeys auth authorization bearer cookie cookies jwt privatekey accesskey secretkey signature sig pat"
)
# Written as one word with what comes before: PGPASSWORD, requirepass, storageaccountkey, authtoken.
_SECRET_ENDS = (
    "password",
    "passwd",
    "passphrase",
    "requirepass",
    "masterauth",
    "secret",
    "authtoken",
    "apitoken",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "accountkey",
)
_KEY_WORDS = frozenset({"key", "keys"})
_KEY_OWNERS = _words(
    "api access private secret ssh encryption signing account storage license auth service master admin deploy shared sas"
    " wandb hf openai anthropic aws azure gcp comet neptune mlflow sts session rsa client webhook stripe sentry datadog dd"
    " sendgrid twilio google gemini cohere mistral replicate langchain langsmith pinecone hmac tls ssl decryption ngc ingest"
    " clearml labelbox tavily serpapi together groq fireworks github gitlab"
)
# Last in a name they say that the value only speaks of a secret: secretName, password_file, pad_token_id.
_ABOUT = _words(
    "name names ref refs file files path dir folder class id ids type count length len limit max min size ttl seconds"
    " expiration enabled mode provider mount volume index format version method policy"
)
# Beside a secret, in one mapping with it, these are none: volumes, references and accounts are written so.
_BESIDE = _words(
    "key user username account audience optional items driver namespace kind apiversion items sources projected url host"
    " port database email realm scope issuer"
)
_LONGEST_NAME = 128


def is_secret_name(name: str, bare_key: bool = False) -> bool:
    """Whether a field, variable or option of this name is likely to hold a secret; ``bare_key``: ``key`` alone counts."""
    return len(name) <= _LONGEST_NAME and _is_secret_name(name, bare_key)


def is_beside_secret(name: str) -> bool:
    """Whether a field of this name, within something that holds a secret, says where or whose the secret is."""
    words = _words_of(name)
    return bool(words) and (words[-1] in _ABOUT or "".join(words) in _BESIDE)


@lru_cache(maxsize=8192)
def _is_secret_name(name: str, bare_key: bool) -> bool:
    words = _words_of(name)
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT:
        # An access key's id is half of a pair; other ids are not secret.
        return words[-3:] == ["access", "key", "id"]
    if not _SECRET_WORDS.isdisjoint(words) or words[-1].endswith(_SECRET_ENDS):
        return True
    if bare_key and words == ["key"]:
        return True
    return any(word in _KEY_WORDS and words[at - 1] in _KEY_OWNERS for at, word in enumerate(words) if at)


def _words_of(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name[:_LONGEST_NAME])]
