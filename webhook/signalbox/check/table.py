"""Every built-in check by name. Adding one is a file beside this and a line here.

The rules written in CEL have no entry: their expression stands in the policy itself (see ``check/cel.py``).
"""

from signalbox.check.accelerator_limit import CHECK as ACCELERATOR_LIMIT
from signalbox.check.check import Check, Parameters
from signalbox.check.checkpoint import CHECK as CHECKPOINT
from signalbox.check.controller_kind import CHECK as CONTROLLER_KIND
from signalbox.check.cron_concurrency import CHECK as CRON_CONCURRENCY
from signalbox.check.gang import CHECK as GANG
from signalbox.check.gpu_bypass import CHECK as GPU_BYPASS
from signalbox.check.gpu_requests import CHECK as GPU_REQUESTS
from signalbox.check.image_tag import CHECK as IMAGE_TAG
from signalbox.check.label_contradicted import CHECK as LABEL_CONTRADICTED
from signalbox.check.priority_allowed import CHECK as PRIORITY_ALLOWED
from signalbox.check.priority_exists import CHECK as PRIORITY_EXISTS
from signalbox.check.protected_labels import CHECK as PROTECTED_LABELS
from signalbox.check.queue_allowed import CHECK as QUEUE_ALLOWED
from signalbox.check.queue_exists import CHECK as QUEUE_EXISTS
from signalbox.check.queue_required import CHECK as QUEUE_REQUIRED
from signalbox.check.quota_feasible import CHECK as QUOTA_FEASIBLE
from signalbox.check.restart_budget import CHECK as RESTART_BUDGET
from signalbox.check.serving_availability import CHECK as SERVING_AVAILABILITY
from signalbox.check.shared_storage import CHECK as SHARED_STORAGE
from signalbox.check.spot_allowed import CHECK as SPOT_ALLOWED
from signalbox.check.termination_grace import CHECK as TERMINATION_GRACE
from signalbox.check.time_limits import CHECK as TIME_LIMITS

_ALL: tuple[Check, ...] = (
    ACCELERATOR_LIMIT,
    CHECKPOINT,
    CONTROLLER_KIND,
    CRON_CONCURRENCY,
    GANG,
    GPU_BYPASS,
    GPU_REQUESTS,
    IMAGE_TAG,
    LABEL_CONTRADICTED,
    PRIORITY_ALLOWED,
    PRIORITY_EXISTS,
    PROTECTED_LABELS,
    QUEUE_ALLOWED,
    QUEUE_EXISTS,
    QUEUE_REQUIRED,
    QUOTA_FEASIBLE,
    RESTART_BUDGET,
    SERVING_AVAILABILITY,
    SHARED_STORAGE,
    SPOT_ALLOWED,
    TERMINATION_GRACE,
    TIME_LIMITS,
)

CHECKS: dict[str, Check] = {check.name: check for check in _ALL}

# What the policy loader needs to know of them: it stands below this layer.
PARAMETERS: dict[str, type[Parameters]] = {check.name: check.parameters for check in _ALL}
