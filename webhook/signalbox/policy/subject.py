"""What a policy is asked about: a workload as the view shows it, and the request it came with."""

from dataclasses import dataclass

from signalbox.review import Request
from signalbox.workload.view import WorkloadView


@dataclass(frozen=True, slots=True)
class Subject:
    """One workload in one request.

    Where there is no real request (a scan, the command line) ``request`` is made up: its ``user`` is then None, and what
    asks for a user is unknown. ``made_by_controller``: it is the write of a known controller for a parent that was judged.
    """

    view: WorkloadView
    request: Request
    made_by_controller: bool = False
