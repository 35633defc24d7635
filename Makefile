# How deed is built and tested. Run make without a target for the list.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# The version is stamped by the linker from the tags. Stamping by the go command is off: it fails in a clone that
# belongs to another user, which a build machine may well have.
VERSION ?= $(shell git -c safe.directory='*' describe --tags --always --dirty 2>/dev/null || echo unknown)
export GOFLAGS ?= -buildvcs=false

# deed is pure Go. cgo is on for the race detector alone, which needs a C compiler.
export CGO_ENABLED := 0
RACE := $(if $(shell command -v gcc || command -v clang),yes)

TOOLS := .cache/tools
LINT  := $(TOOLS)/golangci-lint

##@ Develop

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	  /^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## Build bin/deed with its version stamped in
	go build -trimpath -ldflags '-s -w -X github.com/deedrun/deed/internal/cli.version=$(VERSION)' -o bin/deed ./cmd/deed

.PHONY: fmt
fmt: $(LINT) ## Format all Go code
	$(LINT) fmt ./...
	cd tools && ../$(LINT) fmt ./leakrules ./portable ./testrun

##@ Check

.PHONY: setup
setup: ## Install what the tests need, as far as this user may
	@scripts/setup.sh

# Everything: checks and tests all run, whatever fails before them; the last line counts them. The checks run one after the other,
# concurrently with the tests. The tests run once, under the race detector where there is a C compiler. One package more than there are processors runs at a time, since many
# tests wait for time limits; those that take longest come first, so that none of them is left alone at the end. Benchmarks are for make bench.
LONG := ./judge ./internal/cli ./internal/store ./internal/attempt
.PHONY: test
test: setup $(TOOLS)/testrun ## Run all checks and tests, and count them
	@go build -o .cache/test/clustertest ./internal/store/pgtest/clustertest
	@$(if $(RACE),CGO_ENABLED=1) .cache/test/clustertest $(TOOLS)/testrun \
	  -check 'own=[ -x $(LINT) ] || { echo "missing tool: golangci-lint: see what make setup said"; exit 77; }; $(MAKE) own' \
	  -check 'darwin=$(MAKE) darwin' \
	  -check 'tools=cd tools && go vet ./leakrules ./portable ./testrun && go test ./leakrules ./portable ./testrun' \
	  -check 'race=$(if $(RACE),true,echo "missing tool: gcc: apt-get install gcc libc6-dev"; exit 77)' \
	  -- $(if $(RACE),-race) -p $$(( $$(getconf _NPROCESSORS_ONLN) + 1 )) -timeout 38m $$(go list -e $(LONG) ./... | grep -v /bench | awk '!seen[$$0]++')

# What a small change calls for. Nothing is installed. Tests that need more than Go and git (sandboxes, PostgreSQL, a browser, agents, the
# built binary) skip themselves under -short; the last line counts them as skipped, and make test runs them.
.PHONY: quick
quick: $(TOOLS)/testrun ## Check a small change: vet, lint of what changed, tests that need nothing
	@$(TOOLS)/testrun -check 'vet=go vet ./...' -check 'lint=scripts/lint_changed.sh' \
	  -- -short -timeout 10m $$(go list ./... | grep -v /bench)

.PHONY: lint
lint: $(LINT) ## Run the linters of .golangci.yml
	@$(LINT) run ./...
	@cd tools && ../$(LINT) run ./leakrules ./portable ./testrun

# deed is its own first user: its linters and some of its tests run through it, as anybody's would.
.PHONY: own
own: $(LINT) ## Have deed lint and test its own repository
	@go build -o .cache/own/deed ./cmd/deed
	@PATH="$(abspath $(TOOLS)):$$PATH" .cache/own/deed --home .cache/own/home lint
	@.cache/own/deed --home .cache/own/home test --extension go --require-counts -- ./contract/... ./internal/checks/check ./internal/checks/baseline
	@cd tools && ../$(LINT) run ./leakrules ./portable ./testrun

.PHONY: darwin
darwin: $(TOOLS)/portable ## Check that deed compiles for macOS
	@$(TOOLS)/portable darwin

##@ Measure

.PHONY: bench
bench: ## Print speeds as ratios to a floor measured in the same run
	DEED_BENCH=1 go test ./bench/... -run Bench -v -count=1 -timeout 60m

.PHONY: judge
judge: ## Hold deed's verdicts against the corpus (JUDGE='-form shell -keep DIR', ...)
	@mkdir -p .cache/judge
	@go build -trimpath -ldflags '-X github.com/deedrun/deed/internal/cli.version=$(VERSION)' -o .cache/judge/deed ./cmd/deed
	@go run ./judge -out .cache/judge/result.json $(JUDGE)

.PHONY: soak
soak: ## Fuzz, repeat the crash tests, live years (SOAK_SECONDS, SOAK_CRASHES, SOAK_YEARS)
	@scripts/soak.sh

.PHONY: clean
clean: ## Remove what was built here
	rm -rf bin .cache

$(TOOLS)/golangci-lint: tools/go.mod tools/go.sum
	@go build -C tools -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/portable: tools/go.mod $(wildcard tools/portable/*.go)
	@go build -C tools -o ../$@ ./portable

$(TOOLS)/testrun: tools/go.mod $(wildcard tools/testrun/*.go)
	@go build -C tools -o ../$@ ./testrun
