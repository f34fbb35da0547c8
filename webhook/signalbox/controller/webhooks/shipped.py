"""The webhook configurations as the release ships them, or as a file of one's own says (`manifests/generate.py --output -`)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from signalbox.review import JsonObject

API_VERSION = "admissionregistration.k8s.io/v1"
SERVICE = "signalbox"
PLURALS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


class ShippedError(Exception):
    """A file that holds no webhook configurations; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Shipped:
    """One configuration as it should be."""

    kind: str
    name: str
    webhooks: tuple[JsonObject, ...]

    @property
    def plural(self) -> str:
        """Its resource."""
        return PLURALS[self.kind]

    @property
    def path(self) -> str:
        """Where the API server keeps it."""
        return f"/apis/{API_VERSION}/{self.plural}/{self.name}"


def shipped_file() -> Path:
    """The file of this release."""
    return Path(__file__).parents[2] / "shipped" / "webhooks.yaml"


def read_shipped(path: Path | None = None) -> tuple[Shipped, ...]:
    """The configurations of a file, the release's own where none is named. Raises ShippedError."""
    path = path or shipped_file()
    try:
        documents = list(yaml.load_all(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except OSError as error:
        raise ShippedError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ShippedError(f"{path}: {' '.join(str(error).split())}") from error
    found = tuple(one for document in documents if (one := _shipped(document)) is not None)
    if not found:
        raise ShippedError(f"{path}: no webhook configuration in it")
    return found


def _shipped(document: Any) -> Shipped | None:
    if not isinstance(document, dict) or document.get("kind") not in PLURALS:
        return None
    metadata, webhooks = document.get("metadata"), document.get("webhooks")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    entries = tuple(one for one in webhooks if isinstance(one, dict)) if isinstance(webhooks, list) else ()
    return Shipped(document["kind"], name, entries) if isinstance(name, str) else None
