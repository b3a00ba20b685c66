# `make demo` and `make test` need git, make and Python 3.11; they install everything else.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept, because compiling takes longer than most tests, but not beside the sources.
export PYTHONPYCACHEPREFIX := $(CURDIR)/.venv/pycache
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install help demo compose-up compose-test gate-native message-images screenshots test test-native test-python nightly unit check lint types native native-test escapes lock bench-store bench-prune bench-overhead bench-reader bench-analysis bench-native bench-verdicts bench-webhooks bench-pages bench-logs bench-artifacts bench-builds bench-noise bench-busy bench-power bench-first-day bench-queue bench-fleet bench-real bench-why bench-debug-info bench-flame bench-signatures bench-patterns bench-trunk bench-changes bench-claims soak vm-test checks-plugin clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

install: .venv/run.stamp ## install the command as .venv/bin/benchgate

demo: .venv/run.stamp ## build, measure and vote on real changes, then show the dashboard (ONCE=1: exit after the votes; ONLY=executor: one scenario; GERRIT=1: on a real Gerrit)
	$(if $(GERRIT),@tools/need gerrit)
	@$(BIN)/python -m tools.demo $(if $(GERRIT),--gerrit) $(if $(ONCE),--once) $(foreach scenario,$(ONLY),--only $(scenario))

compose-up: ## start all parts in containers, with passwords in .env (needs Docker with Compose)
	@$(PYTHON) -m tools.compose_up

compose-test: .venv/dev.stamp ## build the image and vote in its containers, with each Compose that is installed (root; half an hour on two busy CPUs)
	@tools/need compose
	@$(BIN)/python -m pytest -q -s --log-cli-level=INFO -m nightly tests/e2e/test_containers.py

gate-native: .venv/run.stamp ## gate a change of native/ by eight jobs of three pools on this machine, and print a table of them
	@tools/need gate-native
	@$(BIN)/python -m tools.gate_native

message-images: .venv/dev.stamp ## render the messages of docs/images as a phone shows them
	@tools/need message-images
	@$(BIN)/python -m tools.message_images

screenshots: .venv/dev.stamp ## picture every page into DIR (var/screenshots unless it is given): light, dark, and as a phone shows it
	@tools/need test
	@$(BIN)/python -m tools.screenshots $(or $(DIR),var/screenshots)

test: .venv/dev.stamp ## run all tests: unit, integration, end-to-end and browser tests; the C++ tests
	@tools/need test
	@mkdir -p native/build
	@$(MAKE) --no-print-directory --jobs 2 test-native test-python; status=$$?; cat native/build/test.log; exit $$status

# The other tests wait for servers and clocks for much of their time, so the C++ tests run beside them.
test-native:
	@echo "The C++ tests run beside the others; their output follows at the end (native/build/test.log)"
	@nice -n 5 native/test measure >native/build/test.log 2>&1

test-python: .venv/bytecode.stamp
	@$(BIN)/python -m pytest -q -n 5 --no-loadscope-reorder

# Each process imports all tests. In a fresh clone, each would compile them, too, and that takes 15 seconds of a CPU.
.venv/bytecode.stamp: .venv/dev.stamp
	@$(BIN)/python -m pytest -q --collect-only >/dev/null 2>&1 || true
	@touch $@

nightly: .venv/dev.stamp ## run what is too long for each commit: simulations with all seeds, the demo, the C++ code under sanitizers and the analyzer
	@tools/need test
	@$(BIN)/python -m pytest -q -n 2 --no-loadscope-reorder -m nightly
	@native/test tsan asan-ubsan
	@native/lint --analyze

unit: .venv/dev.stamp ## run the quick tests: domain, steps, web and commands, without servers or simulations
	@$(BIN)/python -m pytest -q -n 2 -m "not simulation and not nightly" tests/unit tests/integration/web

native-test: .venv/run.stamp ## run the C++ tests: in the measured configuration, and under all sanitizers
	@UNITY=OFF native/test measure
	@native/test tsan asan-ubsan

