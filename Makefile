# `make help` says what there is.
SHELL := /bin/bash
SCORE := ../shared/score
CARBENCH := ../shared/carbench

# Another obligato with all features, where there is one: a `cargo run` after a `cargo test` builds half of the crates again.
OBLIGATO ?= cargo run --quiet --all-features --bin obligato --

.DEFAULT_GOAL := help
.PHONY: help demo build test lint fmt differential bench report score policies critic man reference fuzz fuzz-keep soak start cross cross-twice cross-test verify-work bench-qemu yocto-check

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Talk with the simulated car: typed on a terminal, or one sentence a line (make demo < file)
	@cross/demo

build: ## Both binaries, optimised
	cargo build --release --all-features --bins

test: ## Every test
	cargo test --all-features

differential: ## Our programs against cedar-policy over 1.2 million random requests, every rule both ways
	DIFFERENTIAL_REQUESTS=300000 cargo test --release --no-default-features --features compile --test policies -- \
	    --nocapture programs_answer_as_cedar_does

fmt: ## Lay out the code and the rules of every policy set
	cargo fmt
	$(OBLIGATO) fmt policies/cabin
	$(OBLIGATO) fmt tests/policies/kitchen
ifneq ($(wildcard $(CARBENCH)),)
	$(OBLIGATO) fmt policies/car-bench --tools $(CARBENCH)/tools.json
endif

lint: ## Formatting, clippy and documentation, warnings are errors
	cargo fmt --check
	cargo clippy --all-targets --all-features -- -D warnings
	cargo clippy --no-default-features --features kuksa --bins -- -D warnings
	$(OBLIGATO) fmt --check policies/cabin
	$(OBLIGATO) fmt --check tests/policies/kitchen
ifneq ($(wildcard $(CARBENCH)),)
	$(OBLIGATO) fmt --check policies/car-bench --tools $(CARBENCH)/tools.json
endif
	RUSTDOCFLAGS='-D warnings' cargo doc --all-features --no-deps --quiet

bench: ## Criterion benchmarks of verify
	cargo bench --all-features

report: ## One page with charts: small models on the cabin's scenarios, with the harness and without, and their speed
	cross/report

policies: ## Compile the policy sets to the blobs that are checked in
	$(OBLIGATO) compile policies/cabin -o policies/cabin/cabin.obl

critic: ## Criticise the policy sets: rules that never fire, contradict each other, cannot be satisfied
	cargo build --quiet --all-features --bin obligato
	target/debug/obligato critic policies/cabin
ifeq ($(wildcard $(CARBENCH)),)
	@echo 'critic: $(CARBENCH) is not here, so policies/car-bench has no prose and no inventory'
else
	target/debug/obligato critic policies/car-bench --policy $(CARBENCH)/policy.md --tools $(CARBENCH)/tools.json \
	    --results $(CARBENCH)/trajectories_*.jsonl.gz
endif

MAN_FEATURES ?= compile
man: ## Manual pages and shell completions into target/man; MAN_FEATURES=kuksa: of an image's programs (yocto/README.md)
	rm -rf target/man
	cargo run --quiet --release --no-default-features --features $(MAN_FEATURES),man --bin obligato -- man target/man

reference: ## The reference of the D-Bus API (src/service/API.md) from the running service
	OBLIGATO_WRITE_REFERENCE=1 cargo test --quiet --all-features --test dbus the_reference_is_what

FUZZ = target/fuzz/release/obligato-fuzz
TARGET ?= draft
SECONDS_EACH ?= 600

$(FUZZ): .FORCE
	cp Cargo.lock tests/fuzz/libfuzzer/Cargo.lock
	RUSTC_WRAPPER=$(CURDIR)/tests/fuzz/libfuzzer/rustc cargo build --quiet --release \
	    --manifest-path tests/fuzz/libfuzzer/Cargo.toml --target-dir target/fuzz
.PHONY: .FORCE

fuzz: $(FUZZ) ## Look for inputs that break a target: make fuzz TARGET=blob|draft|transcript|cedar|tools|messages|phrases
	mkdir -p target/fuzz/found/$(TARGET)
	cd target/fuzz/found && FUZZ_TARGET=$(TARGET) ../release/obligato-fuzz -max_total_time=$(SECONDS_EACH) -timeout=20 \
	    -max_len=16384 -rss_limit_mb=3000 -print_final_stats=1 $(TARGET) ../../../tests/fuzz/corpus/$(TARGET)

fuzz-keep: $(FUZZ) ## Keep of what `make fuzz` found the few inputs that reach the most
	tests/fuzz/libfuzzer/keep $(TARGET) $(FUZZ) target/fuzz/found/$(TARGET) tests/fuzz/corpus/$(TARGET)

MINUTES ?= 20
soak: ## Eight clients for MINUTES, one of them hostile: the others' times, memory, executions
	SOAK_MINUTES=$(MINUTES) cargo bench --no-default-features --features compile --bench soak

start: ## Time from start to name owned and memory, without a model
	cargo bench --no-default-features --features compile --bench start

cross: ## Both programs for an aarch64 head unit into target/cross; CPU=dotprod, FEATURES=kuksa (cross/README.md)
	@cross/build

verify-work: ## Instructions of one check on aarch64 against what is recorded; after make cross
	@cross/verify-work

cross-twice: ## The same two times, compared byte by byte
	@cross/twice

cross-test: ## Tests as aarch64 programs under qemu-user
	@cross/test

bench-qemu: ## An arm64 image with the real units, booted under QEMU, and a scenario inside
	@cross/qemu/bench

yocto-check: ## Checks of the Yocto layer that need no build farm
	yocto/check

score: ## Score verify and replay on the shared recordings, where they are present
ifeq ($(wildcard $(SCORE)),)
	@echo 'score: $(SCORE) is not here; nothing to score'
else
	cargo build --quiet --release --no-default-features --features compile --bin obligato
	target/release/obligato compile policies/car-bench --policy $(CARBENCH)/policy.md --tools $(CARBENCH)/tools.json \
	    -o target/car-bench.obl
	python3 $(SCORE)/situations.py target/release/obligato target/car-bench.obl
	python3 $(SCORE)/replay_score.py target/release/obligato target/car-bench.obl $(CARBENCH)/trajectories_*.jsonl.gz
endif
