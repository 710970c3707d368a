"""The README shows what happens. To write its transcripts anew: python tests/test_readme.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

#: Each transcript, by the word in its marker: the command and its exit status.
TRANSCRIPTS = {
    "fail": ("python -m grader grade starter/cube.py --seed 1", 1),
    "pass": ("python -m grader grade solution/cube.py --seed 1", 0),
}
BLOCK = r"<!-- transcript: {} -->\n\n```console\n(.*?)```\n"

#: What differs from one machine to the next: isolation, versions, time.
OWN = re.compile(r"^Isolation: .*?(?=^Again: )|^python \d.*", re.MULTILINE | re.DOTALL)


def transcript(name: str) -> str:
    """Run the command and return what a reader would see."""
    command, status = TRANSCRIPTS[name]
    run = subprocess.run(
        [sys.executable, *command.split()[1:]],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "1"},
        timeout=120,
        check=False,
    )
    assert run.returncode == status, run.stderr
    return f"$ {command}\n{run.stdout}"


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_a_transcript_is_true(name):
    shown = re.search(BLOCK.format(name), README.read_text("utf-8"), re.DOTALL)
    assert shown, f"README.md has no block after <!-- transcript: {name} -->"
    assert OWN.sub("", shown[1]) == OWN.sub("", transcript(name))


def test_every_target_that_the_readme_names_exists():
    targets = re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    named = re.findall(
        r"(?:`|^)(?:\w+=\S+ )?make ([a-z]+)", README.read_text("utf-8"), re.MULTILINE
    )
    assert named
    assert set(named) <= set(targets)


def test_every_file_that_the_readme_links_to_exists():
    links = re.findall(r"\]\(([^):#]+)\)", README.read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []


def write() -> None:
    """Put the present transcripts into the README."""
    text = README.read_text("utf-8")
    for name in TRANSCRIPTS:
        block = f"<!-- transcript: {name} -->\n\n```console\n{transcript(name)}```\n"
        text = re.sub(BLOCK.format(name), lambda _, block=block: block, text, flags=re.DOTALL)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    write()
