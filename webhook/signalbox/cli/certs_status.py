"""What `signalbox certs status` looks at, and how it says it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import orjson

from signalbox.apiserver.connection import ApiServer
from signalbox.apiserver.error import ApiError
from signalbox.cli.served import ServedError, replicas, shown_by
from signalbox.cli.terminal import Terminal
from signalbox.controller.certificates.plan import Lifetimes
from signalbox.controller.certificates.state import State
from signalbox.controller.certificates.store import CertificateStore
from signalbox.controller.certificates.words import Remark, days, of_served, remarks
from signalbox.controller.options import ControllerOptions
from signalbox.controller.webhooks.duty import all_deviations
from signalbox.controller.webhooks.shipped import read_shipped


@dataclass(frozen=True, slots=True)
class Status:
    """Everything there is to say, about what."""

    host: str
    namespace: str
    remarks: tuple[Remark, ...]

    @property
    def wrong(self) -> bool:
        """Whether anything is wrong."""
        return any(one.wrong for one in self.remarks)


def look(api: ApiServer, options: ControllerOptions, server: str | None, now: datetime) -> Status:
    """Look at everything. Raises ApiError and ShippedError: then nothing can be said."""
    shipped = read_shipped(options.expected)
    found = CertificateStore(api, options.namespace, shipped).read(now)
    ours = options.certificates and not found.others
    said = remarks(found.state, Lifetimes(settle=options.settle), options.serving_names, now, ours=ours)
    if found.others:
        said.append(Remark(f"cert-manager takes care of certificates, by its annotations on {', '.join(found.others)}"))
    said += _served(api, options.namespace, server, found.state, now)
    said += _leader(api, options, now)
    differing = all_deviations(api, shipped, fails_open=options.audit_only)
    said += [Remark(one.text, wrong=True) for one in differing]
    if not differing:
        said.append(Remark("the webhook configurations are as shipped"))
    return Status(api.host, options.namespace, tuple(said))


def write_status(status: Status, terminal: Terminal) -> None:
    """For people."""
    terminal.line(f"{status.namespace} at {status.host}", "bold")
    for one in status.remarks:
        terminal.line(f"  {_mark(one, terminal)} {one.text}")


def _mark(remark: Remark, terminal: Terminal) -> str:
    if remark.wrong:
        return terminal.styled(terminal.marks.refused, "red")
    return terminal.styled(terminal.marks.warned, "yellow") if remark.unknown else terminal.styled(terminal.marks.fine, "green")


def status_json(status: Status) -> bytes:
    """For programs."""
    told = [{"text": one.text, "wrong": one.wrong, "unknown": one.unknown} for one in status.remarks]
    return orjson.dumps(
        {"server": status.host, "namespace": status.namespace, "wrong": status.wrong, "remarks": told},
        option=orjson.OPT_INDENT_2,
    )


def _served(api: ApiServer, namespace: str, server: str | None, state: State, now: datetime) -> Iterator[Remark]:
    if server is not None:
        try:
            yield from of_served(shown_by(server, f"signalbox.{namespace}.svc"), state, now)
        except ServedError as error:
            yield Remark(f"what is served: {error}", wrong=True)
        return
    try:
        found = replicas(api, namespace)
    except ApiError as error:
        yield Remark(f"what is served was not looked at: {error.message}", unknown=True)
        return
    if not found:
        yield Remark("what is served was not looked at: no Pod of ours is there to be asked", unknown=True)
    wanted = state.serving.certificate
    for one in found:
        if one.not_after is None:
            yield Remark(f"what {one.name} serves was not looked at: {one.fault}", unknown=True)
            continue
        same, ended = wanted is not None and one.not_after == wanted.not_valid_after_utc, one.not_after <= now
        end = f"ended {days(now - one.not_after)} ago" if ended else f"ends in {days(one.not_after - now)}"
        which = "the Secret's certificate" if same else "another certificate than the Secret's"
        yield Remark(f"{one.name} serves {which}, it {end}", wrong=ended)


def _leader(api: ApiServer, options: ControllerOptions, now: datetime) -> Iterator[Remark]:
    if not options.certificates:
        return
    path = f"/apis/coordination.k8s.io/v1/namespaces/{options.namespace}/leases/{options.lease}"
    spec = (api.find(path) or {}).get("spec") or {}
    holder, renewed = spec.get("holderIdentity"), _time(spec.get("renewTime"))
    if not holder or renewed is None:
        yield Remark("no controller leads: nothing is renewed and nothing is put right", wrong=True)
        return
    late = now - renewed > timedelta(seconds=2 * float(spec.get("leaseDurationSeconds") or options.lease_seconds))
    word = "fell silent" if late else "was heard of"
    yield Remark(f"the controller {holder} leads, it {word} {days(now - renewed)} ago", wrong=late)


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except ValueError:
        return None
