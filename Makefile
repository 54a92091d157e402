# Everything a contributor runs. Each target sets up what it needs in .venv; only Python 3.11+ and make are assumed.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

.PHONY: setup test test-all test-plain test-bounds test-lowest test-newest coverage lint bench docs demo wheel release-check clean

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade -c constraints.txt pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --editable . --group dev
	touch $@

demo: $(STAMP)
	$(BIN)/python examples/demo.py
	$(BIN)/python examples/dependency_demo.py

test: lint
	$(BIN)/python -m pytest -n 2

test-all: lint $(VENV)/.all-ready  # with the groups that need torch, an encoder, engines, AALpy, ONNX, a Hub and browsers; the last lines name what was left out
	$(BIN)/python -m pytest -n 2

$(VENV)/.all-ready: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[encoder,hub]' --group engines --group exchange
	npm install --silent --no-save axe-core || echo "npm is missing: tests of accessibility will be left out"
	which chromium chromedriver || echo "chromium or chromedriver is missing: tests of the page in a browser will be left out"
	touch $@

COVERED ?= tests
coverage: $(STAMP)  # lines that tests reach, kernels as Python (slow); make coverage COVERED=tests/unit/io for a part
	$(BIN)/python -m pip install --quiet --disable-pip-version-check coverage
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --source src/gramian -m pytest $(COVERED)
	$(BIN)/python -m coverage report --skip-covered --sort cover --fail-under 85

test-plain: lint  # the tests with plain numba, which compiles kernels where its version is not on the tested list
	GRAMIAN_PLAIN_NUMBA=1 $(BIN)/python -m pytest -n 2

test-bounds: $(STAMP)  # what kernels compute, what once failed, and a few thousand new inputs, with every index of every kernel checked
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.bounds $(BIN)/python -m pytest -n 2 tests/oracle tests/robustness/test_crafted_models.py \
	    tests/robustness/test_model_files.py tests/robustness/test_inputs.py
	$(BIN)/python -m tools.fuzz --bounds --inputs 1000

test-lowest test-newest: $(STAMP)  # in an environment of its own, with the lowest versions that pyproject.toml allows, or the newest
	$(BIN)/python -m tools.bounds $(@:test-%=%) -n 2

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(STAMP)  # make bench DATA=folder [BENCH="read_trees parse_speed"]; without DATA, a list
	$(BIN)/python -m benchmarks $(DATA) $(BENCH)

wheel: $(STAMP)  # with compiled kernels, for this Python, this version of numba and this kind of processor
	$(BIN)/python -m tools.kernels
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

docs: $(VENV)/.docs-ready
	$(BIN)/python -m sphinx -W --keep-going -q docs docs/_build

$(VENV)/.docs-ready: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --group docs
	touch $@

release-check: $(STAMP)  # wheel and sdist, built and tried in fresh environments
	$(BIN)/python -m tools.release_check

clean:
	rm -rf $(VENV) build dist src/gramian/kernels/compiled runs/demo docs/_build docs/gallery docs/python docs/reference/labels.md docs/reference/command-line.md .mypy_cache .ruff_cache .pytest_cache .hypothesis
