"""Collecting from nbgrader's exchange: a submission arrives complete, if only with a cube.py."""

from __future__ import annotations

from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect

from grader.course.layout import Layout, links, prepare


class Collect(ExchangeCollect):
    """nbgrader's collect; then what a submission lacks is laid beside it."""

    def do_copy(self, src: str, dest: str, log: object = None) -> None:
        """Copy a submission, but nothing that it merely points to."""
        if Path(src).is_symlink() or links(Path(src)):
            self.log.warning("Collected as an empty submission, since it holds links: %s", src)
            Path(dest).mkdir(parents=True)
        else:
            super().do_copy(src, dest, log)

    def copy_files(self) -> None:
        """Collect, then complete what was collected."""
        super().copy_files()
        layout = Layout(self.coursedir, self.coursedir.assignment_id)
        for student in layout.students():
            prepare(layout, student)
