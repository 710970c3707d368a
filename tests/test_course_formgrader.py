"""Formgrader, nbgrader's pages for teachers: it does what the commands do."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from courses import SOLUTION, STARTER, Course


class Server:
    """A Jupyter server in a course's folder, on the loopback interface only."""

    def __init__(self, course: Course, home: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/formgrader"
        (home / "nothing").mkdir(parents=True)
        folders = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        self.log = (home / "log").open("w+")
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter_server", "--allow-root", "--no-browser"),
                *("--ServerApp.ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"),
                *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"),
            ],
            cwd=course.root,
            env=os.environ
            | {name: str(home / name) for name in folders}
            | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])},
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )

    def ask(self, path: str, *, post: bool = False) -> str:
        """Return the answer to a request."""
        data = b"{}" if post else None
        with urllib.request.urlopen(self.url + path, data, timeout=60) as answer:  # noqa: S310
            return str(answer.read().decode())

    def wait(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(urllib.error.URLError, ConnectionError):
                self.ask("/api/status")
                return
            time.sleep(0.1)
        self.log.seek(0)
        pytest.fail(f"no answer: {self.log.read()}")

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


@pytest.fixture
def course(tmp_path):
    return Course.new(tmp_path / "course")


@pytest.fixture
def server(course, tmp_path):
    server = Server(course, tmp_path / "home")
    try:
        server.wait()
        yield server
    finally:
        server.close()


def test_formgrader_grades_as_the_commands_do(course, server):
    course.hand_in("ann", {"cube.py": STARTER, "cube.ipynb": b"spoilt"})
    folder = course.hand_in("bob", {"cube.py": SOLUTION, "cube.ipynb": course.released()})
    (folder / "torch.py").write_text("raise SystemExit")
    for student in ("ann", "bob"):
        answer = json.loads(server.ask(f"/api/submission/cube/{student}/autograde", post=True))
        assert answer["success"], answer
    assert course.scores() == {"ann": 2, "bob": 10}
    assert course.report("ann")["diagnoses"][0]["mistake"] == "missing-factor-3"
    answer = json.loads(server.ask("/api/assignment/cube/generate_feedback", post=True))
    assert answer["success"], answer
    assert "FAIL  2 of 10" in course.feedback("ann").read_text("utf-8")
    (shown,) = [s for s in json.loads(server.ask("/api/submissions/cube")) if s["student"] == "ann"]
    (notebook,) = json.loads(server.ask("/api/submitted_notebooks/cube/cube"))[:1]
    assert shown["score"] == 2
    page = server.ask(f"/submissions/{notebook['id']}/")
    assert "cube.py</strong> as it was handed in" in page
