"""Who sent what: every form of submissions, and zips that mean harm."""

from __future__ import annotations

import os
import stat
import struct
import zipfile

import pytest

from grader.classroom.submissions import SubmissionsError, find
from grader.source import MAX_BYTES


def make(place, files):
    """Make a folder, or a zip, of these names and texts."""
    if place.suffix == ".zip":
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
    else:
        for name, text in files.items():
            path = place / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text(text, "utf-8")
    return place


def seen(place):
    """Return {student: text, or the reason why there is none} and the unassigned names."""
    found = find(place, "cube")
    texts = {}
    for submission in found.submissions:
        source = submission.read()
        texts[submission.student] = source.data.decode() or source.unreadable
    return texts, [name for name, _ in found.unassigned]


@pytest.mark.parametrize("kind", ["folder", "a.zip"])
@pytest.mark.parametrize(
    ("files", "students", "others"),
    [
        ({"ann.py": "a", "bob.py": "b", "roster.csv": ""}, {"ann": "a", "bob": "b"}, 1),
        ({"ann/cube.py": "a", "bob/cube.py": "b"}, {"ann": "a", "bob": "b"}, 0),
        ({"ann/cube/cube.py": "a", "bob/cube/cube.py": "b"}, {"ann": "a", "bob": "b"}, 0),
        (
            {"ann/cube.py": "a", "ann/notes.txt": "", "ann/try.py": "t", "bob/cube.py": "b"},
            {"ann": "a", "bob": "b"},
            2,
        ),
        ({"ann/my cube.py": "a", "bob/cube (1).py": "b"}, {"ann": "a", "bob": "b"}, 0),
        (
            {
                "lopezana_12345_67890_cube-1.py": "old",
                "lopezana_12345_67891_cube-2.py": "new",
                "wu_LATE_23456_67892_cube.py": "w",
            },
            {"lopezana_12345": "new", "wu_23456": "w"},
            1,
        ),
        (
            {
                "Ana López_12345_assignsubmission_file_/cube.py": "a",
                "Bo Wu_23456_assignsubmission_file/cube.py": "b",
            },
            {"Ana López_12345": "a", "Bo Wu_23456": "b"},
            0,
        ),
        (
            {"ann/cube.py": "a", "__MACOSX/ann/._cube.py": "x", "ann/__pycache__/cube.pyc": ""},
            {"ann": "a"},
            0,
        ),
    ],
)
def test_forms(tmp_path, kind, files, students, others):
    texts, unassigned = seen(make(tmp_path / kind, files))
    assert texts == students
    assert len(unassigned) == others


def test_a_zip_with_one_folder_around_it(tmp_path):
    files = {"assignment_1_export/submission_5/cube.py": "a"}
    files["assignment_1_export/submission_metadata.yml"] = "x"
    texts, unassigned = seen(make(tmp_path / "a.zip", files))
    assert texts == {"submission_5": "a"}
    assert unassigned == ["submission_metadata.yml"]
    flat = {"hand-in/ann.py": "a", "hand-in/bob.py": "b"}
    assert seen(make(tmp_path / "b.zip", flat))[0] == {"ann": "a", "bob": "b"}
    nbgrader = {"submitted/ann/cube/cube.py": "a", "submitted/bob/cube/cube.py": "b"}
    assert seen(make(tmp_path / "c.zip", nbgrader))[0] == {"ann": "a", "bob": "b"}


@pytest.mark.parametrize("kind", ["folder", "a.zip"])
def test_nobody_is_dropped(tmp_path, kind):
    """A folder without the file, an empty one, two candidates: a row with the reason."""
    files = {"ann/cube.ipynb": "{}", "bob/": "", "cy/a.py": "1", "cy/b.py": "2", "di/cube.py": "d"}
    texts, unassigned = seen(make(tmp_path / kind, files))
    assert sorted(texts) == ["ann", "bob", "cy", "di"]
    assert "cube.ipynb" in texts["ann"]
    assert "empty" in texts["bob"]
    assert "a.py, b.py" in texts["cy"]
    assert len(unassigned) == 3


def test_same_name_in_two_sections(tmp_path):
    files = {"monday/ann/cube.py": "1", "friday/ann/cube.py": "2"}
    assert seen(make(tmp_path / "folder", files))[0] == {"monday/ann": "1", "friday/ann": "2"}


def test_names_that_lead_out_of_a_zip(tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("secret", "utf-8")
    files = {
        "../evil.py": "x",
        "/etc/evil.py": "x",
        "C:\\evil.py": "x",
        "ann\\..\\..\\evil.py": "x",
        "bob/cube.py": "b",
        "ok/../../../x.py": "x",
    }
    before = sorted(tmp_path.iterdir())
    texts, unassigned = seen(make(tmp_path / "a.zip", files))
    assert texts == {"bob": "b"}
    assert len(unassigned) == 5
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "a.zip"])


def test_links_are_not_followed(tmp_path):
    secret = tmp_path / "secret.py"
    secret.write_text("secret", "utf-8")
    place = make(tmp_path / "folder", {"ann/cube.py": "a", "cy/other.txt": ""})
    (place / "bob").mkdir()
    (place / "bob" / "cube.py").symlink_to(secret)
    (place / "dir").symlink_to(tmp_path)
    os.mkfifo(place / "cy" / "cube.py")
    texts, _ = seen(place)
    assert texts["ann"] == "a"
    assert "link" in texts["bob"]
    assert "link" in texts["cy"]
    assert "secret" not in str(texts)
    info = zipfile.ZipInfo("bob/cube.py")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, str(secret))
        archive.writestr("ann/cube.py", "a")
    texts, _ = seen(tmp_path / "a.zip")
    assert texts == {"ann": "a", "bob": "This is a link or a device, no file."}


def test_a_zip_bomb_is_read_no_further_than_a_file_may_be(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ann/cube.py", b"#" * (200 << 20))
        archive.writestr("bob/cube.py", "b")
    ann, bob = find(tmp_path / "a.zip", "cube").submissions
    assert len(ann.read().data) == MAX_BYTES + 1
    assert ann.read().trouble.mistake == "file-too-large"
    assert bob.read().data == b"b"


def test_broken_entries_cost_only_themselves(tmp_path):
    """A wrong checksum, a lying size, an encrypted entry."""
    place = make(tmp_path / "a.zip", {"ann/cube.py": "aaaaaaaa", "bob/cube.py": "b"})
    data = place.read_bytes().replace(b"aaaaaaaa", b"aaaabaaa", 1)
    place.write_bytes(data)
    texts, _ = seen(place)
    assert "can't be read" in texts["ann"]
    assert texts["bob"] == "b"
    flagged = bytearray(data)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = flagged.index(mark) + offset
        flagged[at : at + 2] = struct.pack("<H", 1)
    place.write_bytes(bytes(flagged))
    assert "can't be read" in seen(place)[0]["ann"]


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06", b"not a zip"])
def test_no_submissions_at_all(tmp_path, content):
    place = tmp_path / "a.zip"
    place.write_bytes(content)
    with pytest.raises(SubmissionsError):
        find(place, "cube")
    with pytest.raises(SubmissionsError):
        find(tmp_path / "missing", "cube")
