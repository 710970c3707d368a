"""`grader doctor`."""

from __future__ import annotations

import sys

import click

from grader import doctor
from grader.render.working import working


@click.command("doctor")
def command() -> None:
    """Say whether this machine is fit to grade, and how to mend what is missing."""
    with working("examining"):
        findings = list(doctor.examine())
    for finding in findings:
        click.echo(f"{finding.state:8} {finding.what}: {finding.words}")
        if finding.remedy:
            click.echo(f"{'':8} {finding.remedy}")
    if any(finding.state == "MISSING" for finding in findings):
        sys.exit(2)
