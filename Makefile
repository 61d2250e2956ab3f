# Everything a newcomer needs: `make demo` and `make test` set up all they use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CLASSES := target/spark-classes.jsa
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
EXTRAS := spark,arrow,remote,dev
# On a CI server (CI=true) the core is built for a short compile, with overflow checks.
PROFILE ?= $(if $(CI),ci,release)

# Compiled modules are kept: the tests start many processes, and each would compile them again.
export PYTHONDONTWRITEBYTECODE =

.PHONY: help setup demo test test-core check check-core check-python coverage unit bench check-speed profile conformance sweep crash fuzz clean need-cargo need-cxx need-java

help:
	@echo "make demo         set up, then the main job on sample data, on embedded Spark"
	@echo "make test         set up, then all checks and the tests"
	@echo "make check        formatters, linters, types, layers"
	@echo "make unit         the tests that need no Java"
	@echo "make coverage     lines and branches of the package that the tests reach"
	@echo "make conformance  the JSON cases, ours and the public suite where it is there"
	@echo "make bench        the benchmarks; benchmarks/README.md has their results"
	@echo "make check-speed  the instructions that a row takes, compared with the kept counts"
	@echo "make profile      where a query spends its time: QUERY='\$$.rows().sum(ms)' FILE=app.jsonl"
	@echo "make sweep        generated and killing tests with large counts, and the tests that make test leaves out"
	@echo "make crash        kill the log's writer, and pull its plug, N=1000 times each"
	@echo "make fuzz         any bytes for the core, SECONDS=60 for each target, TARGETS=\"$(TARGETS)\""
	@echo "make clean        remove all that was built"

setup: $(READY)

$(READY): pyproject.toml $(RUST) | need-cargo
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "headrace needs Python 3.11 or later; run: make PYTHON=python3.12"; exit 1; }
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q 'maturin>=1.9,<2'
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop -q --profile $(PROFILE) --extras $(EXTRAS)
	@touch $@

demo: need-java setup
	rm -rf target/demo
	$(BIN)/headrace demo target/demo

test: need-java setup
	$(MAKE) --no-print-directory -j 2 check-core test-core check-python $(CLASSES)
	$(BIN)/pytest -q -n 2 --dist loadgroup --no-loadscope-reorder -m "not sweep"

test-core: check-core
	cargo test -q --locked -p headrace-core --profile ci

# Of the package, by the tests of `make test` and by the processes that they start. Interrupts also
# come while coverage.py holds its lock, and it waits for it forever; it imports heavy modules itself.
SHARD_COMMIT := tests/store/shards/test_shard_commit.py
NOT_MEASURED := $(SHARD_COMMIT)::test_an_interrupt_at_any_moment_leaves_one_whole_set_and_no_lock \
	$(SHARD_COMMIT)::test_an_interrupt_leaves_the_old_set_and_no_litter \
	tests/cli/test_app.py::test_the_version_needs_nothing_heavy
coverage: need-java setup $(CLASSES)
	rm -rf target/coverage
	$(BIN)/coverage run -m pytest -q -n 2 --dist loadgroup --no-loadscope-reorder -m "not sweep" --timeout 600 \
		$(NOT_MEASURED:%=--deselect %)
	$(BIN)/coverage combine -q
	$(BIN)/coverage json -q -o target/coverage/report.json
	@$(BIN)/python -c 'import json; t = json.load(open("target/coverage/report.json"))["totals"]; \
		print("lines: {covered_lines} of {num_statements}, branches: {covered_branches} of {num_branches}".format(**t))'

unit: setup
	$(BIN)/pytest -q -m "not spark and not sweep"

check: check-core check-python

check-python: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest headrace._native
	$(BIN)/lint-imports
	git ls-files -z --cached --others --exclude-standard | xargs -0 $(BIN)/codespell

# In the profile of the tests, so that each dependency is built once.
check-core: setup
	cargo fmt --all --check
	cargo clippy -q --workspace --all-targets --locked --profile ci -- -D warnings
	cargo metadata -q --locked --format-version 1 --manifest-path fuzz/Cargo.toml > /dev/null  # its lock file is current

