# The short way; what it runs is CMake. BUILD is the build folder, CMAKE_FLAGS go to its configuration.
BUILD ?= build
CMAKE_FLAGS ?=
JOBS ?= $(shell nproc)

.PHONY: all build demo test torture mutate bench paper-tables format check-format clean

all: build

build:
	cmake -S . -B $(BUILD) $(CMAKE_FLAGS)
	cmake --build $(BUILD) -j $(JOBS)

# A daemon learns from a real stream, is stopped, and goes on where it was.
demo:
	@tools/install-deps build
	@echo "Building coppiced and coppice in $(BUILD) ..."
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS) >/dev/null
	@cmake --build $(BUILD) -j $(JOBS) --target coppiced coppice-refit coppice >/dev/null
	@tools/demo $(BUILD)

# Quick tests first, then the ones that start daemons.
test:
	tools/install-deps test
	$(MAKE) --no-print-directory build
	ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS) -L unit
	ctest --test-dir $(BUILD) --output-on-failure -LE unit

# The long form of the tests of faults: thousands of kills, every byte, every call.
torture:
	tools/install-deps test
	$(MAKE) --no-print-directory build
	COPPICE_TORTURE=1 COPPICE_KILLS=2000 ctest --test-dir $(BUILD) --output-on-failure -L fault

# How many small changes to the source the tests notice (hours; goes on where it was): MUTATE="--seed 7 --count 50"
mutate:
	tools/install-deps test
	tests/mutate/mutate $(MUTATE)

bench:
	tools/install-deps build
	$(MAKE) --no-print-directory build
	tests/bench/measure $(BUILD)

# The papers' figures beside this build's, over all their datasets (hours): tests/bench/paper_tables --help
paper-tables:
	tools/install-deps build
	$(MAKE) --no-print-directory build
	tests/bench/paper_tables --build $(BUILD)

format:
	git ls-files -co --exclude-standard '*.c' '*.h' | xargs clang-format -i

check-format:
	git ls-files '*.c' '*.h' | xargs clang-format --dry-run -Werror

clean:
	rm -rf $(BUILD) build-ci
