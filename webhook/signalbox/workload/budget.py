"""What one workload may cost to read, whatever stands in it.

A manifest is hostile text of up to some megabytes, and reading it makes more text: references are filled in, scripts
hold scripts. So everything that is read draws on one budget, and what is left when that is gone stays unread.
"""

from typing import Any

# A unit is about what one character costs that is searched through once. All of them together are a few hundredths of a
# second; the largest real manifests take a few percent of them.
TOTAL = 2 * 1024 * 1024
# Every character of a word is met by several searches, of shell text by a tokenizer, and its pieces by steps of ours.
WORD_CHARACTER = 2
SHELL_CHARACTER = 4
STEP = 64
# Program text is searched for the pieces of two vocabularies.
CODE_CHARACTER = 2
# A word is looked up by several vocabularies, a program and a variable by each judgement.
WORD = 256
MOUNT = 256
VARIABLE = 512
PROGRAM = 1024
# A call that saves: its arguments are searched for where it ends, and for a place.
SAVE_CALL = 4096


class Budget:
    """How much may still be read. ``unread`` says that something was left out for want of it, or for its depth."""

    __slots__ = ("left", "unread")

    def __init__(self, left: int = TOTAL) -> None:
        self.left = left
        self.unread = False

    def pay(self, cost: int) -> bool:
        """Whether there is enough left for a step; what there is none for stays unread, and so does all after it."""
        if cost > self.left:
            self.left = 0
            self.unread = True
            return False
        self.left -= cost
        return True

    def members(self, listed: list[Any], each: int, most: int) -> list[Any]:
        """A list as far as it may be read, at ``each`` for a member, and no further than the first ``most``."""
        count = min(len(listed), most, self.left // each)
        self.left -= count * each
        if count == len(listed):
            return listed
        self.unread = True
        return listed[:count]

    def text(self, text: str, each: int) -> str:
        """``text`` as far as it may be read, at ``each`` for a character: half of what is left is for what is in it."""
        cost = len(text) * each
        if cost * 2 > self.left:
            text = text[: self.left // (2 * each)]
            cost = len(text) * each
            self.unread = True
        self.left -= cost
        return text
