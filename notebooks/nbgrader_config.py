"""The course's configuration: nbgrader's own options, read by every `nbgrader` command.

This folder is a course root as it is. A course elsewhere (`make release
COURSE=folder`) has a short nbgrader_config.py that loads this one.
"""

from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute, GetGrades

try:
    from grader.course.cells import GradeCells
    from grader.course.collect import Collect
    from grader.course.export import CheckExporter
    from grader.course.feedback import OnlyGraded
    from grader.course.lms import LmsCollector, LmsExtractor
    from grader.course.release import AddStarter
    from grader.course.submissions import SubmissionExporter
    from grader.exercises import EXERCISES
    from grader.notebook import REPORT
except ImportError as error:  # nbgrader would go on without all this, in its own way
    message = f"{__file__}: {error}; call nbgrader from the environment of this package"
    raise SystemExit(message) from error

c = get_config()  # noqa: F821 - what reads this file defines it

c.CourseDirectory.course_id = "cube"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)
# The grader's report lies beside a graded notebook; students neither bring nor get one.
c.CourseDirectory.ignore = [*CourseDirectory.ignore.default(), REPORT]

# The release holds the starter beside the notebook.
c.GenerateAssignment.preprocessors = [
    *GenerateAssignment.preprocessors.default(),
    AddStarter,
]

# A lone cube.py is a submission, from the exchange or from a learning platform.
c.ExchangeFactory.collect = Collect
c.ZipCollectApp.extractor_plugin = LmsExtractor
c.ZipCollectApp.collector_plugin = LmsCollector

# The student's cube.py is graded, in the release's notebook. GradeCells.kernel = True
# runs that notebook in a kernel; the default asks the grader without one.
c.Autograde.exporter_class = SubmissionExporter
c.Autograde.autograde_preprocessors = [
    GradeCells if each is Execute else each for each in Autograde.autograde_preprocessors.default()
]
# Should a file of a student's name lie in source/, the student's is kept.
c.Autograde.exclude_overwriting = {name: [f"{name}.py"] for name in EXERCISES}

# Feedback shows the student's file, the graded cells with their reports, the points.
c.GenerateFeedback.preprocessors = [GetGrades, OnlyGraded, CSSHTMLHeaderPreprocessor]

# grades.csv, and grades-checks.csv with a column for each check.
c.ExportApp.plugin_class = CheckExporter
