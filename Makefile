# The front door: everything here hands over to meson, ninja and the scripts. `make help` lists it.

PREFIX  ?= /usr/local
SECONDS ?= 60
RUNS    ?= 100
HOURS   ?= 1
SEED    ?=
BUILD   ?= build
PROGRAM  = anabranch

.PHONY: all demo check check-agents check-page check-attacks check-providers chaos simulate fuzz bench lint format install clean help

all: build/build.ninja
	@ninja -C build

demo:
	@scripts/deps build
	@$(MAKE) -s build/build.ninja
	@ninja -C build $(PROGRAM)
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) scripts/demo

check:
	@scripts/deps build test
	@$(MAKE) -s build/build.ninja build-san/build.ninja
	@scripts/check

check-agents:
	@scripts/deps build test
	@$(MAKE) -s $(BUILD)/build.ninja
	@scripts/check-agents $(BUILD)

check-page:
	@scripts/deps build
	@scripts/deps page || echo 'make: what cannot be had is skipped' >&2
	@$(MAKE) -s all
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/page/run

check-attacks:
	@CHAOS=0 SUITES="$$(cd tests && ls attacks/*.bats | sed 's/\.bats$$//')" $(MAKE) -s check-providers

check-providers:
	@scripts/deps build test
	@scripts/deps providers || echo 'make: what cannot be had is skipped' >&2
	@$(MAKE) -s $(BUILD)/build.ninja
	@ninja --quiet -C $(BUILD)
	@BUILD=$(BUILD) tests/providers/run

chaos:
	@scripts/deps build test
	@$(MAKE) -s all
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/chaos/run $(RUNS) $(SEED)

simulate:
	@scripts/deps build test
	@$(MAKE) -s build/build.ninja
	@ninja --quiet -C build all-tests
	@tests/simulate/run $$(($(HOURS) * 3600)) $(SEED)

fuzz:
	@scripts/deps build fuzz
	@$(MAKE) -s build-fuzz/build.ninja
	@ninja -C build-fuzz
	@tests/fuzz/run build-fuzz $(SECONDS)

bench:
	@scripts/deps build bench
	@$(MAKE) -s all
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/run
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/tasks
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/cycle
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/sync
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/threads
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/guard
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/agents
	@ANABRANCH=$(CURDIR)/build/$(PROGRAM) tests/bench/watch

lint:
	@scripts/deps build lint
	@$(MAKE) -s build/build.ninja
	@scripts/lint

format:
	@scripts/deps lint
	@git ls-files -co --exclude-standard -- '*.[ch]' '*.cpp' | xargs clang-format -i

install: all
	@meson configure build --prefix='$(PREFIX)'
	@meson install -C build

clean:
	rm -rf build build-san build-fuzz

help:
	@echo 'make            build the program into build/, without its tests'
	@echo 'make demo       install what the build needs, build, show the program at work'
	@echo 'make check      run all tests, plain and under the sanitizers'
	@echo 'make check-agents   run the real agent programs, from npm, with stand-ins for their models; BUILD=$(BUILD)'
	@echo 'make check-page  test the page of anabranch serve in a browser'
	@echo 'make check-attacks   run hostile agents against each way to make workspaces, as root and as a plain user'
	@echo 'make check-providers  run the suites with each way to make workspaces, as root and as a plain user; ROWS="pool-plain ..." CHAOS=n BUILD=$(BUILD)'
	@echo 'make chaos      disturb RUNS=$(RUNS) random runs in every way and resume them; SEED=s repeats'
	@echo 'make simulate   search random histories of the engine for a broken promise, for HOURS=$(HOURS); SEED=s is the first one'
	@echo 'make fuzz       run the fuzzers, SECONDS=$(SECONDS) each'
	@echo 'make bench      measure large plans, runs of many tasks, cycles of workspaces, agents that speak fast, and who watches'
	@echo 'make lint       check format, code and scripts without running them'
	@echo 'make format     format the code'
	@echo 'make install    install under PREFIX=$(PREFIX), below DESTDIR if set'
	@echo 'make clean      remove what was built'

build/build.ninja:
	@meson setup build --prefix='$(PREFIX)'

build-san/build.ninja:
	@meson setup build-san -Db_sanitize=address,undefined -Db_lundef=false -Dkill_points=true

build-fuzz/build.ninja:
	@CC=clang CXX=clang++ meson setup build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true
