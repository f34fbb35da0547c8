"""A headless Chromium, driven over the pipe of its DevTools protocol: no driver, no library, no port.

`Browser` is the process, `Tab` one page of it. What a page says on its console, what it may not load and what fails to load is
gathered: a page without a fault says nothing.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .progress import say

INSTALL = "no Chromium found: apt-get install chromium, or put chromium into PATH"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 20.0
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
Answer = dict[str, Any]


def program() -> Path:
    """Chromium, installed now where that is possible; where it is not, the test is left out, and says why."""
    found = _find()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for words in ("update -qq", "install -y -qq --no-install-recommends chromium"):
            quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", *words.split()], capture_output=True, timeout=600, env=quiet)
        found = _find()
    if found is None:
        say(f"left out: {INSTALL}")
        pytest.skip(INSTALL)
    return Path(found)


def _find() -> str | None:
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def _out_of_the_way(descriptor: int) -> int:
    """The same under a number that is not one of those the protocol wants."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return moved


class BrowserError(AssertionError):
    """What the browser answered instead."""


class Browser:
    """The process, with a profile of its own that goes away with it."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="signalbox-chromium-")
        read_theirs, self._write = map(_out_of_the_way, os.pipe())
        self._read, write_theirs = map(_out_of_the_way, os.pipe())
        command = [str(program()), *_OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        # The protocol speaks on descriptors 3 and 4, which a shell puts there before it becomes the browser.
        shell = f'exec 3<&{read_theirs} 4>&{write_theirs} {read_theirs}<&- {write_theirs}>&-; exec "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *command],
            pass_fds=(read_theirs, write_theirs),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(read_theirs)
        os.close(write_theirs)
        self._last = 0
        self._answers: dict[int, Answer] = {}
        self._events: list[Answer] = []
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._listen, daemon=True).start()

    def call(self, method: str, session: str = "", **parameters: Any) -> Answer:
        """Ask the browser for something and wait for its answer."""
        with self._changed:
            self._last += 1
            number = self._last
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._ended, _SECONDS)
            assert number in self._answers, f"chromium does not answer {method}"
            answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        result: Answer = answer["result"]
        return result

    def events(self, session: str) -> list[Answer]:
        """What has happened in a tab so far."""
        with self._changed:
            return [event for event in self._events if event.get("sessionId") == session]

    def wait_for(self, session: str, method: str, after: int, seconds: float = _SECONDS) -> Answer:
        """The first event of that name behind so many others."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                for event in [one for one in self._events if one.get("sessionId") == session][after:]:
                    if event["method"] == method:
                        return event
                left = deadline - time.monotonic()
                assert left > 0, f"no {method} within {seconds} s"
                self._changed.wait(left)

    def tab(self) -> Tab:
        """A new page."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        return Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def close(self) -> None:
        """End it, and every process it made."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        os.close(self._write)
        shutil.rmtree(self._profile, ignore_errors=True)

    def _listen(self) -> None:
        pending = b""
        while chunk := os.read(self._read, 1 << 16):
            *messages, pending = (pending + chunk).split(b"\0")
            with self._changed:
                for text in messages:
                    message = json.loads(text)
                    if "id" in message:
                        self._answers[message["id"]] = message
                    else:
                        self._events.append(message)
                self._changed.notify_all()
        os.close(self._read)
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Tab:
    """One page. ``faults`` are what the console, the network and the page's own policy complained of."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self._call(f"{domain}.enable")

    def resize(self, width: int, height: int = 900, scale: float = 1) -> None:
        """The window's size, in the page's own pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600
        )

    def colours(self, scheme: str) -> None:
        """`light` or `dark`, as the system would say."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, address: str) -> int:
        """Load a page to its end; the status of the answer."""
        before = len(self._browser.events(self._session))
        answer = self._call("Page.navigate", url=address)
        assert not answer.get("errorText"), f"{address}: {answer['errorText']}"
        self._browser.wait_for(self._session, "Page.loadEventFired", before)
        return self._status(before)

    def click(self, selector: str) -> None:
        """Click the first thing that fits, with the mouse, and wait for the page that it leads to."""
        before = len(self._browser.events(self._session))
        self._press(selector)
        self._browser.wait_for(self._session, "Page.loadEventFired", before)

    def download(self, selector: str, folder: Path) -> Path:
        """Click a link whose answer is saved; the file."""
        self._browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
        self._press(selector)
        deadline = time.monotonic() + _SECONDS
        while True:
            # Under another name until it is whole.
            files = [file for file in folder.iterdir() if file.suffix in (".csv", ".json")]
            if files:
                return files[0]
            assert time.monotonic() < deadline, f"{selector}: nothing was saved"
            time.sleep(0.05)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, run beside its policy, as the inspector does."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(answer["exceptionDetails"]["exception"].get("description", "an expression failed"))
        return answer["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """What is read there."""
        found: str = self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return found

    @property
    def address(self) -> str:
        """Where it is."""
        found: str = self.run("location.href")
        return found

    def picture(self, file: Path, whole: bool = True) -> None:
        """A screenshot."""
        if whole:
            height = self.run("Math.ceil(document.documentElement.getBoundingClientRect().height)")
            width = self.run("window.innerWidth")
            clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
            shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        else:
            shot = self._call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(shot["data"]))

    @property
    def faults(self) -> list[str]:
        """Everything that was complained of since the tab was made."""
        return list(self._faults())

    def _faults(self) -> Iterator[str]:
        for event in self._browser.events(self._session):
            told = event["params"]
            match event["method"]:
                case "Log.entryAdded" if told["entry"]["level"] in ("error", "warning"):
                    yield f"{told['entry']['source']}: {told['entry']['text']}"
                case "Runtime.exceptionThrown":
                    yield f"exception: {told['exceptionDetails']['text']}"
                case "Runtime.consoleAPICalled" if told["type"] in ("error", "warning", "assert"):
                    yield f"console: {told['args']}"
                case "Network.loadingFailed" if not told.get("canceled"):
                    yield f"not loaded: {told['errorText']} {told.get('blockedReason', '')}"

    def _status(self, before: int) -> int:
        for event in self._browser.events(self._session)[before:]:
            if event["method"] == "Network.responseReceived" and event["params"]["type"] == "Document":
                return int(event["params"]["response"]["status"])
        raise AssertionError("no document was received")

    def _press(self, selector: str) -> None:
        place = self.run(
            f"""(() => {{
                const found = document.querySelector({json.dumps(selector)});
                if (!found) return null;
                found.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = found.getClientRects()[0];
                return [box.x + Math.min(box.width / 2, 20), box.y + box.height / 2];
            }})()"""
        )
        assert place, f"there is no {selector}"
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def _call(self, method: str, **parameters: Any) -> Answer:
        return self._browser.call(method, self._session, **parameters)
