# Every target gets what it needs, works from an empty environment, and says in
# `make help` what it is for. `make check` is what continuous integration runs,
# no more and no less.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Go on the PATH, or where its installer puts it; the tools below look for it too.
GO ?= $(shell command -v go 2>/dev/null || echo /usr/local/go/bin/go)
export PATH := $(PATH):$(dir $(GO))

# What was built or fetched once for all clones of a user.
CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/llmgw

# The linter is built from go.tools.mod, so users of the library inherit none of
# its dependencies, and a new pin is a new file.
TOOLS_PIN := $(shell cksum <go.tools.mod | cut -d ' ' -f 1)
LINT := $(CACHE)/tools/golangci-lint-$(TOOLS_PIN)

# A real inference server for the tests that want one. Without it they skip, and say so.
LLAMA := $(CACHE)/llama
FIND_LLAMA := export LLMGW_LLAMA_SERVER="$${LLMGW_LLAMA_SERVER:-$$(ls $(LLAMA)/bin/llama-server 2>/dev/null || command -v llama-server || true)}"

# The agent calls functions of the GPU driver's library that this machine lacks, and
# that an older driver lacks too: they are looked for when they are called. Where
# the linker looks for all of them at the start, the agent would not even start.
LAZY := -ldflags '-extldflags=-Wl,-z,lazy'

# Systems that the code compiles for beside this one.
# Vet needs what the compiler exports and not the code it makes, so for these it
# makes none of it fast: a quarter less time from a cold cache.
PLATFORMS ?= darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

PKG ?= ./...
FUZZTIME ?= 10s
SEED ?=
BENCH ?= .
HARNESS ?=
TRACES ?=
OPENB ?=
PEERS ?=
VERSION ?=
KEY ?=

.PHONY: help
help: ## Print this list.
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

## The whole

.PHONY: check
check: ## All that a change must pass: format, vet, lint, stale files, build, examples, race tests (15 minutes cold).
	@$(MAKE) fmt-check
	@$(MAKE) vet
	@$(MAKE) lint
	@$(MAKE) stale
	@$(MAKE) build
	@$(MAKE) examples
	@$(MAKE) test
	@echo "make check: everything passed."

.PHONY: demo
demo: ## Serve a tiny model on a real engine, from nothing to a streamed answer, in a temporary folder.
	@scripts/demo.sh

.PHONY: run
run: build ## Run the whole system on this machine, with its data under ./data.
	bin/llmgw-control dev --data ./data

## One check at a time

.PHONY: fmt
fmt: $(LINT) ## Format the code: gofumpt, imports in three groups.
	$(LINT) fmt

.PHONY: fmt-check
fmt-check: $(LINT) ## Fail on code that `make fmt` would change.
	@echo "== format"
	@$(LINT) fmt --diff || { echo "Run make fmt."; exit 1; }

.PHONY: vet
vet: ## Vet for this system and for the others that the code compiles for.
	@echo "== vet"
	@$(GO) vet $(PKG)
	@for p in $(PLATFORMS); do \
		echo "== vet $$p"; \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) vet -gcflags='all=-N -l' $(PKG); \
	done

.PHONY: lint
lint: $(LINT) ## Run the linters of .golangci.yml.
	@echo "== lint"
	@$(LINT) run $(PKG)

$(LINT): go.tools.mod go.tools.sum
	@echo "== building the linter (once, about two minutes)"
	@mkdir -p $(@D)
	@$(GO) build -modfile=go.tools.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

.PHONY: walls
walls: ## Check only the walls of the house: imports, doors, purity, budgets, comments.
	$(GO) test -count=1 ./internal/archtest

.PHONY: generate
generate: ## Write again what is made from code.
	@$(GO) generate ./...

.PHONY: stale
stale: ## Fail when `make generate` changes a file.
	@echo "== generated files"
	@scripts/stale.sh $(MAKE) generate

.PHONY: build
build: ## Build the binaries into bin/.
	@echo "== build"
	@$(GO) build ./...
	@$(GO) build $(LAZY) -o bin/ ./cmd/...

