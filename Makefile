# `make` lists the targets. Each calls a script that can be read and run alone.
# PG_CONFIG chooses the PostgreSQL (15 to 18); without it: the first one found.

export PG_CONFIG DESTDIR VARIANT KEEP TRANSACTIONS
export OPERATIONS SEED DURATION COMPARE CRASH_EVERY WITHOUT

.DEFAULT_GOAL := help
.PHONY: help setup build demo test model torture mutations leaks matrix lint install installcheck bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## install what building needs and the machine lacks
	@scripts/setup.sh

demo: ## the delayed holder, played on a private cluster (KEEP=1 leaves it up)
	@scripts/demo.sh

test: ## all tests (ONLY="core model clusters regress isolation ways mutations docs examples torture", ONLY=ways/NAME)
	@scripts/test.sh $(ONLY)

model: ## every state of the protocol's model, for longer than `make test` has time for
	@FENCING_MODEL=deep scripts/test.sh model

torture: ## clients stopped and killed, a server that crashes, every answer checked (OPERATIONS=10000000 SEED DURATION COMPARE CRASH_EVERY)
	@scripts/torture.sh

mutations: ## ways round a guard and golden tests, each without its counter-measure: they must notice
	@scripts/test.sh mutations

leaks: ## one server process, a million guarded transactions: its memory before and after (TRANSACTIONS)
	@scripts/leaks.sh

matrix: ## build and test with each PostgreSQL, in a Debian of its own (VERSIONS="15 17 18", MATRIX_DIR, ONLY); needs root and debootstrap
	@scripts/matrix.sh $(VERSIONS)

lint: ## rustfmt, clippy, shellcheck
	@scripts/lint.sh

build: ## build the extension into target/package/release (VARIANT=test)
	@scripts/build.sh $(VARIANT)

install: ## install it into the PostgreSQL that PG_CONFIG names (DESTDIR, VARIANT)
	@scripts/install.sh

installcheck: ## golden tests against a running server (PGHOST ...)
	@scripts/installcheck.sh

bench: ## the benchmarks' table
	@bench/run.sh

clean: ## remove what was built
	@rm -rf target
