"""Everything the controller does, in one place: a duty more is a file of its own and a line here."""

import os
from collections.abc import Sequence

from signalbox.audit.background import ScanSettings
from signalbox.controller.background_scan import BackgroundScan
from signalbox.controller.certificates.duty import CertificateDuty, CertificateMeters
from signalbox.controller.certificates.plan import Lifetimes
from signalbox.controller.certificates.store import CertificateStore
from signalbox.controller.duty import Duty, DutyContext
from signalbox.controller.last_good import LastGoodDuty
from signalbox.controller.policies import PresentPolicies
from signalbox.controller.policy_status import PolicyStatusDuty
from signalbox.controller.webhooks.duty import ConfigurationDuty
from signalbox.controller.webhooks.shipped import Shipped, read_shipped


def duties(context: DutyContext) -> list[Duty]:
    """The duties of a controller with these options. Raises ShippedError."""
    shipped = read_shipped(context.options.expected)
    return [
        *([_certificates(context, shipped)] if context.options.certificates else []),
        _configurations(context, shipped),
        *_policies(context),
        *([_scan(context)] if context.options.scan_minutes else []),
        *([_ledger(context)] if context.options.ledger else []),
    ]


def _certificates(context: DutyContext, shipped: Sequence[Shipped]) -> Duty:
    options = context.options
    return CertificateDuty(
        CertificateStore(context.api, options.namespace, shipped),
        options.serving_names,
        Lifetimes(settle=options.settle),
        context.log,
        CertificateMeters(context.registry, context.leading),
        options.certificate_seconds,
    )


def _configurations(context: DutyContext, shipped: Sequence[Shipped]) -> Duty:
    options = context.options
    duty = ConfigurationDuty(
        context.api, shipped, context.log, context.leading, options.audit_only, options.configuration_seconds
    )
    context.registry.register(duty)
    return duty


def _policies(context: DutyContext) -> list[Duty]:
    present = PresentPolicies(context.api, context.options.policies, context.options.signs)
    return [LastGoodDuty(context, present), PolicyStatusDuty(context, present)]


def _ledger(context: DutyContext) -> Duty:
    # With it comes SQLAlchemy, which a controller without a ledger can do without.
    from signalbox.audit.ledger.database import Address
    from signalbox.controller.ledger_retention import LedgerRetention

    return LedgerRetention(context, Address.parse(context.options.ledger), context.options.ledger_retention)


def _scan(context: DutyContext) -> Duty:
    options = context.options
    settings = ScanSettings(
        namespace=options.namespace,
        kubeconfig=options.kubeconfig,
        context=options.context,
        policies=tuple(map(str, options.policies)),
        signs=tuple(map(str, options.signs)),
        max_mode=options.max_mode,
        reports=options.scan_reports,
        memory_mib=options.scan_memory,
        parent=os.getpid(),
    )
    return BackgroundScan(context, settings, options.scan_minutes * 60, options.scan_longest_minutes * 60)
