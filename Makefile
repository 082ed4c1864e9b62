# make demo · make test · make setup · make lint · make wheel · make docs · make lock · make clean
# PYTHON names the interpreter to build on: make PYTHON=python3.12 test
# EXTRAS adds extras of pyproject.toml, whose tests are skipped else: make test EXTRAS=vision,realsense

PYTHON ?= python3
VENV ?= .venv
EXTRAS ?=
# Test files that run side by side, each worker in a ROS domain of its own: make test WORKERS=0 for one after the other
WORKERS ?= 4
PREPARE = $(PYTHON) tools/prepare.py --venv $(VENV) --extras "$(EXTRAS)"
# Bytecode is kept even where the environment says otherwise: the tests start some hundred processes.
RUN = . $(VENV)/planweave.sh && PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast bench build setup lint wheel docs lock clean python

help:
	@echo 'make demo    prepare what is missing, then let the simulated arm do four sentences (out/demo/)'
	@echo 'make test    prepare what is missing, then run all tests; ARGS="test/unit -k plan" chooses some,'
	@echo '             EXTRAS=vision,realsense also runs the tests of these extras'
	@echo 'make test-fast  the tests without ROS, OpenGL and what is slow'
	@echo 'make bench   compare all methods on the household tasks with a simulated model (out/bench/); ARGS="--jobs 2"'
	@echo 'make setup   prepare only (.venv with ROS 2, packages and interfaces); make build is the same'
	@echo 'make lint    formatting, style and types'
	@echo 'make wheel   wheels of planweave and its messages in dist/, to install without this folder'
	@echo 'make docs    these pages and the API reference as a site, in out/docs/'
	@echo 'make lock    resolve the versions of all packages anew (requirements/lock/)'
	@echo 'make clean   remove what was made (.venv, build/, out/)'

python:
	@command -v $(PYTHON) >/dev/null || { echo "planweave: no $(PYTHON) found. On Debian or Ubuntu:" \
	  "sudo apt-get install python3 python3-venv python3-dev g++" >&2; exit 1; }

demo: python
	@$(PREPARE)
	@$(RUN) planweave demo $(ARGS)

test: python
	@$(PREPARE) --dev
	@$(RUN) python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0 $(ARGS)

# Without ROS, OpenGL and what is slow: while one works
test-fast: python
	@$(PREPARE) --dev
	@$(RUN) python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder -m "unit and not gl and not slow" -q $(or $(ARGS),test/unit)

bench: python
	@$(PREPARE) --extras "bench $(EXTRAS)"
	@$(RUN) planweave bench home --method all --model simulated:0 simulated:0.1 simulated:0.3 $(ARGS)

setup build: python
	@$(PREPARE) --dev

lint: python
	@$(PREPARE) --dev
	@$(RUN) ruff format --check .
	@$(RUN) ruff check .
	@$(RUN) mypy .

wheel: python
	@$(PREPARE) --dev
	@$(RUN) python tools/wheels.py

docs: python
	@$(PREPARE) --extras docs
	@$(RUN) python tools/build_docs.py

lock: python
	@$(PREPARE) --dev --extras lock
	@$(RUN) python tools/lock.py

clean:
	rm -rf $(VENV) build dist install log out .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
