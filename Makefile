# The short way; what it runs is CMake. BUILD is the build folder, CMAKE_FLAGS go to its configuration.
BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)
# What `make test` runs: all, or unit (the quick tests alone, which need fewer packages: tools/install-deps unit).
TESTS ?= all

.PHONY: all build build-tests demo site test ports ship torture mutate bench traffic log-widths paper-tables sbom format check-format clean

all: build

# With the tests, where what they need is installed.
build:
	cmake -S . -B $(BUILD) -U BUILD_TESTING $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

# A daemon learns from a real stream, is stopped, and goes on where it was.
demo:
	@tools/install-deps build
	@echo "Building coppice in $(BUILD) ..."
	@cmake -S . -B $(BUILD) --log-level=WARNING -DBUILD_TESTING=OFF $(CMAKE_FLAGS)
	@cmake --build $(BUILD) -j $(JOBS) --target shipped
	@tools/demo $(BUILD)

# The documents as a site of plain HTML in the folder SITE, to be read from the disk or put on any server.
SITE ?= site
site:
	tools/install-deps site
	/usr/bin/python3 docs/site/make_site.py $(SITE)

# Quick tests first, then the ones that start daemons, which wait more than they work. Having found no test is a failure.
ctest = ctest --test-dir $(BUILD) --output-on-failure --no-tests=error
ifeq ($(TESTS),unit)
test: build-tests
	$(ctest) -j $(JOBS) -L unit
else ifeq ($(TESTS),all)
test: build-tests
	$(ctest) -j $(JOBS) -L unit
	$(ctest) -j $$(($(JOBS) + 1)) -LE unit
else
$(error TESTS is $(TESTS), expected all or unit)
endif

build-tests:
	tools/install-deps $(TESTS:all=test)
	cmake -S . -B $(BUILD) -DBUILD_TESTING=ON $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS) --target $(if $(filter unit,$(TESTS)),unit_tests,all)

# Builds for Debian 13 and for arm64, with lib's unit tests, in roots made for them (as root): tests/ports/other_systems --help
ports:
	tools/install-deps ports
	tests/ports/other_systems

# Debian packages made and tried in bare roots of Debian 12 and 13, then under systemd in a machine (as root):
# SHIP="--small"; tests/ports/ship --help, tests/ports/service_manager --help
ship:
	tools/install-deps machine
	tests/ports/ship $(SHIP)
	tests/ports/service_manager

# The long form of the tests of faults: thousands of kills, every byte, every call. Machine kills go on where they were;
# $(BUILD)/torture has how far they came.
torture: build-tests
	COPPICE_TORTURE=1 COPPICE_KILLS=2000 COPPICE_PROGRESS=$(abspath $(BUILD))/torture $(ctest) -L fault
	COPPICE_TORTURE=1 $(ctest) -R 'py_test_(client_node|client_c|api_hostile|refit_simulated|offpolicy_numpy)$$'
	COPPICE_STREAM_KILLS=100 $(ctest) -R 'py_test_event_log(s|_groups|_power)$$'

# How many small changes to the source the tests notice (hours; goes on where it was): MUTATE="--seed 7 --count 50"
mutate:
	tools/install-deps test
	tests/mutate/mutate $(MUTATE)

bench: build-tests
	tools/install-deps bench
	tests/bench/measure $(BUILD)

# What the default earns on made-up traffic beside simple policies (about three hours): TRAFFIC="--scenes late --settings optimism=0"
traffic: build-tests
	tests/bench/traffic/traffic $(BUILD) $(TRAFFIC)

# How wide the intervals of constant policies are by least_propensity: the table of docs/evidence/intervals.md
# (half a minute)
log-widths: build-tests
	$(BUILD)/tests/log_widths

# The papers' figures beside this build's, over all their datasets (hours): tests/bench/paper_tables --help
paper-tables:
	tools/install-deps build
	$(MAKE) --no-print-directory build
	tests/bench/paper_tables --build $(BUILD)

# What the programs link, and under which licences: build/coppice.spdx.json
sbom: build
	tools/sbom $(BUILD) --out $(BUILD)/coppice.spdx.json

format:
	git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

check-format:
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

clean:
	rm -rf $(BUILD) build-ci
