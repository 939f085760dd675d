# Everything sets itself up: `make demo` on a fresh machine installs into .venv first.
# To use an environment of your own instead: make test PY=python

VENV := .venv
# The first of these that runs (a name may exist without running) and is new enough.
PYTHON ?= $(shell for p in python3.11 python3.12 python3 python; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' 2>/dev/null && echo $$p && break; done)
PY ?= $(VENV)/bin/python
STAMP := $(VENV)/.installed
SETUP := $(if $(filter $(VENV)/bin/python,$(PY)),$(STAMP))
TORCH := $(shell sed -n 's/^\(torch==[^ ;]*\).*/\1/p' constraints.txt)

# Tests run in parallel processes; more threads in each would only compete.
JOBS ?= 2
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install demo test lint format types bench gpu-smoke dist clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1 \2/p' $(MAKEFILE_LIST) | awk '{n = $$2; $$1 = $$2 = ""; printf "  make %-10s %s\n", n, $$0}'

install: $(STAMP) ## create .venv with fedlight (editable) and the tools, at the pinned versions

# PyTorch first and alone, so that a build chosen by pip's own settings (CPU only, say) is kept.
$(STAMP): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "fedlight needs Python 3.11 or 3.12: make install PYTHON=/path/to/python3.11"; exit 1; }
	test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet "$(TORCH)"
	$(VENV)/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: $(SETUP) ## train FedLTailor on an embedded federation of three clients (less than a minute, no network)
	$(PY) -m fedlight fit --config fedltailor/demo.yaml

test: $(SETUP) ## run all tests and doctests (ARGS="-k name --slow" for more or less)
	$(PY) -m pytest -n $(JOBS) --dist loadgroup --doctest-modules tests fedlight $(ARGS)

lint: $(SETUP) ## check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(SETUP) ## repair style and formatting where that can be done automatically
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(SETUP) ## check types (mypy --strict)
	$(PY) -m mypy

bench: $(SETUP) ## measure speed, with the peer beside it where it can be installed
	$(PY) -m benchmarks.kge

gpu-smoke: $(SETUP) ## on a machine with CUDA: run the gpu tests, then measure throughput
	@$(PY) -c 'import torch; assert torch.cuda.is_available(), "no CUDA device"; print(torch.cuda.get_device_name())'
	$(PY) -m pytest -m gpu -s tests $(ARGS)

dist: $(SETUP) ## build the wheel and the source distribution into dist/
	$(PY) -m build

clean: ## remove what was built; .venv, data/ and runs/ stay
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +
