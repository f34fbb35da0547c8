"""What the API server and the webhook together would make of one object: defaults, /mutate, /validate."""

from dataclasses import dataclass
from datetime import datetime

from signalbox import message
from signalbox.defaults import apply_defaults
from signalbox.engine import Outcome, Setup, mutate, validate
from signalbox.finding import Finding, Result
from signalbox.manifests import own_namespace
from signalbox.review import JsonObject, Operation, Request, UserInfo
from signalbox.workload.kinds.kind import mapping

DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Asked:
    """How an object comes to the API server. ``user`` None: it is not known who asks.

    ``stored``: it was read back from the API server, so that it has every default already.
    """

    namespace: str = ""
    user: UserInfo | None = None
    operation: Operation = "CREATE"
    old: JsonObject | None = None
    sub_resource: str = ""
    stored: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """``before`` is what /mutate was sent, ``after`` what /validate was sent.

    ``decided`` is the answer that counts, and ``request`` what it is the answer to.
    """

    before: JsonObject
    after: JsonObject
    mutation: Outcome
    decided: Outcome
    request: Request

    @property
    def allowed(self) -> bool:
        """Whether the object would be let in."""
        return self.decided.response.allowed

    @property
    def not_judged(self) -> tuple[Finding, ...]:
        """The rules of which it is not known whether they hold."""
        return tuple(finding for finding in self.decided.findings if finding.result is Result.NOT_JUDGED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings a person would see; what could not be judged is told by itself."""
        unknown = message.not_judged_warning([finding for finding in self.not_judged if finding.warns])
        lines = (*self.mutation.response.warnings, *self.decided.response.warnings)
        return tuple(line for line in dict.fromkeys(lines) if line != unknown)

    def refusal(self, file: str = "") -> str:
        """The text of the refusal; with a file, how to try that again without the cluster."""
        view = self.decided.view
        return "" if self.allowed or view is None else message.refusal(self.decided.findings, view, file)


def admit(setup: Setup, obj: JsonObject, asked: Asked, now: datetime) -> Admission:
    """Judges one object of a known kind. On UPDATE it and the old object are taken as stored already: no defaults."""
    created = asked.operation == "CREATE" and not asked.sub_resource and not asked.stored
    namespace = namespace_of(obj, asked.namespace)
    before = apply_defaults(obj, namespace, setup.cluster) if created else obj
    request = _request(before, asked, namespace)
    mutation = mutate(setup, request, now)
    if not mutation.response.allowed:
        return Admission(before, before, mutation, mutation, request)
    after = mutation.mutated if mutation.mutated is not None else before
    if created:
        # The API server runs its own plugins again on what a webhook changed: a Pod's priority comes from its new class.
        after = apply_defaults(after, namespace, setup.cluster)
    request = _request(after, asked, namespace)
    return Admission(before, after, mutation, validate(setup, request, now), request)


def namespace_of(obj: JsonObject, given: str) -> str:
    """The manifest's own namespace, else the one given, else ``default``."""
    return own_namespace(obj) or given or DEFAULT_NAMESPACE


def _request(obj: JsonObject, asked: Asked, namespace: str) -> Request:
    version, name = obj.get("apiVersion"), mapping(obj.get("metadata")).get("name")
    group, _, version = version.rpartition("/") if isinstance(version, str) else ("", "", "")
    return Request(
        uid="command-line",
        operation=asked.operation,
        group=group,
        version=version,
        kind=str(obj.get("kind")),
        namespace=namespace,
        name=name if isinstance(name, str) else "",
        sub_resource=asked.sub_resource,
        user=asked.user,
        object=obj,
        old_object=asked.old,
    )
