"""Whether the devices of a class are accelerators, and whose: by its DeviceClass where that is known, else by its name."""

from signalbox.cluster.view import UNKNOWN, ClusterView
from signalbox.workload.signs import Signs
from signalbox.workload.vocabulary import MAX_NAME, holds_any, name_words

NO_ACCELERATOR = ""
OTHER_VENDOR = "other"


def vendor_of_class(name: str, cluster: ClusterView, signs: Signs) -> str | None:
    """Whose accelerators a class has; NO_ACCELERATOR where it has other devices, None where nothing says what it has."""
    known = cluster.device_class(name)
    if known is not None and known is not UNKNOWN:
        sign = signs.accelerator(known.resource)
        if sign is not None:
            return sign.vendor
        for driver in known.drivers:
            vendor = _vendor_by_name(driver, signs)
            if vendor is not None:
                return vendor
    return _vendor_by_name(name, signs)


def _vendor_by_name(name: str, signs: Signs) -> str | None:
    """The same by the words of a class's name, or of its driver's (``gpu.nvidia.com``, ``dra.net``)."""
    words = name_words(name[:MAX_NAME])
    accelerates = holds_any(words, signs.accelerator_claims)
    if holds_any(words, signs.other_devices):
        # `h100-sriov` may be either.
        return None if accelerates else NO_ACCELERATOR
    if not accelerates:
        return None
    return next((vendor for vendor, theirs in signs.device_vendors if holds_any(words, theirs)), OTHER_VENDOR)