escapes: .venv/dev.stamp ## try to escape from the sandbox in more than a hundred ways, and print what refused each
	@$(BIN)/python -m pytest -q --no-header tests/escape --table

vm-test: .venv/dev.stamp ## try to escape, and the limits, under control groups v2: in a virtual machine with Debian's kernel (root; half an hour)
	@tools/need vm
	@$(BIN)/python -m tools.vm

check: native types lint checks-plugin ## run formatters, linters, import contracts, type checks and the plug-in's tests

lint: .venv/dev.stamp
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/lint-imports
	@$(BIN)/python -m tools.plain_english
	@$(BIN)/python -m tools.sizes

types: .venv/dev.stamp
	@$(BIN)/mypy

native: .venv/dev.stamp  # with `make --jobs`, only one of them may install
	@tools/need check
	@native/lint

bench-store: .venv/dev.stamp ## measure the ingest and query times of the store (PEERS=1: also those of LNT)
	@$(BIN)/python -m bench.store $(if $(PEERS),--peers)

bench-prune: .venv/dev.stamp ## measure how quickly samples are deleted, and how much longer ingest takes meanwhile (RESULTS=200000: fewer)
	@$(BIN)/python -m bench.prune $(foreach results,$(RESULTS),--results $(results))

bench-overhead: .venv/dev.stamp ## measure the seconds from event to vote, without building and measuring
	@$(BIN)/python -m bench.overhead

bench-reader: .venv/dev.stamp ## measure the time to read and compare result files
	@$(BIN)/python -m bench.reader

bench-analysis: .venv/dev.stamp ## measure time and memory for the verdicts of 500 benchmarks
	@$(BIN)/python -m bench.analysis

bench-native: .venv/dev.stamp ## compare the figures of the reproduced changes with the recorded ones (ONLY=hash_table: one workload)
	@$(BIN)/python -m bench.native $(foreach workload,$(ONLY),--only $(workload))

bench-verdicts: .venv/dev.stamp ## compare the voting rule with other rules, on recorded and live measurements
	@$(BIN)/python -m bench.verdicts --live var/bench-verdicts

bench-changes: .venv/dev.stamp ## compare the detector of changes with Otava on simulated and recorded series (SETS="DIR…": of CSV files; OTAVA=…: its interpreter)
	@$(BIN)/python -m bench.changes $(SETS) $(if $(OTAVA),--otava "$(OTAVA)")

bench-claims: .venv/dev.stamp ## read ten thousand generated commit messages: invented, wrong and missed claims, and the slowest message
	@$(BIN)/python -m bench.claims

bench-noise: .venv/dev.stamp ## measure how much each way to launch programs reduces the spread of pairs (BUSY=1: beside other programs)
	@$(BIN)/python -m bench.noise $(if $(BUSY),--busy)

bench-busy: .venv/dev.stamp ## judge a hundred unchanged and slower benchmarks beside builds and a database (KINDS="Hash Sort": some; all take 2.5 hours at most)
	@$(BIN)/python -m bench.busy $(if $(KINDS),--kinds $(KINDS))

bench-trunk: .venv/dev.stamp ## merge sixty commits of native/ with six planted slow-downs, and list what is reported (about 40 minutes)
	@$(BIN)/python -m bench.trunk

bench-power: .venv/dev.stamp ## simulate power against machine time and false alarms, beside a t-test
	@$(BIN)/python -m bench.simulations.power

bench-why: .venv/dev.stamp ## explain planted causes of slow-downs, and print how many explanations are right (ARGS="--seen": those to tune on)
	@$(BIN)/python -m bench.why $(ARGS)

bench-debug-info: .venv/dev.stamp ## measure what -g1 and frame pointers cost the benchmarks of bench-why: size, instructions and time
	@$(BIN)/python -m bench.why.debug_info

bench-flame: .venv/dev.stamp ## measure the weight of a flame graph's page with 10,000 random stacks, and the time to draw it
	@$(BIN)/python -m bench.flame

