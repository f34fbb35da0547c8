"""A workload view whose judgements a test sets, and subjects and matchers made from YAML."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from signalbox.cluster.view import UNKNOWN, EmptyClusterView, UnknownType
from signalbox.policy.match import Matcher, compile_match
from signalbox.policy.match_document import MatchDocument
from signalbox.policy.subject import Subject
from signalbox.review import Request, UserInfo
from signalbox.source import read_documents
from signalbox.workload.accelerators import Accelerators
from signalbox.workload.judgement import Judgement
from signalbox.workload.kinds.table import KINDS
from signalbox.workload.priority import Priority
from signalbox.workload.view import Owner, WorkloadView


class KnownNamespaces(EmptyClusterView):
    """A cluster of which only some namespaces' labels are known."""

    def __init__(self, labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = labels

    def namespace_labels(self, namespace: str) -> Mapping[str, str] | UnknownType:
        return self._labels.get(namespace, UNKNOWN)


class FakeView:
    """Every attribute that policies read of a WorkloadView, with plain defaults."""

    def __init__(self, **known: Any) -> None:
        self.object: Any = {}
        self.kind = KINDS["batch", "Job"]
        self.namespace = "team-research"
        self.name = "llama-sft"
        self.labels: Any = {}
        self.annotations: Any = {}
        self.owner: Owner | None = None
        self.cluster = EmptyClusterView()
        self.queue = ""
        self.queues: tuple[str, ...] = ()
        self.pods: int | None = 1
        self.accelerators = Accelerators()
        self.priority = Priority("unset")
        self.spot = Judgement("no")
        self.type = Judgement(None)
        self.trains = False
        self.distributed = False
        self.framework = Judgement(None)
        self.checkpoint = Judgement("none")
        self.resume = Judgement("unsaid")
        for name, value in known.items():
            setattr(self, name, value)
        self.queues = self.queues or ((self.queue,) if self.queue else ())


def gpus(total: Any = 0, per_pod: Any = None, placeholder: bool = False, resource: str = "nvidia.com/gpu") -> Accelerators:
    count = Fraction(str(total))
    return Accelerators(
        per_pod=count if per_pod is None else Fraction(str(per_pod)),
        total=count,
        placeholder=placeholder,
        resources=(resource,) if count else (),
        vendors=(resource.split(".")[0],) if count else (),
    )


def subject(user: UserInfo | None = None, operation: Any = "CREATE", **known: Any) -> Subject:
    view = FakeView(**known)
    kind = view.kind
    request = Request("uid", operation, kind.group, "v1", kind.kind, view.namespace, view.name, user=user)
    return Subject(cast(WorkloadView, view), request)


def matcher(text: str) -> Matcher:
    return compile_match(MatchDocument.model_validate(read_documents(text, "match.yaml")[0].value))