.PHONY: examples
examples: ## Run every example.
	@for d in examples/*/; do \
		if [ -e $$d/go.mod ] || ! ls $$d/*.go >/dev/null 2>&1; then continue; fi; \
		echo "== $$d"; \
		timeout 120 $(GO) run ./$$d </dev/null; \
	done

.PHONY: test
test: llama fabric-tools ## Run the tests with the race detector. PKG=./router/... for some.
	@echo "== test"
	@$(FIND_LLAMA); scripts/test.sh $(GO) test -race -timeout 15m $(PKG)

.PHONY: cover
cover: ## How much of the pure core the tests reach; it stays above 90 %.
	@$(GO) test -cover ./catalog ./inventory ./placement ./placement/reconciler ./router/openai ./adminapi/view

.PHONY: llama
llama: ## Get a real llama-server for the tests, where the host is a Debian.
	@$(FIND_LLAMA); if [ -z "$$LLMGW_LLAMA_SERVER" ]; then \
		scripts/get-llama-server.sh $(LLAMA) || echo "Tests that need a real llama-server will be skipped."; \
	fi

.PHONY: fabric-tools
fabric-tools: ## Install the tools for the tests of fabrics, where root runs this on a Debian.
	@scripts/get-fabric-tools.sh

.PHONY: release
release: ## Build the agent as a release and sign it; VERSION=v1.2.3 KEY=secret key of minisign (docs/upgrade.md).
	@[ -n "$(VERSION)" ] && [ -n "$(KEY)" ] || { echo "Say which: make release VERSION=v1.2.3 KEY=release.key"; exit 2; }
	@scripts/release.sh $(GO) "$(VERSION)" "$(KEY)"

.PHONY: deb
deb: ## Build the Debian packages into dist/.
	@scripts/deb.sh $(GO) dist

## Longer

.PHONY: install-test
install-test: ## Install both packages in a clean Debian and do what docs/install.md says (root and debootstrap needed).
	@scripts/install-test.sh $(GO)

.PHONY: e2e
e2e: llama build ## Long end-to-end tests: kills, cut downloads, full disks (tens of minutes).
	@$(FIND_LLAMA); scripts/e2e.sh $(GO)

.PHONY: test-gpu
test-gpu: ## Read the GPUs of this machine beside nvidia-smi, and run an engine on one; skipped where there is none.
	@$(FIND_LLAMA); scripts/test-gpu.sh $(GO)

.PHONY: golden
golden: ## Write golden files and scripts again; read the diff before you commit it.
	@scripts/golden.sh $(GO) $(PKG)

.PHONY: fuzz
fuzz: ## Fuzz each target for FUZZTIME (10s).
	@scripts/fuzz.sh $(GO) $(FUZZTIME)

.PHONY: sim
sim: ## Long simulations of placement and reconciling, and their laws; SEED=n repeats one.
	SEED=$(SEED) $(GO) test -tags long -count=1 -timeout 60m -run 'Sim|Law|Fix' ./placement/...

.PHONY: bench
bench: ## Go benchmarks; BENCH=name for some.
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: bench-agent
bench-agent: build ## What nodes cost: an agent at rest and killed, a gate, a hub of 10,000 agents (4 minutes, ulimit -n 10200).
	@scripts/bench-agent.sh $(GO)

.PHONY: bench-gateway
bench-gateway: build ## What a request through the router costs; HARNESS=path to the harness.
	@[ -n "$(HARNESS)" ] || { echo "Say where the harness is: make bench-gateway HARNESS=path"; exit 2; }
	@scripts/bench-gateway.sh "$(HARNESS)"

.PHONY: bench-routing
bench-routing: ## How well replicas are chosen on a simulated fleet; HARNESS=path TRACES=path.
	@[ -n "$(HARNESS)" ] && [ -n "$(TRACES)" ] || { echo "Say where they are: make bench-routing HARNESS=path TRACES=path"; exit 2; }
	@scripts/bench-routing.sh "$(HARNESS)" "$(TRACES)"

.PHONY: bench-placement
bench-placement: ## How well and how fast replicas are placed; OPENB=path HARNESS=path [PEERS=path], SEEDS and NODES shorten it.
	@[ -n "$(HARNESS)" ] && [ -n "$(OPENB)" ] || { echo "Say where they are: make bench-placement OPENB=path HARNESS=path"; exit 2; }
	@scripts/bench-placement.sh "$(HARNESS)" "$(OPENB)" "$(PEERS)"

.PHONY: clean
clean: ## Delete what was built here. Caches of other clones stay.
	rm -rf bin dist
