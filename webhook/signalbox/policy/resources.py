"""What the documents of policies are called as objects of a cluster."""

from signalbox.policy.documents import API_VERSION

GROUP, VERSION = API_VERSION.split("/")

PLURALS = {
    "PolicyException": "policyexceptions",
    "WorkloadKind": "workloadkinds",
    "WorkloadPolicy": "workloadpolicies",
    "WorkloadSigns": "workloadsigns",
}
"""The kinds there are, each with the name of its collection in the API. All are cluster-scoped."""


def collection_path(kind: str) -> str:
    """The path of all objects of a kind in the API."""
    return f"/apis/{API_VERSION}/{PLURALS[kind]}"
