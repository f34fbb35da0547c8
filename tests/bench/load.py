"""A small load generator: kept-alive TLS connections, requests prebuilt as bytes, one process of its own.

It does as little as it can per request (one send, one receive, no HTTP library), so that the server is what is measured.
"""

import json
import multiprocessing
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What one run saw. Times in seconds."""

    requests: int
    failed: int
    seconds: float
    p50: float
    p99: float
    client_cpu: float

    @property
    def throughput(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def http_request(path: str, body: object) -> bytes:
    """One POST as the API server would send it."""
    payload = json.dumps(body).encode()
    head = (
        f"POST {path}?timeout=5s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(payload)}\r\n\r\n"
    )
    return head.encode() + payload


def run_load(port: int, ca: str, requests: Sequence[bytes], connections: int) -> LoadResult:
    """Send each request once, spread over the connections, from another process."""
    ours, theirs = multiprocessing.get_context("fork").Pipe()
    process = multiprocessing.get_context("fork").Process(target=_client, args=(theirs, port, ca, requests, connections))
    process.start()
    theirs.close()
    try:
        result = ours.recv()
    finally:
        process.join()
    if not isinstance(result, LoadResult):
        raise RuntimeError(f"the load process failed: {result}")
    return result


def _client(pipe: Connection, port: int, ca: str, requests: Sequence[bytes], connections: int) -> None:
    context = ssl.create_default_context(cafile=ca)
    sockets = [
        context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=30), server_hostname="localhost")
        for _ in range(connections)
    ]
    latencies: list[float] = []
    failures: list[int] = []

    def drive(index: int) -> None:
        connection, times, failed = sockets[index], [], 0
        for request in requests[index::connections]:
            started = time.perf_counter()
            connection.sendall(request)
            failed += not _answered(connection)
            times.append(time.perf_counter() - started)
        latencies.extend(times)
        failures.append(failed)

    threads = [threading.Thread(target=drive, args=(index,)) for index in range(connections)]
    started, cpu = time.perf_counter(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    latencies.sort()
    pipe.send(
        LoadResult(
            requests=len(latencies),
            failed=sum(failures),
            seconds=seconds,
            p50=latencies[len(latencies) // 2],
            p99=latencies[int(len(latencies) * 0.99)],
            client_cpu=cpu / seconds,
        )
    )


def _answered(connection: ssl.SSLSocket) -> bool:
    """Read one response with a Content-Length; whether it is a 200."""
    data = connection.recv(65536)
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
    missing = length - len(body)
    while missing > 0:
        more = connection.recv(min(missing, 65536))
        if not more:
            return False
        missing -= len(more)
    return head.startswith(b"HTTP/1.1 200")
