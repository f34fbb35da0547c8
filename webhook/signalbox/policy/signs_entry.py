"""What all entries of a ``WorkloadSigns`` document have."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from signalbox.workload.vocabulary import name_words

Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[Name], Field(min_length=1)]


def _one_word(name: str) -> str:
    if len(name_words(name)) != 1:
        raise ValueError(f"{name!r} is never met: names are taken apart into words of letters or digits; write one of them")
    return name


SingleWords = Annotated[list[Annotated[Name, AfterValidator(_one_word)]], Field(min_length=1)]


class Strict(BaseModel):
    """A part of a document: what it does not know is a mistake, and so is a number in quotes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Entry(Strict):
    """``reason`` says, for any reader, why the names below it mean what they are taken for."""

    reason: Name


class NamesEntry(Entry):
    """Names with one meaning; those of ``spot.resources`` are globs."""

    names: Names
