"""How a command ends: the exit codes, and the one error that every command may raise.

0 is fine, 1 says that something would be refused or a test failed, 2 that the call or its input was unusable.
"""

import click

REFUSED = 1
UNUSABLE = 2
INTERNAL = 70
INTERRUPTED = 130


class CommandError(click.ClickException):
    """A command that cannot do what it was asked for; the text is one line for the person who called it."""

    exit_code = UNUSABLE