bench-queue: .venv/dev.stamp ## simulate how long builds wait in different orders of the queue, beside stacks of thirty changes
	@$(BIN)/python -m bench.simulations.queue

bench-fleet: .venv/dev.stamp ## run 200 simulated machines in 10 pools against the whole control plane for 15 minutes (ARGS="--minutes 2 --load 0.2": less)
	@$(BIN)/python -m bench.fleet $(ARGS)

bench-first-day: .venv/dev.stamp ## simulate -1 on a machine without a history, with and without a control
	@$(BIN)/python -m bench.simulations.first_day

bench-real: .venv/run.stamp ## try real projects from init to verdicts: MIRRORS=… (bare repositories) PROJECTS=… (TOML; ONLY=hashes: one project)
	@$(BIN)/python -m bench.real "$(MIRRORS)" "$(PROJECTS)" $(foreach project,$(ONLY),--only $(project))

bench-webhooks: .venv/dev.stamp ## measure the webhook's events per second, and their latency
	@$(BIN)/python -m bench.webhooks

bench-pages: .venv/dev.stamp ## measure page loads without a session beside the same pages without access control
	@$(BIN)/python -m bench.pages

bench-signatures: .venv/dev.stamp ## measure precision and recall of failure signatures over the labelled texts
	@$(BIN)/python -m bench.failures.signatures

bench-patterns: .venv/dev.stamp ## measure hostile patterns of failures on a megabyte, and a hundred patterns on a log of 64 MiB
	@$(BIN)/python -m bench.failures.patterns

bench-builds: .venv/dev.stamp ## measure how much sooner a patch set of a project of 500 files is built with the compiler cache
	@$(BIN)/python -m bench.builds

bench-artifacts: .venv/dev.stamp ## measure how quickly artifacts of programs travel over HTTP and to S3, beside cp
	@$(BIN)/python -m bench.artifacts

bench-logs: .venv/dev.stamp ## measure pages, ranges and searches of a log of 200 MB, and the memory of the web part
	@$(BIN)/python -m bench.logs

soak: .venv/dev.stamp ## count the false alarms of sixty patch sets that change nothing (continues an interrupted soak)
	@$(BIN)/python -m bench.verdicts.soak

checks-plugin: ## test and type-check the plug-in for Gerrit's Checks tab (skipped without Node.js)
	@if node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' 2>/dev/null && command -v npm >/dev/null; then \
	    cd dashboards/gerrit-checks \
	    && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --loglevel=error; } \
	    && npm test --silent && npm run --silent types; \
	else echo "checks-plugin: skipped because Node.js 20 or later, or npm, is missing" >&2; fi

lock: .venv/run.stamp ## regenerate the lock files from pyproject.toml
	@$(BIN)/pip install -q uv
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-header --extra dev --extra mcp -c requirements.lock pyproject.toml -o requirements-dev.lock

clean: ## remove everything that was built here (not the data in var/)
	@rm -rf .venv build native/build dashboards/gerrit-checks/node_modules *.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis

# uv is faster. If it is not available, pip installs from the same lock file.
define install
	@PYTHON=$(PYTHON) tools/need run
	@[ -x $(BIN)/python ] || { $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or later is needed; set PYTHON=/path/to/python3" >&2; exit 1; }; \
	    $(PYTHON) -m venv .venv; }
	@$(BIN)/pip install -q --disable-pip-version-check uv 2>/dev/null || true
	@if [ -x $(BIN)/uv ]; then $(BIN)/uv pip install -q --python $(BIN)/python --require-hashes -r $(1) \
	    && $(BIN)/uv pip install -q --python $(BIN)/python --no-deps --no-build-isolation -e . ; \
	else $(BIN)/pip install -q --require-hashes -r $(1) && $(BIN)/pip install -q --no-deps --no-build-isolation -e . ; fi
	@touch $@
endef

.venv/run.stamp: requirements.lock pyproject.toml
	$(call install,requirements.lock)

.venv/dev.stamp: requirements-dev.lock pyproject.toml
	$(call install,requirements-dev.lock)
	@touch .venv/run.stamp
