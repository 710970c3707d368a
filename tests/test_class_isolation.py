"""Attacks that are really tried under bubblewrap, among honest submissions."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.tool("bwrap")

#: What an attack that worked would print.
LEAK = "LEAK"
#: How many right ones are among the attacks.
HONEST = 200
SECRET = "token-4711-of-the-teacher"  # noqa: S105 - what attacks look for

ATTACKS = {
    "reads_solution": """
    for name in ("solution/cube.py", "grader/exercises/cube.py", "README.md"):
        place = ROOT + "/" + name
        try:
            print("LEAK", open(place).read()[:80])
        except OSError:
            pass
    try:
        from grader.exercises import EXERCISES
        print("LEAK", EXERCISES)
    except ImportError:
        pass
    """,
    "reads_passwd": """
    import pwd
    for place in ("/etc/passwd", "/etc/shadow", "/etc/hostname", "/root/.bashrc"):
        try:
            print("LEAK", open(place).read()[:80])
        except OSError:
            pass
    if pwd.getpwall():
        print("LEAK", pwd.getpwall())
    """,
    "reads_environment": """
    import glob, os
    texts = [str(dict(os.environ)).encode()]
    for place in glob.glob("/proc/*/environ") + glob.glob("/proc/*/cmdline"):
        try:
            texts.append(open(place, "rb").read())
        except OSError:
            pass
    if any(SECRET.encode() in text for text in texts):
        print("LEAK", "environment")
    """,
    "reads_others": """
    import os
    for folder, folders, files in os.walk("/"):
        if folder.startswith(("/proc", "/sys", "/usr")) or "site-packages" in folder:
            folders.clear()
        if any("submission" in name or name.startswith(("honest", "reads_")) for name in files):
            print("LEAK", folder, files[:3])
    for place in os.listdir("/proc"):
        try:
            print("LEAK", os.listdir(f"/proc/{place}/root" + SUBMISSIONS))
        except OSError:
            pass
    """,
    "uses_network": """
    import socket
    for address in (("127.0.0.1", PORT), ("192.0.2.1", 80)):
        try:
            socket.create_connection(address, 0.5)
            print("LEAK", address)
        except OSError:
            pass
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect("\\0grader-test-%d" % PORT)
        print("LEAK", "unix")
    except OSError:
        pass
    """,
    "kills_grader": """
    import os, signal
    for pid in {os.getppid(), 1, -1, PID, *range(2, 400)} - {0, os.getpid()}:
        try:
            os.kill(pid, signal.SIGKILL)
            print("LEAK killed", pid)
        except OSError:
            pass
    """,
    "writes_system": """
    import os, torch
    for place in (torch.__file__, ROOT + "/x", "/usr/x", "/kit/grader/student/server.py", "/x"):
        try:
            open(place, "a").write("# was here")
            print("LEAK wrote", place)
        except OSError:
            pass
    """,
    "pokes_memory": """
    import os
    for pid in os.listdir("/proc"):
        if pid.isdigit() and int(pid) != os.getpid() and os.readlink("/proc/self") != pid:
            try:
                open(f"/proc/{pid}/mem", "r+b").close()
                print("LEAK memory of", pid)
            except OSError:
                pass
    """,
    "mounts": """
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    for what in (
        lambda: libc.umount2(b"/home/student", 2),
        lambda: libc.umount2(b"/", 2),
        lambda: libc.mount(b"none", b"/", None, 0x20 | 0x1000, None),
        lambda: libc.mknod(b"/home/student/disk", 0o60600, os.makedev(254, 0)),
        lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    ):
        try:
            if what() == 0:
                print("LEAK", what)
        except OSError:
            pass
    """,
    "leaves_things": """
    import os, socket, subprocess, threading, time
    for place in ("/tmp/left", "/dev/shm/left", "/home/student/left"):
        try:
            open(place, "w").write("left")
        except OSError:
            pass
    try:
        server = socket.socket()
        server.bind(("0.0.0.0", 47113))
        server.listen()
    except OSError:
        pass
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
    """,
}
HELLO = "print('hello from', __name__)\n"


def attack(root: Path, body: str, **given: object) -> str:
    """A right solution that first tries something else."""
    solution = (root / "solution/cube.py").read_text("utf-8")
    known = "\n".join(f"{name} = {value!r}" for name, value in given.items())
    lines = [line[4:] for line in body.splitlines()]
    return f"{known}\n" + "\n".join(lines) + f"\nprint('TRIED')\n{solution}"


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, root):
    """One class of attacks among honest submissions: its folder, reports, and traces."""
    place = tmp_path_factory.mktemp("attacks")
    submissions, out = place / "submissions", place / "out"
    submissions.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unix:
        port = server.getsockname()[1]
        unix.bind(f"\0grader-test-{port}")
        unix.listen()
        given = {"ROOT": str(root), "SECRET": SECRET, "PORT": port, "PID": os.getpid()}
        given["SUBMISSIONS"] = str(submissions)
        for name, body in ATTACKS.items():
            (submissions / f"{name}.py").write_text(attack(root, body, **given), "utf-8")
        for i in range(HONEST):
            text = HELLO + (root / "solution/cube.py").read_text("utf-8")
            (submissions / f"honest{i}.py").write_text(text, "utf-8")
        scratch = place / "scratch"
        scratch.mkdir()
        before = traces(scratch)
        done = subprocess.run(
            [sys.executable, "-m", "grader", "class", submissions, "--out", out, "--jobs", "2"],
            cwd=root,
            env={**os.environ, "TEACHERS_TOKEN": SECRET, "TMPDIR": str(scratch)},
            capture_output=True,
            text=True,
            check=False,
        )
        after = traces(scratch)
    reports = {}
    for line in (out / "results.jsonl").read_text("utf-8").splitlines():
        report = json.loads(line)
        reports[report["student"]] = report
    return done, out, reports, before, after


def traces(scratch: Path) -> dict[str, set[str]]:
    """What a run might leave behind."""
    processes = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
        except OSError:
            continue
        if sys.executable.encode() in words and (b"student.jail" in words or b"house" in words):
            processes.add(place.name)
    return {
        "processes": processes,
        "shared memory": set(Path("/dev/shm").glob("left*")),  # noqa: S108 - where they tried
        "temporary": {*scratch.iterdir(), *Path("/tmp").glob("left")},  # noqa: S108 - as above
        "listening": {
            line.split()[1]
            for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(f"{47113:04X}")
        },
    }


def test_all_are_graded(outcome):
    """Every file has a row, the run ends well, and the honest ones have full points."""
    done, out, _, _, _ = outcome
    assert done.returncode == 0, done.stderr
    with (out / "grades.csv").open(encoding="utf-8") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert len(rows) == len(ATTACKS) + HONEST
    for name, row in rows.items():
        if name.startswith("honest"):
            assert (row["verdict"], row["score"]) == ("pass", "10"), row


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gets_nothing(outcome, name):
    """The attack was tried to its end, and got nothing."""
    report = outcome[2][name]
    assert LEAK not in report["output"]
    assert "TRIED" in report["output"], (report["diagnoses"], report["output"])
    assert all(layer["on"] for layer in report["isolation"]), report["isolation"]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("reads_solution", "open read"),
        ("reads_passwd", "open read /etc/passwd"),
        ("reads_environment", "glob.glob"),
        ("uses_network", "socket.connect"),
        ("kills_grader", "os.kill"),
        ("writes_system", "open write"),
        ("leaves_things", "os.fork"),
    ],
)
def test_a_teacher_sees_it(outcome, name, event):
    """What was tried stands in the report's events, and on the class page as a reason to look."""
    _, out, reports, _, _ = outcome
    assert any(seen.startswith(event) for seen in reports[name]["events"]), reports[name]["events"]
    page = (out / "class.html").read_text("utf-8")
    look = page[page.index('id="look"') : page.index('id="all"')]
    assert f"reports/{name}.html" in look


def test_nothing_is_left_behind(outcome):
    """No process, no file, no socket, no shared memory."""
    *_, before, after = outcome
    assert after == before
