"""A course with nbgrader: the classes that `notebooks/nbgrader_config.py` names.

Each stands in an option that nbgrader itself offers, so the `nbgrader` commands,
formgrader and the make targets do the same. Needs the extra `instructor`.
"""
