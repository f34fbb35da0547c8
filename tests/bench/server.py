"""The processes that are measured: the webhook itself, and a Flask endpoint that does nothing, on equal settings.

Run as ``python -m tests.bench.server (webhook|recorded|nothing) FOLDER``; the certificate is in the folder. ``recorded`` is
the webhook with a ledger there that holds every request.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from signalbox.server.options import ServerOptions
from signalbox.server.serve import run_server
from tests.bench.setup import loader


def options(folder: Path) -> ServerOptions:
    """The settings of both: the defaults, on free ports, and no wait at the end."""
    return ServerOptions(
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        address="127.0.0.1",
        port=0,
        metrics_port=0,
        drain_seconds=0.0,
        log_level="info",
    )


def serve_nothing(folder: Path) -> int:
    """The same process model, listener and TLS; the app parses the body and answers allowed."""
    import signalbox.server.app as app_module

    def do_nothing_app(*_: Any) -> Any:
        import orjson
        from flask import Flask, Response, request

        app = Flask("nothing", static_folder=None)

        def answer() -> Response:
            uid = orjson.loads(request.get_data())["request"]["uid"]
            body = {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "response": {"uid": uid, "allowed": True},
            }
            return Response(orjson.dumps(body), mimetype="application/json")

        app.add_url_rule("/nothing", view_func=answer, methods=["POST"])
        return app

    app_module.create_app = do_nothing_app  # type: ignore[assignment]
    return run_server(options(folder), loader)


def serve_recorded(folder: Path) -> int:
    """The webhook with a ledger."""
    from signalbox.audit.ledger.database import Address
    from signalbox.audit.ledger.options import LedgerOptions

    ledger = LedgerOptions(Address.parse(str(folder / "ledger.db")), allowed="all")
    return run_server(replace(options(folder), ledger=ledger), loader)


if __name__ == "__main__":
    chosen = {
        "webhook": lambda folder: run_server(options(folder), loader),
        "recorded": serve_recorded,
        "nothing": serve_nothing,
    }
    sys.exit(chosen[sys.argv[1]](Path(sys.argv[2])))
