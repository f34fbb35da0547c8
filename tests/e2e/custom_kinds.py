"""Small resource definitions, for custom kinds whose operators are not here."""

from __future__ import annotations

from typing import Any

from .cluster import Cluster
from .objects import Manifest
from .waiting import eventually


def definition(group: str, version: str, kind: str) -> Manifest:
    """Any JSON may stand in such an object, as where a definition has no schema."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }


def define(cluster: Cluster, *kinds: tuple[str, str, str]) -> None:
    """Make these kinds known, each of group, version and kind."""
    kubectl = cluster.kubectl
    definitions = [definition(*kind) for kind in kinds]
    printed = kubectl.apply(*definitions)
    assert printed.code == 0, printed.text
    names = [f"crd/{one['metadata']['name']}" for one in definitions]
    kubectl("wait", *names, "--for=condition=Established", "--timeout=60s")
    for group, version, kind in kinds:
        # Established, and served a moment later.
        eventually(lambda path=f"/apis/{group}/{version}", kind=kind: _served(cluster, path, kind), f"{kind} is served")


def custom(kind: tuple[str, str, str], namespace: str, spec: Any, name: str = "x", **metadata: Any) -> Manifest:
    """An object of such a kind."""
    group, version, named = kind
    return {
        "apiVersion": f"{group}/{version}",
        "kind": named,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }


def _served(cluster: Cluster, path: str, kind: str) -> bool:
    found = cluster.api.call("GET", path)["resources"]
    return kind in [one["kind"] for one in found]
