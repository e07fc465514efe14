# Pawl. `make help` lists the targets. MODE names a way to build: objects are in build/MODE/.

# Sources, named one by one. A file that is listed and not there yet is passed over; one that is
# there and not listed fails `make tidy`.

ENGINE := status check hash mutex os_posix_descriptor os_posix_machine os_posix identity window \
	frame record segment footer shared slots chain recovery look scan commit tail flush supply log \
	create opening reader event policy seqset entries index group state state_reserve \
	replica walk walk_files verify
TOOLS := main command options output finding cmd_dump cmd_verify
UNIT := test_status test_bytes test_hash test_os_posix test_os_posix_process test_mutex \
	test_identity test_window test_frame test_record test_segment test_footer test_shared \
	test_slots test_chain test_recovery test_look test_scan test_commit test_tail test_supply \
	test_log test_opening test_format_doc test_sim_prng test_sim_disk test_sim_os test_sim_sched \
	test_sim_trace test_verify test_verify_findings test_event test_policy test_seqset test_index \
	test_entries test_state test_replica
ORACLE := reader
ORACLE_MAIN := main
CLI := store
SIM := disk fiber trace world locks machine oracle act stage swarm seeds workload
SIM_MAIN := main
MODEL := compare draft dump generate_messages generate_store generator memory model nonsense run
MODEL_MAIN := main
FLEET := truth fleet fleet_main
SWEEP_MAIN := sweep sweep_errors sweep_damage sweep_heirs sweep_recovery
CRASH := players traps story actor kill stop open fork disk sync crash
BENCH := append
FUZZ := fuzz_frame fuzz_record fuzz_segment fuzz_recovery fuzz_event

# What is needed: Debian packages, and what a run does when nothing else is said.

PACKAGES := gcc g++ make binutils clang clang-format clang-tidy libclang-rt-dev cppcheck \
	libxxhash-dev libjansson-dev libcriterion-dev
SEEDS ?= 2000
SEED ?=
ROUNDS ?= 30
STEPS ?= 100000
BENCH_DIR ?= build
FUZZ_SECONDS ?= 60
JOBS ?= 2

prefix ?= /usr/local
exec_prefix ?= $(prefix)
bindir ?= $(exec_prefix)/bin
libdir ?= $(exec_prefix)/lib
includedir ?= $(prefix)/include
pkgconfigdir ?= $(libdir)/pkgconfig
INSTALL ?= install

VERSION := 0.0.0
SONAME := libpawl.so.1

# Modes. CFLAGS, CPPFLAGS and LDFLAGS are the user's and are appended.

MODE ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
OPTIMISE_release := -O2
OPTIMISE_test := -O2 -DPAWL_TESTING
OPTIMISE_asan := -O1 -fno-omit-frame-pointer -fsanitize=address -DPAWL_TESTING
OPTIMISE_ubsan := -O1 -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=all \
	-DPAWL_TESTING
OPTIMISE_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread -DPAWL_TESTING
OPTIMISE_clang := -O2 -DPAWL_TESTING
OPTIMISE_mutant := -O1 -DPAWL_TESTING -DPAWL_STEP_OFF=$(STEP)
OPTIMISE_fuzz := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -DPAWL_TESTING
ifndef OPTIMISE_$(MODE)
$(error no such MODE: $(MODE))
endif
ifneq ($(filter clang fuzz,$(MODE)),)
override CC := clang
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wcast-qual -Wwrite-strings -Wundef -Wvla -Wimplicit-fallthrough \
	$(if $(WERROR),-Werror)
INCLUDES := -Iinclude -Iengine
COMPILE = $(CC) -std=c11 -D_POSIX_C_SOURCE=200809L $(OPTIMISE_$(MODE)) -g -fPIC \
	-fvisibility=hidden $(WARNINGS) $(INCLUDES) $(MORE_INCLUDES) $(CPPFLAGS) $(CFLAGS)
LINK := $(CC) $(OPTIMISE_$(MODE)) -pthread -Wl,--as-needed $(CFLAGS) $(LDFLAGS)
LIBS := -lxxhash $(LDLIBS)
TOOL_LIBS := -ljansson

# Criterion can't run under ThreadSanitizer (its arena wants addresses that the shadow has), so the
# unit tests then meet a small stand-in for it.
ifeq ($(MODE),tsan)
TEST_INCLUDES := -isystem tests/plain
UNIT_RUNNER := tests/plain/plain.c
else
UNIT_LIBS := -lcriterion
endif

ASAN_OPTIONS ?= abort_on_error=1:detect_leaks=1
UBSAN_OPTIONS ?= halt_on_error=1:print_stacktrace=1
TSAN_OPTIONS ?= halt_on_error=1
export ASAN_OPTIONS UBSAN_OPTIONS TSAN_OPTIONS

