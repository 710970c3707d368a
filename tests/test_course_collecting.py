"""From what students hand in, over nbgrader's exchange or a learning platform, to a grade."""

from __future__ import annotations

import getpass
import io
import shutil
import zipfile

import pytest
from courses import SOLUTION, STARTER, Course, environment, run


@pytest.fixture
def course(tmp_path):
    return Course.new(tmp_path / "course")


def archive(files: dict[str, bytes], year: int = 2026) -> bytes:
    """A zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as opened:
        for name, data in files.items():
            opened.writestr(zipfile.ZipInfo(name, (year, 1, 2, 3, 4, 6)), data)
    return stream.getvalue()


def download(course: Course, name: str, data: bytes) -> None:
    folder = course.root / "downloaded" / "cube" / "archive"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def test_downloads_of_canvas_and_moodle_are_graded(course):
    canvas = {
        "doejane_12345_67890_cube.py": SOLUTION,
        "roejim_LATE_222_333_cube.py": SOLUTION,
        "twice_1_10_cube.py": SOLUTION,
        "twice_1_12_cube-2.py": SOLUTION,
        "twice_1_11_cube-1.py": STARTER,
        "other_2_20_my_solution.py": SOLUTION,
        "zipped_3_30_cube.zip": archive({"work/cube.py": SOLUTION, "__MACOSX/._cube.py": b"?"}),
        "broken_4_40_cube.zip": b"PK\x03\x04 and no more",
        "none_5_50_essay.pdf": b"%PDF",
        "both_6_60_cube.ipynb": b"not a notebook",
        "both_6_61_cube.py": SOLUTION,
        "readme.txt": b"whose is this?",
    }
    moodle = {
        "Zoë de Boer_77_assignsubmission_file_/cube.py": SOLUTION,
        "Max Müller_78_assignsubmission_file/sub/cube.py": STARTER,
        "Ann Lee_79_assignsubmission_file_cube.py": SOLUTION,
        "Tim Text_80_assignsubmission_onlinetext/onlinetext.html": b"<p>hello</p>",
        "../../evil_81_assignsubmission_file_/cube.py": SOLUTION,
    }
    download(course, "submissions.zip", archive(canvas))
    download(course, "cube-Submissions.zip", archive(moodle))
    assert course.run("zip_collect", "cube") == 0
    assert course.run("autograde", "cube") == 0
    none = ["broken_4", "none_5", "Tim_Text_80"]
    right = ["doejane_12345", "roejim_222", "twice_1", "other_2", "zipped_3", "both_6"]
    right += ["Zoë_de_Boer_77", "Ann_Lee_79", "evil_81"]
    expected = dict.fromkeys(none, 0) | dict.fromkeys(right, 10) | {"Max_Müller_78": 2}
    assert course.scores() == expected


def test_a_download_that_was_unpacked_by_hand(course):
    folder = course.root / "downloaded" / "cube" / "archive" / "Jo Po_7_assignsubmission_file_"
    folder.mkdir(parents=True)
    (folder / "cube.py").write_bytes(SOLUTION)
    download(course, "poe_8_9_cube.py", STARTER)
    assert course.run("zip_collect", "cube") == 0
    assert course.run("autograde", "cube") == 0
    assert course.scores() == {"Jo_Po_7": 10, "poe_8": 2}


def test_a_newer_download_is_graded_even_if_it_bears_an_old_time(course):
    download(course, "all.zip", archive({"poe_8_9_cube.py": STARTER}))
    assert course.run("zip_collect", "cube") == 0
    assert course.run("autograde", "cube") == 0
    download(course, "all.zip", archive({"poe_8_9_cube.py": SOLUTION}, year=1999))
    assert course.run("zip_collect", "cube", "--force") == 0
    assert course.run("autograde", "cube") == 0
    assert course.scores() == {"poe_8": 10}


def test_through_the_exchange_and_back(course, tmp_path):
    exchange, student = tmp_path / "exchange", tmp_path / "student"
    me = getpass.getuser()
    student.mkdir()
    config = f"c = get_config()\nc.Exchange.root = {str(exchange)!r}\n"
    config += "c.CourseDirectory.course_id = 'cube'\n"
    (student / "nbgrader_config.py").write_text(config)
    with (course.root / "nbgrader_config.py").open("a") as file:
        file.write(config)
    with environment(JUPYTER_DATA_DIR=str(tmp_path / "data")):
        assert course.run("release_assignment", "cube") == 0
        assert run(student, "fetch_assignment", "cube") == 0
        (student / "cube" / "cube.ipynb").write_text("spoilt")
        (student / "cube" / "cube.py").write_bytes(SOLUTION)
        assert run(student, "submit", "cube") == 0
        # Somebody hands in a link to what only a teacher can read.
        inbound = exchange / "cube" / "inbound"
        thief = inbound / "thief+cube+2026-01-01 00:00:00 UTC+x"
        shutil.copytree(next(inbound.iterdir()), thief)
        (thief / "cube.py").chmod(0o644)
        thief.chmod(0o755)
        (thief / "cube.py").unlink()
        (thief / "cube.py").symlink_to(student / "cube" / "cube.py")
        assert course.run("collect", "cube") == 0
        assert course.run("autograde", "cube") == 0
        assert course.scores() == {me: 10, "thief": 0}
        assert course.run("generate_feedback", "cube") == 0
        assert course.run("release_feedback", "cube") == 0
        assert run(student, "fetch_feedback", "cube") == 0
        (page,) = student.rglob("cube.html")
        assert "PASS  10 of 10" in page.read_text("utf-8")
