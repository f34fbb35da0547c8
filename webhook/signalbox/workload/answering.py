"""What says that a container answers requests, beside a probe that asks it: ports, the address that it listens at.

What only reports on the work, and where the processes of a cluster meet, answers no requests of anybody's.
"""

from typing import Any

from signalbox.fieldpath import Path
from signalbox.workload.containers import ContainerView
from signalbox.workload.judgement import Evidence
from signalbox.workload.kinds.kind import mapping, members
from signalbox.workload.probes import MAX_PORTS, METRICS_PORTS, PROBES, asks_for_metrics
from signalbox.workload.said import Said, Strength
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import Saying, option_name

_SERVES_PORT = Saying("inference", "a port on accelerators that are held for ever", 10_000)
_NOTEBOOK_PORT = Saying("interactive", "the port of a notebook", 10_000)
_LISTENS = Saying("inference", "listens for requests on accelerators that are held for ever", 10_000)
_EVERY_ADDRESS = ("0.0.0.0", "[::]", "::")  # noqa: S104  looked for, not listened at
_CLIENTS = ("curl ", "wget ", "grpc_health_probe", "grpc-health-probe")
_HERE = ("localhost", "127.0.0.1", "0.0.0.0", "-addr=:", "::1", "$")  # noqa: S104  looked for, not listened at
_MAX_TEXT = 1024
_LONGEST_PORT = 6
# Where a server listens stands among its first options.
_MAX_WORDS = 64


def joins_a_cluster(container: ContainerView, signs: Signs) -> bool:
    """Whether it joins a cluster (`ray start`), whose ports are no service of its own."""
    for started in container.started:
        target = started.target
        if target is not None and target.role == "program":
            words = started.invocation.words[target.at + 1 : target.at + 2]
            if target.name in signs.commands.members or " ".join((target.name, *words)) in signs.commands.members:
                return True
    return False


def serves(container: ContainerView, signs: Signs, answers: Evidence | None) -> bool:
    """Whether anything says that it answers requests: the probe that was found, a port that is opened, tried or told, or where
    it listens.
    """
    if answers is not None or by_port(container, signs) is not None or _listens(container, signs) is not None:
        return True
    return by_told_port(container, signs) is not None


def by_told_port(container: ContainerView, signs: Signs) -> Said | None:
    """A probe that opens a connection to it, or a variable or option that tells it where to listen: ``PORT=8080``."""
    for kind in PROBES:
        body = mapping(container.body.get(kind))
        for how in ("tcpSocket", "exec"):
            action = body.get(how)
            if (
                isinstance(action, dict)
                and not asks_for_metrics(action, container.body, signs)
                and (how == "tcpSocket" or _asks(action))
            ):
                return _told((*container.path, kind, how), how)
    ports = signs.commands.ports
    for index, name, _ in container.variables:
        if option_name(name) in ports and _is_port(container.env.get(name, ""), signs):
            return _told(container.place("env", index), f"{name}={container.env[name]}")
    for started in container.started:
        words = started.invocation.words
        if _calls_another(words[started.at + 1 : started.at + _MAX_WORDS]):
            continue
        for at in range(started.at + 1, min(len(words), started.at + _MAX_WORDS)):
            name, equals, value = words[at].partition("=")
            if name[:2] == "--" and option_name(name) in ports:
                value = value if equals else next(iter(words[at + 1 : at + 2]), "")
                if _is_port(value, signs):
                    return _told(started.invocation.field(at), f"{name} {value}")
    return None


def _told(path: Path, shown: str) -> Said:
    return Said(_LISTENS, Evidence(path, shown, _LISTENS.reason), Strength.WEAK)


def _asks(action: dict[str, Any]) -> bool:
    """Whether a probe's command sends a request: `curl localhost:8080/health`."""
    words = " ".join([word for word in members(action.get("command"))[:_MAX_WORDS] if isinstance(word, str)])[:_MAX_TEXT]
    return any(client in words for client in _CLIENTS) and any(here in words for here in _HERE)


def _is_port(value: str, signs: Signs) -> bool:
    return value.isdecimal() and len(value) < _LONGEST_PORT and int(value) not in (0, *signs.ports.rendezvous)


def _calls_another(words: tuple[str, ...]) -> bool:
    """Whether a port is that of another host, which it is a client of: ``--host db --port 5432``."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name[:2] == "--" and "host" in name:
            value = value if equals else next(iter(words[at + 1 : at + 2]), "")
            if value not in _EVERY_ADDRESS and not any(here in value for here in _HERE):
                return True
    return False


def _listens(container: ContainerView, signs: Signs) -> Said | None:
    return None if joins_a_cluster(container, signs) else by_address(container)


def by_port(container: ContainerView, signs: Signs) -> Said | None:
    """A port that is no meeting place of processes."""
    for index, entry in enumerate(members(container.body.get("ports"))[:MAX_PORTS]):
        port = entry.get("containerPort") if isinstance(entry, dict) else None
        if not isinstance(port, int) or port in signs.ports.rendezvous or entry.get("name") in METRICS_PORTS:
            continue
        saying = _NOTEBOOK_PORT if port in signs.ports.interactive else _SERVES_PORT
        return Said(saying, Evidence((*container.path, "ports", index), str(port), saying.reason), Strength.WEAK)
    return None


def by_address(container: ContainerView) -> Said | None:
    """A program that is told to listen at every address of its Pod."""
    for started in container.started:
        words = started.invocation.words
        for at in range(started.at + 1, min(len(words), started.at + _MAX_WORDS)):
            word = words[at]
            option, value = (word.partition("=")[::2]) if "=" in word else (words[at - 1], word)
            host, colon, port = value.rpartition(":")
            host = host if colon and port.isdecimal() and value not in _EVERY_ADDRESS else value
            if option[:1] == "-" and (host in _EVERY_ADDRESS or (not host and "bind" in option)):
                return Said(
                    _LISTENS, Evidence(started.invocation.field(at), f"{option} {value}", _LISTENS.reason), Strength.WEAK
                )
    return None
