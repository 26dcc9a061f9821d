# `make` lists what there is to do.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TOOLS := $(CURDIR)/.tools
LINT_VERSION := v2.15.0
VULN_VERSION := v1.1.4
LINT := $(TOOLS)/golangci-lint-$(LINT_VERSION)

.PHONY: help
help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## Build bin/locum
	@go build -ldflags "-s -w -X github.com/locumhq/locum/bootstrap.version=$(VERSION)" -o bin/locum ./bootstrap/cmd/locum

.PHONY: run
run: build ## Serve everything on SQLite, with demo data on the first start
	@bin/locum seed --optional
	@exec bin/locum serve

# Tests that drive a server wait for it about half of their time.
PARALLEL = $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

.PHONY: test
test: ## Run all tests, on SQLite and on private Postgres and Redis servers
	@go run ./test/kit/with-services -- go test -count=1 -timeout 20m -parallel $(PARALLEL) ./test/e2e ./test/chaos ./...

.PHONY: check
check: fmt vet lint arch generated tidy vuln ## Everything that needs no running server

.PHONY: fmt vet lint arch generated tidy vuln
fmt: ## Is every file formatted?
	@out=$$(gofmt -l adapters bootstrap config core migrations modules test); if [ -n "$$out" ]; then echo "not formatted (gofmt -w): $$out"; exit 1; fi

vet: ## go vet
	@go vet ./... && cd test/outsider && go vet ./...

lint: $(LINT) ## golangci-lint, see .golangci.yml
	@$(LINT) run ./... && cd test/outsider && $(LINT) run ./...

arch: ## Check the import rules and the language of comments, messages and pages
	@go test -count=1 ./test/arch

generated: ## Are generated files fresh? (needs npm)
	@adapters/gazetteer/build/check.sh
	@adapters/fiberhttp/pages/build/check.sh
	@adapters/portal/client/check.sh

tidy: ## Is go.mod tidy?
	@go mod tidy -diff && cd test/outsider && go mod tidy -diff

vuln: ## Known vulnerabilities, or the versions of what is exposed where their database cannot be reached
	@if ! out=$$(go run golang.org/x/vuln/cmd/govulncheck@$(VULN_VERSION) ./... 2>&1); then \
		case "$$out" in *"Vulnerability #"*) echo "$$out"; exit 1;; esac; \
		echo "NOT CHECKED: the vulnerability database cannot be reached; checking versions instead"; \
		go test -count=1 -run TestSecurityModules ./test/arch; \
	fi

.PHONY: sbom
sbom: build ## Write bin/sbom.json, the bill of materials in CycloneDX
	@go run ./test/kit/sbom bin/locum > bin/sbom.json
	@echo "wrote bin/sbom.json"

$(LINT):
	@echo "installing golangci-lint $(LINT_VERSION) into .tools"
	@mkdir -p $(TOOLS) && GOBIN=$(TOOLS) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION) && mv $(TOOLS)/golangci-lint $(LINT)

.PHONY: client
client: ## Write adapters/portal/client/portal.ts, the types of the TypeScript client (needs npm)
	@adapters/portal/client/check.sh write

.PHONY: rows ports
rows: ## Write test/e2e/ROWS.md, the list of operations and their tests
	@LOCUM_TEST_WRITE=1 go test -count=1 -run TestEveryOperation_HasATest ./test/e2e

ports: ## Write test/outsider/docs/ports.md, the list of ports for adapters
	@LOCUM_TEST_WRITE=1 go test -count=1 -run TestPorts_Page ./test/arch

.PHONY: bench
bench: ## Measure the hot paths beside reference programs, and search with 1,000,000 listings (about 20 minutes)
	@echo "Over HTTP on Postgres: lists, alerts, applications, events and webhooks beside reference programs, and 2,000 different searches"
	@echo "with 10,000, 100,000 and 1,000,000 listings; how long the search index of the last takes to build and open, and to show changes"
	@go run ./test/kit/with-services -- go test -run '^$$' -bench . -benchtime 2s ./test/bench/...
	@echo "The search engine alone, with 1,000,000 synthetic listings"
	@LOCUM_TEST_DOCUMENTS=1000000 go test -count=1 -timeout 30m -v -run TestOpen_LargeFolder_IsCheap -bench . -benchtime 1s ./adapters/searchindex
	@echo "Attacks beside a signed-in user: bounds are max(5 x idle, 500ms) and 512 MiB; an export of 1,000,000 listings: at least 0.7 of a bare loop, and 32 MiB"
	@set -o pipefail; LOCUM_TEST_HEAVY=1 LOCUM_TEST_BENCH=1 go run ./test/kit/with-services -- go test -count=1 -v -run 'TestAttack|TestExport_1000000' ./test/heavy | grep -E 'attacks;|rows/s|^ *--- |FAIL'

.PHONY: relevance
relevance: ## Measure the quality of search beside its baseline (UPDATE=1 rewrites the baseline)
	@LOCUM_TEST_HEAVY=1 LOCUM_TEST_WRITE=$(UPDATE) go run ./test/kit/with-services -- go test -count=1 -v -timeout 10m -run 'TestRelevance|TestVocabulary' ./test/relevance

.PHONY: fuzz
fuzz: ## Send anything to every operation, and walk at random, for some minutes (LOCUM_TEST_FUZZ=N rounds)
	@LOCUM_TEST_FUZZ=$${LOCUM_TEST_FUZZ:-200} go run ./test/kit/with-services -- go test -count=1 -timeout 60m -v -run 'TestFuzz|TestRandomWalk' ./test/e2e

.PHONY: chaos
chaos: ## Kill everything that locum runs on, for minutes, and count what is left
	@LOCUM_TEST_CHAOS=full go test -count=1 -timeout 30m ./test/chaos

# The tests that run on MariaDB, some of them on other databases, too, and on an S3 server.
HEAVY = MySQL|Mixed|TestFeed|TestLoad|TestDatabases|TestDatabaseUnavailable|S3|EveryDatabase|AddAnEndpoint|TestHostileInput|TestLongLists|TestListingStates

.PHONY: screenshots
screenshots: ## Write pictures of every page to bin/screenshots: light and dark, desktop and 320 px (about 5 minutes)
	@mkdir -p bin/screenshots
	@LOCUM_TEST_HEAVY=1 LOCUM_TEST_SCREENSHOTS=$(CURDIR)/bin/screenshots go run ./test/kit/with-services -- go test -count=1 -run TestBrowser ./test/heavy
	@echo "wrote $$(ls bin/screenshots | wc -l) pictures to bin/screenshots"

.PHONY: check-heavy check-large check-databases check-outsider
check-heavy: check-large check-databases check-outsider ## What needs a large database, MariaDB, an S3 server, npm or Chromium

check-large: ## Large databases, attacks, browsers, generated clients and relevance
	@LOCUM_TEST_HEAVY=1 go run ./test/kit/with-services -- go test -p 1 -count=1 -timeout 60m ./test/heavy/... ./test/relevance

check-databases: ## Tests that also run on MariaDB, and on an S3 server
	@LOCUM_TEST_HEAVY=1 go run ./test/kit/with-services -- go test -p 2 -count=1 -timeout 30m -run '$(HEAVY)' ./adapters/gormdb ./adapters/s3store ./bootstrap ./test/e2e

check-outsider: ## The adapters and modules of the nested module
	@cd test/outsider && go test -count=1 -timeout 20m ./...
