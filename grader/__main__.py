"""`python -m grader`."""

import sys

try:
    from grader.cli import main
except ModuleNotFoundError as error:
    sys.stderr.write(
        f"grader: {error.name} is not installed. "
        "Run make setup, or python -m pip install -e . with the Python of your choice.\n"
    )
    sys.exit(2)

if __name__ == "__main__":
    main()
