"""The options that a program text declares (argparse, click, absl), with what they are given or else their default."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from signalbox.workload.call_arguments import TEXT
from signalbox.workload.vocabulary import MAX_NAME, option_name

_DEFAULT = re.compile(r"(add_argument|option)\(\s*+([^()]{1,512}+)")
_DECLARED = re.compile(r"[\"']--?([A-Za-z][\w-]*+)[\"']")
# `flags.DEFINE_string("out", "/ckpt", "where to")`
_DEFINED = re.compile(rf"DEFINE_\w++\(\s*+[\"'](\w++)[\"']\s*+,\s*+(?:default\s*+=\s*+)?{TEXT}")
_ITS_NAME = re.compile(r"(?<!\w)dest\s*+=\s*+[\"'](\w++)[\"']")
_ITS_DEFAULT = re.compile(rf"(?<!\w)default\s*+=\s*+{TEXT}")
# Who declares more options is nobody.
_MOST = 256


def declared_options(text: str, given: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """``.NAME``, as behind ``args``, of each option that a text declares, with what it is given, or else its default."""
    for flag in islice(_DEFINED.finditer(text), _MOST):
        name, double, single = flag.groups()
        yield f".{name}", given.get(option_name(name), double if double is not None else single or "")[:MAX_NAME]
    for call in islice(_DEFAULT.finditer(text), _MOST):
        by, declared = call.groups()
        names = _DECLARED.findall(declared)
        if not names:
            continue
        own, default = _ITS_NAME.search(declared), _ITS_DEFAULT.search(declared)
        value = next((given[name] for name in map(option_name, names) if name in given), None)
        if value is None and default is not None:
            value = default.group(1) if default.group(1) is not None else default.group(2)
        if value is not None:
            name = own.group(1) if own is not None else max(names, key=len).replace("-", "_")
            yield f".{name}", value[:MAX_NAME]
            if by == "option" and f"{name} = " not in text:
                # click hands it over by its bare name.
                yield name, value[:MAX_NAME]
