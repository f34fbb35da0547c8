"""What a run needs, in which version, and from which Go module each is built."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """One Go module and the binaries built from it, kept together because they share one version."""

    name: str
    version: str
    module: str
    packages: dict[str, str]
    """Binary's file name to the package it is built from."""
    staging: str | None = None
    """Version of the staging modules, for k8s.io/kubernetes alone: its own go.mod points them at folders no zip has."""
    manifests: str | None = None
    """The module's folder that installs it into a cluster; kept as `config`."""

    @property
    def folder(self) -> str:
        """Name of its folder in the cache."""
        return f"{self.name}-{self.version}"


KUBERNETES = "1.37.2"
STAGING = "0.37.2"

ETCD = Program("etcd", "3.7.3", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"})
CONTROL_PLANE = Program(
    "kubernetes",
    KUBERNETES,
    "k8s.io/kubernetes",
    {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kube-apiserver", "kube-controller-manager", "kubectl")},
    staging=STAGING,
)
JOBSET = Program("jobset", "0.11.1", "sigs.k8s.io/jobset", {"jobset": "sigs.k8s.io/jobset"}, manifests="config")
KUEUE = Program("kueue", "0.17.0", "sigs.k8s.io/kueue", {"kueue": "sigs.k8s.io/kueue/cmd/kueue"}, manifests="config")

# Its resource definitions alone: an overlay of ours is applied against them.
CERT_MANAGER = Program("cert-manager", "1.18.2", "github.com/cert-manager/cert-manager", {}, manifests="deploy/crds")

CLUSTER = (ETCD, CONTROL_PLANE)
ADDED = (CERT_MANAGER, JOBSET, KUEUE)
PROGRAMS = {program.name: program for program in (*CLUSTER, *ADDED)}
