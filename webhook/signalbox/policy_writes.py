"""The answer to a write of a policy object: refused, in lint's words, if it would bring a fault that was not there before.

Judged is the whole set as it would be afterwards, so that a policy is not deleted from under an exception. What was wrong
before is nobody's fault now: a set with faults can be mended one object at a time.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from signalbox.configuration import SetupFiles, load_setup_files
from signalbox.manifests import PathBytes
from signalbox.message import LIMIT, WARNING_LIMIT
from signalbox.plain_text import clean
from signalbox.policy.documents import API_VERSION
from signalbox.policy.problem import PolicyProblem
from signalbox.policy.resources import GROUP, PLURALS
from signalbox.policy_objects import in_order, object_bytes, object_title
from signalbox.review import JsonObject, Request, Response

_INDEX = re.compile(r"\[\d+\]")
_GUESS = re.compile(r", did you mean .*| \((?:known: |the nearest of ).*")
_MOST_WARNINGS = 10


def judge_policy_write(files: SetupFiles, asked: Request, now: datetime) -> Response:
    """The answer to CREATE, UPDATE or DELETE of a policy object, beside the files and objects that there are."""
    if asked.group != GROUP or asked.kind not in PLURALS:
        return Response(asked.uid)
    new, old = _named(asked.object, asked), _named(asked.old_object, asked)
    obj = old if asked.operation == "DELETE" else new
    if obj is None:
        return Response(asked.uid)
    title = object_title(obj)
    others = tuple(one for one in files.objects if one.path != title)
    # The server may not have heard yet of what is changed here: the API server says what was there.
    before = _problems(files, others, old, now)
    after = _problems(files, others, None if asked.operation == "DELETE" else new, now)
    brought = _brought(before, after)
    errors = [problem for problem in brought if problem.severity == "error"]
    warnings = tuple(clean(problem, WARNING_LIMIT) for problem in brought if problem.severity == "warning")[:_MOST_WARNINGS]
    if not errors:
        return Response(asked.uid, warnings=warnings)
    return Response(asked.uid, allowed=False, message=_refusal(title, errors, asked))


def _named(obj: JsonObject | None, asked: Request) -> JsonObject | None:
    return None if obj is None else {**obj, "apiVersion": API_VERSION, "kind": asked.kind}


def _problems(
    files: SetupFiles, others: tuple[PathBytes, ...], obj: JsonObject | None, now: datetime
) -> tuple[PolicyProblem, ...]:
    objects = others if obj is None else in_order((*others, object_bytes(obj)))
    # What is known of the cluster plays no part in whether a policy can be read.
    return load_setup_files(replace(files, objects=objects, cluster=None), now=now).problems


def _brought(before: Iterable[PolicyProblem], after: Iterable[PolicyProblem]) -> tuple[PolicyProblem, ...]:
    """Those of ``after`` that were not there before.

    A problem may change its place in a list, and what lint thinks is meant, without being another.
    """
    known = Counter(map(_identity, before))
    brought = []
    for problem in after:
        identity = _identity(problem)
        if known[identity]:
            known[identity] -= 1
        else:
            brought.append(problem)
    return tuple(brought)


def _identity(problem: PolicyProblem) -> tuple[str, str, str]:
    return problem.file, _INDEX.sub("", problem.path), _INDEX.sub("", _GUESS.sub("", problem.message))


def _refusal(title: str, errors: list[PolicyProblem], asked: Request) -> str:
    count = f"{len(errors)} problem{'' if len(errors) == 1 else 's'}"
    about = f"{count} with {title}" if asked.operation != "DELETE" else f"without {title} there would be {count}"
    lines = [clean(about), ""]
    room = LIMIT - len(lines[0].encode()) - 80
    for index, problem in enumerate(errors):
        # What another document names was right until now: there is nothing else to be meant.
        shown = problem if problem.file == title else replace(problem, message=_GUESS.sub("", problem.message))
        line = f"  {shown}"
        room -= len(line.encode()) + 1
        if room < 0:
            lines.append(f"  and {len(errors) - index} more, which signalbox lint shows")
            break
        lines.append(line)
    return "\n".join(lines)
