"""Which kind of report a cluster has: OpenReports, or the PolicyReports that came before them."""

from dataclasses import dataclass

from signalbox.apiserver.connection import ApiServer
from signalbox.workload.kinds.kind import mapping, members


@dataclass(frozen=True, slots=True)
class ReportKind:
    """One kind. ``sourced``: a report has a field for who wrote it, beside those of its results."""

    group: str
    version: str
    plural: str
    kind: str
    sourced: bool

    @property
    def api_version(self) -> str:
        """``openreports.io/v1alpha1``."""
        return f"{self.group}/{self.version}"

    def path(self, namespace: str = "", name: str = "") -> str:
        """Where the reports of all namespaces or of one are, or one of them."""
        start = f"/apis/{self.api_version}"
        return "/".join((start, *(("namespaces", namespace) if namespace else ()), self.plural, *((name,) if name else ())))


OPEN_REPORT = ReportKind("openreports.io", "v1alpha1", "reports", "Report", True)
POLICY_REPORT = ReportKind("wgpolicyk8s.io", "v1alpha2", "policyreports", "PolicyReport", False)


def report_kinds(api: ApiServer) -> tuple[ReportKind, ...]:
    """Those that are installed, the one to write first. Raises ApiError."""
    return tuple(kind for kind in (OPEN_REPORT, POLICY_REPORT) if _is_served(api, kind))


def _is_served(api: ApiServer, kind: ReportKind) -> bool:
    answer = api.find(f"/apis/{kind.api_version}") or {}
    return any(mapping(resource).get("name") == kind.plural for resource in members(answer.get("resources")))
