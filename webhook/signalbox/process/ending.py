"""Ending a child process: asked first, made to where it does not."""

import subprocess

_SECONDS = 2.0


def end_process(process: "subprocess.Popen[bytes] | None") -> None:
    """Return when it has ended; nothing is done where there is none, or it has ended by itself."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
