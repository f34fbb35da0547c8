"""What an API server may answer instead of what was asked for.

ApiError                     an answer with a status of 400 and more
├─ ApiUnreachable            no answer at all: refused, reset, timed out, or its certificate is not trusted (status 0)
└─ ApiGarbled                an answer that no API server gives: a proxy's page, half a document (status 0)
ApiConfigurationError        it is not known which server to ask, or the kubeconfig cannot be read
"""


class ApiConfigurationError(Exception):
    """There is no API server to talk to: no kubeconfig, no such context, no service account."""


class ApiError(Exception):
    """The API server refused. ``status`` is HTTP's, ``reason`` Kubernetes' own word (``NotFound``, ``Expired``)."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after

    @property
    def not_found(self) -> bool:
        """Whether the object, or its whole kind, is not there."""
        return self.status == 404

    @property
    def conflict(self) -> bool:
        """Whether somebody else has written first, or made the object already."""
        return self.status == 409

    @property
    def expired(self) -> bool:
        """Whether a resourceVersion or a ``continue`` token is too old: list again."""
        return self.status == 410

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.status == 0 or self.status == 429 or self.status >= 500


class ApiUnreachable(ApiError):
    """No answer came."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "Unreachable", message)


class ApiGarbled(ApiError):
    """What came is no answer of an API server."""

    def __init__(self, message: str) -> None:
        super().__init__(0, "Garbled", message)
