# Every target shares one environment, .venv, which `make` itself builds: nothing has to be installed before.
# Torch comes first and by plain pip, so that its CPU build is taken and nothing larger.

PYTHON  ?= python3
VENV    := .venv
BIN     := $(VENV)/bin
READY   := $(VENV)/.ready
THREADS := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.PHONY: help install demo test test-services check bench ppo-baseline proto clean

help:                ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 18

install: $(READY)    ## build the environment

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(READY)

demo: $(READY)       ## four agents ask a live broker only when it pays; under three minutes
	$(THREADS) $(BIN)/guidance-meta demo

test: $(READY)       ## the tests that need nothing but the environment
	$(THREADS) $(BIN)/python -m pytest -m "not services"

test-services: $(READY)  ## the tests that need real outside programs; installs them (Debian, root)
	.ci/services
	$(THREADS) $(BIN)/python -m pytest -m services

check: $(READY)      ## lint, types, contract
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/buf lint
	.ci/contract

bench: $(READY)      ## the hot path as a ratio to bare gRPC echoes, with nothing else running
	$(THREADS) $(BIN)/guidance-load bench hot-path --out docs/results/hot-path.json

ppo-baseline: $(READY)  ## train the executors' plain PPO, three seeds a task, and draw its curves; hours
	for task in Hopper HalfCheetah; do \
	  for seed in 1 2 3; do \
	    $(THREADS) $(BIN)/guidance-agent train $$task-v5 --seed $$seed \
	      --out runs/$$(echo $$task | tr A-Z a-z)_$$seed || exit 1; \
	  done; \
	done
	$(THREADS) $(BIN)/guidance-agent baseline runs/hopper_? runs/halfcheetah_? --episodes 20 --out docs/results/ppo

proto: $(READY)      ## regenerate the committed code of the contract
	$(BIN)/python -m grpc_tools.protoc -I . --python_out=. --pyi_out=. --grpc_python_out=. \
	  --plugin=protoc-gen-mypy_grpc=$(BIN)/protoc-gen-mypy_grpc --mypy_grpc_out=. protos/guidance/v1/*.proto

clean:               ## forget the environment and all runs
	rm -rf $(VENV) runs build *.egg-info
