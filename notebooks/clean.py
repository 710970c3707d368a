"""Keep the notebooks' sources free of everything that a run or a machine leaves behind.

Usage:
    python notebooks/clean.py            clean every notebook below notebooks/source
    python notebooks/clean.py --check    change nothing; exit 1 if one isn't clean
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent / "source"

# Whatever kernel and editor were used last: the same two lines for everyone.
NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
NBGRADER_KEYS = frozenset(
    ("cell_type", "grade", "grade_id", "locked", "points", "schema_version", "solution", "task")
)


def cell_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The part of a cell's metadata that somebody wrote on purpose."""
    kept: dict[str, Any] = {}
    if "nbgrader" in metadata:
        # A checksum belongs to a released copy, not to the source.
        kept["nbgrader"] = {k: v for k, v in metadata["nbgrader"].items() if k in NBGRADER_KEYS}
    if metadata.get("jupyter", {}).get("source_hidden"):
        kept["jupyter"] = {"source_hidden": True}
    if "alt" in metadata:  # the words for a picture, which nbconvert puts into its <img>
        kept["alt"] = metadata["alt"]
    return kept


def clean(text: str) -> str:
    """The notebook in ``text``, cleaned; cell ids and sources stay as they are."""
    notebook = json.loads(text)
    cells = []
    for cell in notebook["cells"]:
        source = cell["source"]
        kept = {
            "cell_type": cell["cell_type"],
            "id": cell["id"],
            "metadata": cell_metadata(cell["metadata"]),
            # One list item a line, so that a diff shows the lines that changed.
            "source": "".join(source).splitlines(keepends=True),
        }
        if cell["cell_type"] == "code":
            kept |= {"execution_count": None, "outputs": []}
        cells.append(kept)
    cleaned = {
        "cells": cells,
        "metadata": NOTEBOOK_METADATA,
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(cleaned, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> int:
    """Clean, or with --check only say what is not clean."""
    parser = argparse.ArgumentParser(description="Clean the sources of the notebooks.")
    parser.add_argument("files", nargs="*", type=Path, help="default: all of notebooks/source")
    parser.add_argument("--check", action="store_true", help="only tell, change nothing")
    arguments = parser.parse_args()
    dirty = False
    for path in arguments.files or sorted(SOURCE.glob("*/*.ipynb")):
        before = path.read_bytes().decode("utf-8")
        after = clean(before)
        if after == before:
            continue
        dirty = True
        if arguments.check:
            print(f"{path}: not clean; run python notebooks/clean.py", file=sys.stderr)
        else:
            path.write_bytes(after.encode("utf-8"))
            print(f"{path}: cleaned")
    return int(dirty and arguments.check)


if __name__ == "__main__":
    sys.exit(main())
