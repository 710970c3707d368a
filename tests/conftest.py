"""What several tests share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def require_tool(*names: str) -> str:
    """Return the path of the first of these programs that is here, or skip the test.

    A user's machine may lack it. Where REQUIRE_TOOLS=1 says that it was
    installed for the tests, its absence fails the test instead.
    """
    for name in names:
        if path := shutil.which(name):
            return path
    reason = f"needs {' or '.join(names)}, which is not installed"
    if os.environ.get("REQUIRE_TOOLS") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test say what it needs: ``@pytest.mark.tool("chromium", "google-chrome")``."""
    for mark in item.iter_markers("tool"):
        require_tool(*mark.args)


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def judges():
    """Return a function that grades many sources, two at a time, and returns their reports."""
    from grader.fresh import FreshJudge

    pool = [FreshJudge() for _ in range(2)]  # this process holds torch and much else
    for judge in pool:
        judge.start()

    def grade_all(sources, exercise="cube", seed=None):
        def share(judge, mine):
            return [judge.grade(source, exercise, seed) for source in mine]

        with ThreadPoolExecutor(len(pool)) as threads:
            parts = [sources[i :: len(pool)] for i in range(len(pool))]
            done = list(threads.map(share, pool, parts))
        reports = [None] * len(sources)
        for i, part in enumerate(done):
            reports[i :: len(pool)] = part
        return reports

    yield grade_all
    for judge in pool:
        judge.close()


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """Return a folder with a starter and a solution, as a student has it."""
    for name in ("starter", "solution"):
        (tmp_path / name).mkdir()
        shutil.copy(ROOT / name / "cube.py", tmp_path / name)
    return tmp_path


def grader(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m grader` without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
