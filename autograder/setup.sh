#!/bin/sh
# Gradescope runs this once, as it builds the image: Python, bubblewrap, what grading needs.
set -eu
apt-get update
apt-get install -y --no-install-recommends python3 python3-venv bubblewrap
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install --no-cache-dir \
    -c /autograder/source/constraints.txt -r /autograder/source/requirements.txt
