"""What the tests of a class share: running one, and reading what it left."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def start(submissions: Path, out: Path, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Start `grader class` as a teacher would; stderr can be read from it."""
    return subprocess.Popen(
        [sys.executable, "-m", "grader", "class", submissions, "--out", out, *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def grade(submissions: Path, out: Path, *options: str, **environment: str) -> tuple[int, str]:
    """Run `grader class`; return its exit status and what it said on stderr."""
    running = start(submissions, out, *options, **environment)
    said = running.communicate()[1]
    return running.returncode, said


def rows(out: Path) -> dict[str, dict[str, str]]:
    """The rows of grades.csv by student."""
    with (out / "grades.csv").open(encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


def reports(out: Path) -> dict[str, dict[str, object]]:
    """The reports of results.jsonl by student."""
    lines = (out / "results.jsonl").read_text("utf-8").splitlines()
    return {report["student"]: report for report in map(json.loads, lines)}


def snapshot(out: Path) -> dict[str, str]:
    """All files of a run, without what differs from run to run: how long things took."""
    import re

    texts = {}
    for path in sorted(p for p in out.rglob("*") if p.is_file()):
        text = path.read_text("utf-8")
        text = re.sub(r'"seconds": [\d.]+|"execution_time": [\d.]+', "", text)
        text = re.sub(r"(?m)\b[\d.]+ s\b|,\d+\.\d+,(?=pass|fail)", "", text)
        texts[str(path.relative_to(out))] = text
    return texts