# From names to files.

B := build/$(MODE)
sources_in = $(wildcard $(patsubst %,$(1)/%.c,$(2)))
objects_of = $(patsubst %.c,$(B)/%.o,$(1))

ENGINE_C := $(call sources_in,engine,$(ENGINE))
TOOLS_C := $(call sources_in,tools,$(TOOLS))
UNIT_C := $(call sources_in,tests/unit,$(UNIT)) $(UNIT_RUNNER)
ORACLE_C := $(call sources_in,tests/oracle,$(ORACLE))
ORACLE_MAIN_C := $(call sources_in,tests/oracle,$(ORACLE_MAIN))
CLI_C := $(call sources_in,tests/cli,$(CLI))
SIM_C := $(call sources_in,tests/sim,$(SIM))
SIM_MAIN_C := $(call sources_in,tests/sim,$(SIM_MAIN))
MODEL_C := $(call sources_in,tests/model,$(MODEL))
MODEL_MAIN_C := $(call sources_in,tests/model,$(MODEL_MAIN))
FLEET_C := $(call sources_in,tests/model,$(FLEET))
SWEEP_MAIN_C := $(call sources_in,tests/sim,$(SWEEP_MAIN))
CRASH_C := $(call sources_in,tests/crash,$(CRASH))
BENCH_C := $(call sources_in,tests/bench,$(BENCH))
FUZZ_C := $(call sources_in,fuzz,$(FUZZ))
ALL_C := $(sort $(ENGINE_C) $(TOOLS_C) $(UNIT_C) tests/plain/plain.c $(SIM_C) $(SIM_MAIN_C) \
	$(SWEEP_MAIN_C) $(MODEL_C) $(MODEL_MAIN_C) $(FLEET_C) $(CRASH_C) $(BENCH_C) $(FUZZ_C) $(ORACLE_C) \
	$(ORACLE_MAIN_C) $(CLI_C))

# The test programs that there are, each of them a part of `make check` by its name.
PROGRAMS := unit $(if $(SIM_MAIN_C),sim) $(if $(SWEEP_MAIN_C),sweep) $(if $(CRASH_C),crash) \
	$(if $(CLI_C),cli) $(if $(MODEL_MAIN_C),model) $(if $(FLEET_C),fleet)
TOOL_PROGRAMS := $(if $(filter tools/main.c,$(TOOLS_C)),build/pawl)
FUZZ_PROGRAMS := $(patsubst fuzz/%.c,$(B)/%,$(FUZZ_C))

QUIET ?=
MAKEFLAGS += --no-print-directory
SAY = @$(if $(QUIET),:,printf '  %-5s %s\n')

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all help deps check tidy check-header check-symbols programs sim sweep model fleet crash mutants bench \
	fuzz fuzz-replay asan ubsan tsan clang analyze format install uninstall clean sources \
	run-fuzz FORCE

## all: the library, static and shared, and the tools
all: build/libpawl.a build/$(SONAME) $(TOOL_PROGRAMS)

## help: this list
help:
	@sed -n 's/^## \([a-z, -]*\): /\1:/p' Makefile | awk -F: '{ printf "%-18s %s\n", $$1, $$2 }'

# Building.

# Rewritten only when it changes, so that other flags mean other objects.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(COMPILE)' | cmp -s - $@ || printf '%s\n' '$(COMPILE)' >$@

$(B)/tests/%.o $(B)/fuzz/%.o: private MORE_INCLUDES := -Itests/sim -Itests/model $(TEST_INCLUDES)

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(SAY) CC $<
	@$(COMPILE) -MMD -MP -c -o $@ $<

-include $(patsubst %.c,$(B)/%.d,$(ALL_C))

# One object whose inner names are local, so that the engine's can't collide with the host's.
$(B)/pawl.o: $(call objects_of,$(ENGINE_C))
	@$(LD) -r -o $@ $^
	@objcopy --localize-hidden $@

build/libpawl.a: $(B)/pawl.o
	$(SAY) AR $@
	@rm -f $@ && $(AR) rcs $@ $<

build/$(SONAME): $(call objects_of,$(ENGINE_C))
	$(SAY) LD $@
	@$(LINK) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs -o $@ $^ $(LIBS)
	@ln -sf $(SONAME) build/libpawl.so

# The log tools use rooms below the public header, so they link the objects themselves.
$(B)/pawl: $(call objects_of,$(TOOLS_C) $(ENGINE_C))
	$(SAY) LD $@
	@$(LINK) -o $@ $^ $(TOOL_LIBS) $(LIBS)

build/pawl: $(B)/pawl
	@cp $< $@

