# Everything runs in .venv; nothing is installed outside this folder.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help setup demo test e2e lint bench fuzz corpus docs lock clean

help: ## what there is to run
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

setup: $(VENV)/.installed ## .venv with locked dependencies and the signalbox command

$(VENV)/.installed: requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Signalbox needs Python 3.11 or later; $(PYTHON) is `$(PYTHON) -V 2>&1`. Name another: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "Installing into $(VENV) (once, about a minute) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q $(VENV)/lib webhook || true
	@touch $@

demo: setup ## the webhook at its job, over TLS, on manifests good and bad; CLUSTER=1: in a real API server
	@$(BIN)/python $(if $(CLUSTER),-m tests.e2e.demo,tests/demo/demo.py)

e2e: setup ## Signalbox in a real API server, with Kueue and JobSet (Go builds them once, about half an hour)
	@$(BIN)/python -m tests.e2e $(E2E)

test: setup ## the fast test suite, under two minutes
	@$(BIN)/python -m pytest -n 3 --dist worksteal

lint: setup ## ruff, mypy --strict, layers, the shipped policies
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy
	@PYTHONPATH=webhook $(BIN)/lint-imports --no-cache
	@$(BIN)/signalbox lint policies

bench: setup ## speed, as ratios against a do-nothing endpoint in the same run
	@$(BIN)/python -m tests.bench

fuzz: setup ## odd reviews through the whole request path: make fuzz COUNT=1000000 SEED=7 JOBS=2
	@$(BIN)/python -m tests.fuzz $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(JOBS),--jobs $(JOBS))

corpus: setup ## inspect and check a folder of other people's manifests: make corpus CORPUS=DIR
	@if [ -z "$(CORPUS)" ]; then echo "CORPUS is not set. Name a folder of manifests: make corpus CORPUS=DIR"; exit 2; fi
	@$(BIN)/signalbox inspect "$(CORPUS)"
	@$(BIN)/signalbox check --table "$(CORPUS)" || [ $$? -le 2 ]

docs: setup ## docs/checks.md, and the demo in the README, anew from the code
	@$(BIN)/python -m tests.generate_docs

lock: setup ## the locks in requirements/ anew
	@for f in runtime dev build; do $(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --universal --python-version 3.11 \
	  --no-annotate --no-header requirements/$$f.in -o requirements/$$f.txt; done

clean: ## takes .venv and caches away
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