# The classes of Spark, from which the tests' Java starts in half the time.
$(CLASSES): pyproject.toml | $(READY)
	$(BIN)/python -m tests.spark.quick_java

# make conformance CASES="FILE ...": cases of the query language, written as data.
conformance: setup
ifdef CASES
	$(BIN)/python -m tests.conformance.cases $(CASES)
else
	cargo test -q --locked -p headrace-core json
	$(BIN)/pytest -q tests/conformance
endif

sweep: need-java setup $(CLASSES)
	$(BIN)/pytest -q -n 2 --dist loadgroup --no-loadscope-reorder --timeout 0 -m sweep
	HYPOTHESIS_PROFILE=thorough HEADRACE_KILLS=1000 HEADRACE_CUTS=3000 HEADRACE_REPLACEMENTS=5000 \
		$(BIN)/pytest -q -n 2 --timeout 0 tests/features tests/query tests/fault tests/spark/test_stream_schedules.py
	$(BIN)/python -m tests.fault.stream_soak 10 $(SEED)

# make crash N=1000 SEED=1: what a log has acknowledged is there after each.
N ?= 1000
SEED ?= 1
crash: setup
	$(BIN)/python -m tests.fault.crash_log $(N) $(SEED)
	$(BIN)/python -m tests.fault.power_log $(N) $(SEED)
	$(BIN)/python -m tests.fault.power_ext4 $(N) $(SEED)

bench: setup
	PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop -q --release --extras $(EXTRAS),bench
	$(BIN)/python -m benchmarks

# The number of instructions does not depend on what else the machine does. KEEP=--keep keeps it.
check-speed: setup
	$(BIN)/python -m benchmarks.instructions $(KEEP)

# The names of the functions of the core are in its library only without the flags of `setup`.
profile: setup
	@PYO3_BUILD_EXTENSION_MODULE=1 PYO3_PYTHON=$(CURDIR)/$(BIN)/python \
		cargo build -q --release --locked -p headrace-python
	@$(BIN)/python -m benchmarks.profile_query $(if $(value QUERY),'$(subst ','\'',$(value QUERY))' '$(FILE)')

# libFuzzer, on stable Rust: the compiler counts the edges, nothing else has to be there.
TARGETS ?= json rows frame blocks checkpoint key_index graph_index join log program columns variant
SECONDS ?= 60
FUZZ := target/fuzz
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
COUNTED := -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
	-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
	-Cllvm-args=-sanitizer-coverage-trace-compares

fuzz: setup need-cxx
	RUSTFLAGS="$(COUNTED)" CARGO_TARGET_DIR=$(FUZZ) cargo build -q --release --locked \
		--manifest-path fuzz/Cargo.toml --target $(HOST)
	$(BIN)/python fuzz/seeds.py $(FUZZ)/corpus
	@for target in $(TARGETS); do \
		mkdir -p $(FUZZ)/crashes/$$target; \
		echo "$$target: $(SECONDS) seconds, the log is $(FUZZ)/$$target.log"; \
		$(FUZZ)/$(HOST)/release/$$target -max_total_time=$(SECONDS) -max_len=4096 -timeout=30 \
			-rss_limit_mb=4096 -artifact_prefix=$(FUZZ)/crashes/$$target/ \
			$(FUZZ)/corpus/$$target fuzz/found/$$target > $(FUZZ)/$$target.log 2>&1 \
		|| { tail -40 $(FUZZ)/$$target.log; exit 1; }; \
	done

clean:
	cargo clean -q
	rm -rf $(VENV) python/headrace/_native*.so

need-cargo:
	@command -v cargo >/dev/null || { echo "cargo is missing: install Rust 1.88 or later from rustup.rs (Debian: apt-get install rustup && rustup default stable)"; exit 1; }

need-cxx:
	@command -v c++ >/dev/null || { echo "a C++ compiler is missing: install one (Debian: apt-get install g++; macOS: xcode-select --install)"; exit 1; }

need-java:
	@command -v java >/dev/null || test -x "$$JAVA_HOME/bin/java" || { echo "Java 17 or later is missing: install it (Debian: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"; exit 1; }
