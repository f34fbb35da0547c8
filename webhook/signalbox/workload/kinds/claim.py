"""A claim of a Pod, as far as it is known."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClaimedDevices:
    """Accelerators of one class that a request of a claim is for.

    ``count`` None: not known. ``alternatives``: out of so many that the request gives.
    """

    request: str
    device_class: str
    vendor: str
    count: int | None
    alternatives: int = 1


@dataclass(frozen=True, slots=True)
class Claim:
    """One of a Pod's resourceClaims.

    ``field`` is what names ``of``, the template or claim. ``shared``: it is one ResourceClaim for all Pods. ``accelerators``
    None: what it asks for is not known, and ``called_so`` says whether its names speak of accelerators.
    """

    index: int
    field: str
    of: str
    shared: bool
    called_so: bool
    accelerators: tuple[ClaimedDevices, ...] | None = None
