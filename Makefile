# A thin front: each target works alone on a fresh clone. The build itself is CMake's
# (CMakeLists.txt, CMakePresets.json), and may be used directly.

PREFIX ?= /usr/local
JOBS   ?= $(shell nproc)

bin := build/release/bin

# For development trees without torch: make SETUP_FLAGS=--no-torch build
SETUP_FLAGS ?=

# A torch folder of one's own; empty: the .venv of scripts/setup. Handed over whole each time, so
# that CMake's cache does not keep one that is no longer asked for.
TRIREME_TORCH ?=
export TRIREME_TORCH
configure := cmake -D "TRIREME_TORCH=$(abspath $(TRIREME_TORCH))" --preset

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-large test-asan test-tsan fuzz lint format install clean bench

help: ## print this list
	@echo "Trireme: distributed training for C++"
	@echo
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PREFIX=$(PREFIX)  JOBS=$(JOBS)  TRIREME_TORCH=$(TRIREME_TORCH)"

setup: ## install the packages and torch (does nothing when they are there)
	@scripts/setup $(SETUP_FLAGS)

build: setup ## build all in release mode; programs land in build/release/bin
	@$(configure) release
	@cmake --build --preset release --parallel $(JOBS)

demo: setup ## train on eight ranks in three dimensions, and check the result
	@cmake --preset release
	@cmake --build --preset release --parallel $(JOBS) \
	    --target trireme-program trireme-verify-program train_text
	@scripts/demo $(bin)

test: build ## build, then run every test
	@ctest --preset release

test-large: build ## every conformance cell, counts beyond 2^31 (10 GB), 4,000 clients, 200 ranks
	@TRIREME_TEST_SECONDS=60 build/release/tests/conformance_random_test
	@set -e; for test in conformance_everything_test conformance_large_test cases_half_test \
	    cases_startup_network_test cases_startup_limits_test; do \
	    test ! -x build/release/tests/$$test || TRIREME_TEST_LARGE=1 build/release/tests/$$test; \
	done
	@TRIREME_TEST_EVENTS=200 build/release/tests/group_chaos_test

bench: ## measure the whole grid beside Open MPI, MPICH and Gloo, in 20 minutes; bench/results
	@scripts/setup --bench $(SETUP_FLAGS)
	@$(configure) release
	@cmake --build --preset release --parallel $(JOBS) --target trireme-program bench
	@scripts/bench $(bin)

test-asan: setup ## the tests at -O0 under the address and undefined-behaviour sanitizers
	@$(configure) asan
	@cmake --build --preset asan --parallel $(JOBS)
	@ctest --preset asan

test-tsan: setup ## the core's tests under the thread sanitizer
	@$(configure) tsan
	@cmake --build --preset tsan --parallel $(JOBS)
	@ctest --preset tsan

fuzz: ## fuzz every parser of bytes from outside, for FUZZ_SECONDS (600) in all
	@scripts/setup --lint --no-torch
	@cmake --preset fuzz
	@cmake --build --preset fuzz --parallel $(JOBS) --target fuzz
	@scripts/fuzz build/fuzz

lint: ## check format, coroutine rules, file sizes, shell scripts; run clang-tidy
	@scripts/setup --lint $(SETUP_FLAGS)
	@scripts/lint

format: ## rewrite the sources in the project's format
	@scripts/setup --lint --no-torch
	@scripts/lint --fix-format

install: build ## install headers, libraries and programs under PREFIX
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove what was built (not .venv)
	@rm -rf build