$(B)/unit: $(call objects_of,$(UNIT_C) $(SIM_C) $(MODEL_C) $(ORACLE_C) $(ENGINE_C))
	$(SAY) LD $@
	@$(LINK) -o $@ $^ $(UNIT_LIBS) $(LIBS)

$(B)/sim: $(call objects_of,$(SIM_MAIN_C) $(SIM_C) $(ENGINE_C))
$(B)/sweep: $(call objects_of,$(SWEEP_MAIN_C) $(SIM_C) $(ENGINE_C))
$(B)/model: $(call objects_of,$(MODEL_MAIN_C) $(MODEL_C) $(ENGINE_C))
$(B)/fleet: $(call objects_of,$(FLEET_C) $(MODEL_C) $(SIM_C) $(ENGINE_C))
$(B)/crash: $(call objects_of,$(CRASH_C) $(ENGINE_C))
$(B)/bench: $(call objects_of,$(BENCH_C) $(ENGINE_C))
$(B)/oracle: $(call objects_of,$(ORACLE_MAIN_C) $(ORACLE_C))
$(B)/cli: $(call objects_of,$(CLI_C) $(ENGINE_C)) | $(B)/pawl $(B)/oracle
$(B)/sim $(B)/sweep $(B)/model $(B)/fleet $(B)/crash $(B)/bench $(B)/oracle $(B)/cli:
	$(SAY) LD $@
	@$(LINK) -o $@ $^ $(LIBS)

$(FUZZ_PROGRAMS): $(B)/%: $(B)/fuzz/%.o $(call objects_of,$(SIM_C) $(ENGINE_C))
	$(SAY) LD $@
	@$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

programs: $(addprefix $(B)/,$(PROGRAMS))

# Checking. tests/run-check builds and runs the parts that it is given and counts. The two scripts
# call make by a variable and their lines have no `+`, so that `make -n` runs neither.

CALL_MAKE = MAKE='$(MAKE)' JOBS='$(JOBS)'
RUN_CHECK = $(CALL_MAKE) SEEDS='$(SEEDS)' ROUNDS='$(ROUNDS)' tests/run-check
RUN_MUTANTS = $(CALL_MAKE) SEEDS='$(if $(filter file,$(origin SEEDS)),60000,$(SEEDS))' \
	tests/run-mutants

## check: everything that must hold before a commit; the last line counts
check:
	@$(RUN_CHECK) test tidy self-test header symbols $(PROGRAMS) canary model-canary fleet-canary

## tidy: the house rules that a program can check
tidy:
	@tests/tidy/tidy

## asan, ubsan, tsan: the tests under a sanitizer
asan ubsan:
	@$(RUN_CHECK) $@ $(PROGRAMS)

# Fibers are dear to ThreadSanitizer, and in the sweeps there is one thread: they would tell nothing.
tsan:
	@$(RUN_CHECK) $@ $(filter-out sweep,$(PROGRAMS))

## clang: a clean build of everything by clang, warnings being errors, and its tests
clang:
	@rm -rf build/clang
	@WERROR=1 $(RUN_CHECK) clang $(PROGRAMS)

PLAIN_WARNINGS := -Wall -Wextra -Wpedantic -Werror -fsyntax-only

