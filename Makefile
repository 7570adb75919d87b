# adagrain. `make` alone lists what there is to do.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

# Arguments, as in: make sim UNIT=queue SIM=icarus WAVES=1 SEED=3, make mutants SAMPLE=20 FOLDER=hdl
DEVICE ?= sim:
ARGS ?=
UNIT ?=
VARIANT ?=
SIM ?= verilator
WAVES ?=
SEED ?=
NETLIST ?=
SAMPLE ?=
FOLDER ?=
PROOF ?= all
BOARD ?= ulx3s
BENCH ?= $(sort $(patsubst benchmarks/%.py,%,$(wildcard benchmarks/[a-z]*.py)))

.DEFAULT_GOAL := help
.PHONY: help setup train test test-full sim formal mutants wheel lint bench synth bitstream docs clean
unexport WAVES SEED SIM UNIT VARIANT NETLIST SAMPLE FOLDER
# Tests start hundreds of Python programs, each of which would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP)  ## make .venv with everything pinned (minutes, mostly PyTorch's download)

# Without a GPU, PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu spares the CUDA packages.
$(STAMP): pyproject.toml constraints.txt
	@echo "setup: installing into .venv (some minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

train: setup  ## train on two workers, each with a simulated device (about 2 min) [DEVICE= ARGS=]
	@echo "train: two workers, device $(DEVICE); builds the simulated device first, if need be"
	@$(BIN)/adagrain info $(DEVICE) > /dev/null
	@$(BIN)/adagrain train --device $(DEVICE) $(ARGS)

test: lint  ## lint, and run the tests on two cores (about 17 min)
	@echo "test: units, golden models, cocotb benches, training runs (about 17 min)"
	@$(BIN)/python -m pytest -n 2 --dist worksteal --durations 10 --durations-min 1

test-full: lint  ## the tests with their slow sweeps (some hours)
	@ADAGRAIN_FULL=1 $(BIN)/python -m pytest -n 2 --dist worksteal

sim: setup  ## run cocotb benches [UNIT= VARIANT= SIM=verilator|icarus NETLIST=ecp5|ice40|gowin WAVES=1 SEED=]
	@$(BIN)/python -m adagrain.sim $(or $(UNIT),all) --simulator $(SIM) \
		$(addprefix --variant ,$(VARIANT)) $(addprefix --seed ,$(SEED)) \
		$(addprefix --netlist ,$(NETLIST)) $(if $(filter 1,$(WAVES)),--waves)

formal: setup  ## prove the plumbing; then mutants that the proofs must find [PROOF=]
	@$(BIN)/python -m adagrain.sim.formal $(PROOF)

mutants: setup  ## make mutants that tests must find (45 min), or SAMPLE= generated ones [FOLDER= SEED=]
	@$(BIN)/python -m adagrain.sim.$(if $(SAMPLE),generated_mutants --sample $(SAMPLE),mutants) \
		$(if $(SAMPLE),$(addprefix --folder ,$(FOLDER)) $(addprefix --seed ,$(SEED)))

wheel: setup  ## build the wheel, and try it alone and with each extra (about 3 min)
	@$(BIN)/python .ci/wheel.py

lint: setup  ## check style, format and types
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy --no-error-summary

bench: setup  ## run the benchmarks, results go to benchmarks/results/ [BENCH=]
	@failed=; for name in $(BENCH); do \
		echo "bench: $$name"; $(BIN)/python benchmarks/$$name.py || failed="$$failed $$name"; \
	done; test -z "$$failed" || { echo "bench: failed, or beyond an aim:$$failed"; exit 1; }

synth: setup  ## synthesise a unit for a board's FPGA [UNIT=coprocessor BOARD=ulx3s]
	@$(BIN)/adagrain synth $(or $(UNIT),coprocessor) --board $(BOARD)

bitstream: setup  ## build a board's bitstream, some minutes [BOARD=ulx3s]
	@$(BIN)/adagrain bitstream --board $(BOARD)

docs: setup  ## write the generated tables in docs/ and README
	@$(BIN)/python docs/tables.py
	@$(BIN)/python docs/figures.py

clean:  ## remove builds and caches; .venv and runs/ stay
	@rm -rf build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
