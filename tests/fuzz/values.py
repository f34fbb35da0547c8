"""Values that nobody expects where they stand: of another type, hostile, huge, deep."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson

TEXTS = (
    "",
    " ",
    "a",
    "null",
    "true",
    "-1",
    "0",
    "1e9",
    "9" * 40,
    "1.5",
    "500m",
    "8Gi",
    "-0",
    "NaN",
    "0x10",
    "∞",
    "\x00",
    "\x1b[2J\x1b]0;owned\x07",
    "line\nbreak\r\n\ttab",
    "\u2028\u2029\x85",
    "\u202eevil\u202c",
    "\u200b\ufeff\u2066",
    "é" * 300,
    "😀" * 200,
    "a" * 5_000,
    "{workload.accelerators.total} {0} %s %(x)s {{",
    "$(HOME) ${CKPT} `id` $((1+1))",
    "a/b~c~0~1/../..",
    "metadata.labels[x][0].y",
    "'unclosed \"quote",
    "\\" * 99,
    "((((((((((((((((((((",
    "(a+)+$" + "a" * 40,
    "* " * 200,
    "bash -c 'bash -c \"bash -c true\"'",
    "for i in 1 2 3; do torchrun train.py --output_dir=/tmp/$i; done",
    "cat <<EOF\ntorchrun train.py\nEOF\n",
    "torchrun --nproc-per-node=8 train.py --output_dir=s3://b/x",
    "--output_dir=/tmp/out",
    "python -m vllm.entrypoints.openai.api_server",
    "s3://bucket/run",
    "/ckpt",
    "../../etc/passwd",
    "nvidia.com/gpu",
    "training",
    "inference",
    "training-large",
    "required",
    "Exists",
    "NoSchedule",
    "OnFailure",
    "system-node-critical",
    "<script>alert(1)</script>",
    "2026-13-45T99:99:99Z",
)
NUMBERS: tuple[Any, ...] = (0, 1, -1, 2, 8, 300, 2**31 - 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 0.5, -0.0, 1e300, 5e-324)
# Numbers that a JSON text can hold and Python's cannot write: put into the body as they stand.
RAW_NUMBERS = (b"1e400", b"-1e400", b"123456789012345678901234567890", b"1E-4000", b"-0", b"0.1e1", b"18446744073709551615")
RAW_MARK = "raw number "
KEYS = (
    "workload.ai/type",
    "workload.ai/framework",
    "workload.ai/checkpoint",
    "workload.ai/checkpoint-uri",
    "workload.ai/injected",
    "workload.ai/injected-labels",
    "kueue.x-k8s.io/queue-name",
    "kueue.x-k8s.io/priority-class",
    "kai.scheduler/queue",
    "scheduling.volcano.sh/queue-name",
    "scheduling.k8s.io/group-name",
    "gpu-fraction",
    "nvidia.com/gpu",
    "nvidia.com/mig-1g.10gb",
    "google.com/tpu",
    "a~b/c",
    "",
    "\x1b[31m",
    "[0]",
    "x" * 300,
)


def anything(rng: Random, room: int = 12) -> Any:
    """A value of any type; lists and mappings nest while there is ``room``."""
    chosen = rng.random()
    if chosen < 0.30:
        return rng.choice(TEXTS)
    if chosen < 0.48:
        return rng.choice(NUMBERS)
    if chosen < 0.50:
        return f"{RAW_MARK}{rng.randrange(len(RAW_NUMBERS))}"
    if chosen < 0.68 or room <= 0:
        return rng.choice((None, True, False, [], {}))
    count = rng.randrange(1, 4)
    if chosen < 0.84:
        return [anything(rng, room // 2 - 1) for _ in range(count)]
    return {rng.choice(KEYS): anything(rng, room // 2 - 1) for _ in range(count)}


def deep(rng: Random) -> Any:
    """Nested as far as a reader goes, and a little farther."""
    depth = rng.choice((20, 120, 240, 260, 700, 960, 990, 1005, 1100))
    value: Any = rng.choice(({}, [], "x", None))
    for level in range(depth):
        value = [value] if level % 3 else {rng.choice(("a", "spec", "template")): value}
    return value


def many(rng: Random, member: Any) -> list[Any]:
    """A list as long as nobody writes one."""
    return [member] * rng.choice((30, 200, 1000))


def with_raw_numbers(body: bytes) -> bytes:
    """The body, its marks of raw numbers made numbers."""
    if RAW_MARK.encode() not in body:
        return body
    for index, number in enumerate(RAW_NUMBERS):
        body = body.replace(orjson.dumps(f"{RAW_MARK}{index}"), number)
    return body