## check-header: pawl.h alone in C99 and C++11, and the examples, by gcc and clang
check-header:
	@for c in gcc clang; do \
		$$c -std=c99 $(PLAIN_WARNINGS) -x c include/pawl.h || exit 1; \
		for example in $(wildcard docs/examples/*.c); do \
			$$c -std=c11 -D_POSIX_C_SOURCE=200809L $(WARNINGS) -Werror -Iinclude \
				-fsyntax-only $$example || exit 1; \
		done; \
	done
	@for c in g++ clang++; do $$c -std=c++11 $(PLAIN_WARNINGS) -x c++ include/pawl.h || exit 1; done

## check-symbols: the libraries give away no name but pawl_*
check-symbols: build/libpawl.a build/$(SONAME)
	@! { nm -g --defined-only build/libpawl.a; nm -D --defined-only build/$(SONAME); } | \
		awk 'NF == 3 && $$3 !~ /^pawl_/ { print "not to be exported: " $$3 }' | grep .

## sim: the simulator; SEEDS=n runs so many, SEED=s that one
sim:
	@$(MAKE) MODE=test QUIET=1 build/test/sim
	@build/test/sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

## sweep: on a small store, every call failing, every bit and file damaged, every death and power cut
sweep:
	@$(MAKE) MODE=test QUIET=1 build/test/sweep
	@build/test/sweep

## model: the state against a plain model; STEPS=n steps from SEED=s on
model:
	@$(MAKE) MODE=test QUIET=1 build/test/model
	@build/test/model --steps $(STEPS) $(if $(SEED),--seed $(SEED))

## fleet: replicas of one log in the simulator against the model; SEEDS=n seeds, SEED=s that one
fleet:
	@$(MAKE) MODE=test QUIET=1 build/test/fleet
	@build/test/fleet $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

## crash: kill -9 of real processes on real files; ROUNDS=n
crash:
	@$(MAKE) MODE=test QUIET=1 build/test/crash
	@build/test/crash --rounds $(ROUNDS)

## mutants: leaves out each ordering step in turn, or ONLY those named; all must be noticed
mutants:
	@$(RUN_MUTANTS) $(ONLY)

## bench: what an append costs on the disk of BENCH_DIR; options of the program in BENCH_ARGS
bench:
	@$(MAKE) MODE=release QUIET=1 build/release/bench
	@directory=$$(mktemp -d $(BENCH_DIR)/bench.XXXXXX) && trap 'rm -rf "$$directory"' EXIT && \
		build/release/bench $(BENCH_ARGS) "$$directory"

## fuzz: each target for FUZZ_SECONDS; what it finds is added to fuzz/corpus/
fuzz:
	@$(MAKE) MODE=fuzz QUIET=1 run-fuzz FUZZ_RUN='-max_total_time=$(FUZZ_SECONDS)'

## fuzz-replay: each target over its corpus once
fuzz-replay:
	@$(MAKE) MODE=fuzz QUIET=1 run-fuzz FUZZ_RUN='-runs=0'

run-fuzz: $(FUZZ_PROGRAMS)
	@for target in $(notdir $(FUZZ_PROGRAMS)); do \
		mkdir -p fuzz/corpus/$$target && \
		$(B)/$$target $(FUZZ_RUN) -artifact_prefix=$(B)/ fuzz/corpus/$$target || exit 1; \
	done

# One file a run: version 14 of clang-tidy sees no va_start() in the second file of one.
## analyze: clang-tidy and cppcheck over the engine and the tools
analyze:
	@printf '%s\n' $(ENGINE_C) $(TOOLS_C) | xargs -P $(JOBS) -I FILE clang-tidy --quiet FILE -- \
		-std=c11 -D_POSIX_C_SOURCE=200809L $(INCLUDES)
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --error-exitcode=1 -D_POSIX_C_SOURCE=200809L \
		$(INCLUDES) $(ENGINE_C) $(TOOLS_C)

## format: lays out every source by .clang-format
format:
	@find engine include tools tests fuzz docs -path tests/tidy -prune -o -name '*.[ch]' -print | \
		xargs clang-format -i

# Around it.

## deps: installs the Debian packages that are missing
deps:
	@missing=; for package in $(PACKAGES); do \
		dpkg-query -W -f '$${Status}\n' $$package 2>/dev/null | grep -q 'ok installed' || \
			missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" -ne 0 ]; then \
		echo "sudo apt-get install$$missing"; exit 1; \
	fi; \
	apt-get update && apt-get install -y --no-install-recommends $$missing

## install: the library, its header and the tools, below DESTDIR and prefix
install: all
	$(INSTALL) -d $(addprefix $(DESTDIR),$(bindir) $(libdir) $(includedir) $(pkgconfigdir))
	$(INSTALL) -m 644 include/pawl.h $(DESTDIR)$(includedir)/
	$(INSTALL) -m 644 build/libpawl.a $(DESTDIR)$(libdir)/
	$(INSTALL) -m 755 build/$(SONAME) $(DESTDIR)$(libdir)/
	ln -sf $(SONAME) $(DESTDIR)$(libdir)/libpawl.so
	printf '%s\n' 'Name: pawl' 'Description: durable message queues in a directory' \
		'Version: $(VERSION)' 'Cflags: -I$(includedir)' 'Libs: -L$(libdir) -lpawl' \
		'Libs.private: $(LIBS)' >$(DESTDIR)$(pkgconfigdir)/pawl.pc
	$(if $(TOOL_PROGRAMS),$(INSTALL) -m 755 $(TOOL_PROGRAMS) $(DESTDIR)$(bindir)/)

## uninstall: what install put there
uninstall:
	rm -f $(DESTDIR)$(includedir)/pawl.h $(DESTDIR)$(pkgconfigdir)/pawl.pc \
		$(addprefix $(DESTDIR)$(libdir)/,libpawl.a libpawl.so $(SONAME)) \
		$(addprefix $(DESTDIR)$(bindir)/,$(notdir $(TOOL_PROGRAMS)))

## clean: removes build/
clean:
	rm -rf build

sources:
	@printf '%s\n' $(ALL_C)
