"""The command line: which commands there are, and the exit status that they share.

Exit status: 0 passed; 1 the submission failed, whatever its reason; 2 usage,
environment or a fault of the grader itself.
"""

from __future__ import annotations

import importlib
import keyword
import sys
from typing import NoReturn

import click

#: Each command's place and its line in `grader --help`; imported when it is called.
COMMANDS = {
    "grade": "Grade one file and explain the verdict.",
    "watch": "Grade a file now and on every save.",
    "hint": "Give the next hint on what is wrong.",
    "plot": "Draw your gradient and the true one over x.",
    "reset": "Put the starter back, and keep your file.",
    "solution": "Show the solution, once your file passes.",
    "doctor": "Say whether this machine is fit to grade.",
    "class": "Grade a whole class, with everybody's code shut in.",
    "gradescope": "Grade one submission as Gradescope's autograder.",
    "course-new": "Make a folder the root of a course with nbgrader.",
    "course-prepare": "Complete submissions, so that nbgrader skips nobody.",
    "course-check": "Look for what would go wrong in a course with nbgrader.",
}


class _Commands(click.Group):
    """A group whose commands are modules of `grader.commands`, loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_") + ("_" if keyword.iskeyword(cmd_name) else "")
        module = importlib.import_module("grader.commands." + name)
        command = module.command
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Grade the exercise on writing your own backward pass."""


def fail(message: str) -> NoReturn:
    """End with status 2 and one line on stderr."""
    click.echo(f"grader: {message}", err=True)
    sys.exit(2)
