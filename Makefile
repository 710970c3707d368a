# `make` alone lists the targets. Everything that is installed goes into .venv.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/ready

# quoted: a value of the command line as one word for the shell, whatever is in it.
quoted = '$(subst ','\'',$(value $(1)))'

# file: FILE as an argument, where it is given.
file = $(if $(value FILE),-- $(call quoted,FILE))

.DEFAULT_GOAL := help
.PHONY: help setup grade watch hint plot reset solution doctor test lint bench clean
.DELETE_ON_ERROR:

help: ## List the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) \
	| while IFS='	' read -r name what; do printf '  make %-14s %s\n' "$$name" "$$what"; done

setup: $(READY)-grade ## Make .venv and install what grading needs
	@echo "Ready: make grade"

grade: $(READY)-grade ## Grade starter/cube.py, or FILE=path (ARGS=--verbose)
	@$(BIN)/python -m grader grade $(ARGS) $(file)

watch: $(READY)-loop ## Grade now and on every save; keys show hints and changes
	@$(BIN)/python -m grader watch $(ARGS) $(file)

hint: $(READY)-grade ## Give the next hint on what is wrong (ARGS=--again)
	@$(BIN)/python -m grader hint $(ARGS) $(file)

plot: $(READY)-loop ## Draw your gradient and the true one (ARGS="--out p.svg")
	@$(BIN)/python -m grader plot $(ARGS) $(file)

reset: $(READY)-grade ## Put the starter back, keep your file (FORCE=1: unasked)
	@$(BIN)/python -m grader reset $(if $(FORCE),--force) $(ARGS) $(file)

solution: $(READY)-grade ## Show the solution, once your file passes (ARGS=--give-up)
	@$(BIN)/python -m grader solution $(ARGS) $(file)

doctor: ## Say whether this machine is fit, and how to mend it
	@$(firstword $(wildcard $(BIN)/python) $(PYTHON)) -m grader doctor $(ARGS)

test: $(READY)-test $(READY)-instructor lint ## Run all tests of the kit (some: ARGS="-k render")
	@$(BIN)/python -m pytest $(ARGS)

lint: $(READY)-test ## Check style and types
	@$(BIN)/python -m ruff check
	@$(BIN)/python -m ruff format --check
	@$(BIN)/python -m mypy

bench: $(READY)-loop ## Measure a grade and a watched save
	@$(BIN)/python tests/bench/grade.py $(ARGS)
	@$(BIN)/python tests/bench/watch.py

.PHONY: lab release collect zip-collect autograde feedback export bench-nbgrader

lab: $(READY)-instructor ## Open the notebook in JupyterLab, on a copy in lab/
	@mkdir -p lab; for file in notebooks/source/cube/* starter/cube.py; do \
	  [ -e "lab/$${file##*/}" ] || cp "$$file" lab/; done
	@bin=$$(cd $(BIN) && pwd) && cd lab && PATH="$$bin:$$PATH" jupyter lab cube.ipynb $(ARGS)

# ------------------------------------------------------ a course with nbgrader
# COURSE is its folder, EXCHANGE the folder (a full path) through which files go
# to students and back, where there is one. Each of these is an nbgrader command
# that may as well be called in the course's folder.

COURSE     ?= notebooks
ASSIGNMENT ?= cube
quiet      := --log-level=WARN
exchange    = $(if $(value EXCHANGE),--Exchange.root=$(call quoted,EXCHANGE))
nbgrader    = bin=$$(cd $(BIN) && pwd) && cd $(call quoted,COURSE) && \
  PATH="$$bin:$$PATH" PYTHONWARNINGS=ignore nbgrader

release: $(READY)-instructor ## Make the students' version in COURSE=dir (EXCHANGE=dir)
	@$(BIN)/python -m grader course-new \
	  $(if $(value EXCHANGE),--exchange=$(call quoted,EXCHANGE)) -- $(call quoted,COURSE)
	@$(nbgrader) generate_assignment $(ASSIGNMENT) --force $(quiet)
	@$(if $(exchange),$(nbgrader) release_assignment $(ASSIGNMENT) --force $(exchange))
	@echo "The students' version: "$(call quoted,COURSE)/release/$(ASSIGNMENT)

collect: $(READY)-instructor ## Fetch what was handed in through the exchange
	@$(nbgrader) collect $(ASSIGNMENT) --update $(exchange)

