"""What is known of something that is asked elsewhere: its last value, and why there is no newer one."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from signalbox.process.logs import Log, crash_fields

Value = TypeVar("Value")


class TroubleError(Exception):
    """Why something cannot be known; the text is for people and says what to do."""


@dataclass(frozen=True, slots=True)
class Known(Generic[Value]):
    """``value`` None: not known. ``trouble`` says what went wrong, ``advice`` what to do where there is nothing yet."""

    value: Value | None = None
    trouble: str = ""
    advice: str = ""


class Refreshed(Generic[Value]):
    """Asks again after so many seconds, one question at a time and in a thread of its own.

    Whoever wants to know waits a moment for the first answer, and is given the last one while there is none that is newer.
    """

    def __init__(self, what: str, ask: Callable[[], Known[Value]], seconds: float, longest_wait: float, log: Log) -> None:
        self._what = what
        self._ask = ask
        self._seconds = seconds
        self._longest_wait = longest_wait
        self._log = log
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asked = float("-inf")
        self._known: Known[Value] = Known(trouble=f"{what}: no answer yet, load the page again")

    def get(self) -> Known[Value]:
        """What is known now."""
        with self._lock:
            if self._thread is None and time.monotonic() - self._asked >= self._seconds:
                self._thread = threading.Thread(target=self._refresh, name=f"page-{self._what}", daemon=True)
                self._thread.start()
            thread, known = self._thread, self._known
        if thread is not None and known.value is None:
            thread.join(self._longest_wait)
        return self._known

    def _refresh(self) -> None:
        try:
            known = self._ask()
        except TroubleError as error:
            known = replace(self._known, trouble=str(error), advice="")
        except Exception as error:  # noqa: BLE001 a fault of ours or of what was asked: told, and the last value stays
            self._log.error("page could not ask", what=self._what, **crash_fields(error))
            known = replace(self._known, trouble=f"{self._what}: {type(error).__name__}, the log has more", advice="")
        with self._lock:
            self._known = known
            self._asked = time.monotonic()
            self._thread = None