zip-collect: $(READY)-instructor ## Sort a download of Canvas or Moodle by student: ZIP=file
	@mkdir -p $(call quoted,COURSE)/downloaded/$(ASSIGNMENT)/archive
	@$(if $(value ZIP),cp $(call quoted,ZIP) \
	  $(call quoted,COURSE)/downloaded/$(ASSIGNMENT)/archive/)
	@$(nbgrader) zip_collect $(ASSIGNMENT) --force $(quiet)

autograde: $(READY)-instructor ## Grade what was handed in (in a kernel: KERNEL=1)
	@$(BIN)/python -m grader course-prepare --assignment=$(ASSIGNMENT) -- $(call quoted,COURSE)
	@$(nbgrader) autograde $(ASSIGNMENT) $(quiet) $(if $(KERNEL),--GradeCells.kernel=True) $(ARGS)

feedback: $(READY)-instructor ## Write a page for each student (EXCHANGE=dir: send them)
	@$(nbgrader) generate_feedback $(ASSIGNMENT) --force $(quiet)
	@$(if $(exchange),$(nbgrader) release_feedback $(ASSIGNMENT) $(exchange))

export: $(READY)-instructor ## Write grades.csv and grades-checks.csv
	@$(nbgrader) export $(ARGS)

bench-nbgrader: $(READY)-instructor ## Measure autograding against nbgrader's own
	@$(BIN)/python tests/bench/nbgrader.py $(ARGS)

# --------------------------------------------------------- a class, shut in

.PHONY: grade-class gradescope bench-class

grade-class: $(READY)-instructor ## Grade a class: FROM=dir or zip, TO=dir (ARGS=--resume)
	@$(BIN)/python -m grader class --out $(call quoted,TO) $(ARGS) -- $(call quoted,FROM)

gradescope: $(READY)-grade ## Build the autograder zip for Gradescope
	@$(BIN)/python autograder/build.py

bench-class: $(READY)-instructor ## Measure a class against `import torch` (ARGS="20 1000")
	@$(BIN)/python tests/bench/classroom.py $(ARGS)

clean: ## Undo: remove .venv and everything else that make made
	@rm -rf .venv build dist .grader .pytest_cache .mypy_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- setting up
# A stamp is written last, so whatever was interrupted is done again.

$(READY)-grade: pyproject.toml constraints.txt | $(BIN)/python
	@echo 'Installing what grading needs, once; torch is large ...' >&2
	@$(call install,.)
	@rm -f .venv/unfinished

$(READY)-%: pyproject.toml constraints.txt $(READY)-grade
	@echo 'Installing what "$*" needs, once ...' >&2
	@$(call install,.[$*])

# install: pip's talk goes to a log; a terminal shows its last line meanwhile.
define install
rm -f $@; \
$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null 2>&1; \
{ $(BIN)/python -m pip install --no-input --progress-bar off -c constraints.txt -e '$(1)' \
  && touch $@; } 2>&1 | tee .venv/setup.log \
| if [ -t 2 ]; then while IFS= read -r line; do printf '\r%-78.78s' "$$line" >&2; done; \
  printf '\r%-78s\r' '' >&2; else cat >/dev/null; fi; \
[ -f $@ ] || { why=$$(grep -o 'ERROR: .*' .venv/setup.log | tail -n 1 | cut -c 1-160); \
  echo "Installing failed ($${why:-pip gave no reason}). Is the network up, is the disk full?" \
    "Then run make again; all that pip said is in .venv/setup.log." >&2; exit 1; }
endef

# A .venv that somebody made by hand is kept, one that was left half made is not.
# The interpreter counts by being there: its age is that of the system's Python.
ifneq ($(wildcard .venv/unfinished),)
.PHONY: $(BIN)/python
endif

$(BIN)/python:
	@$(PYTHON) -c '' 2>/dev/null || { echo "There is no working '$(PYTHON)' here:" \
	  "install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$$($(PYTHON) -V 2>&1) is too old:" \
	  "install Python 3.11 or newer, or name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "This Python lacks venv:" \
	  "install it (Debian, Ubuntu: sudo apt install python3-venv) and run make again." >&2; exit 1; }
	@rm -rf .venv && mkdir .venv && touch .venv/unfinished
	@$(PYTHON) -m venv .venv >.venv/setup.log 2>&1 || { \
	  echo "Could not make .venv; what Python said is in .venv/setup.log." >&2; exit 1; }
