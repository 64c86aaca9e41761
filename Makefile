# For everyday use. Before a merge `.ci/run` must pass: it also checks the dependencies (cargo-deny), the clients of `make sdk`
# and the static binary.
CARGO ?= cargo

.PHONY: help check test record sdk client bench benches dist run clean

help:
	@echo "make check   formatting, lints, documentation"
	@echo "make test    the Rust tests"
	@echo "make record  renews what tests have recorded: the OpenAPI document with its examples, words of refusals, the generated pages; read the difference"
	@echo "make sdk     the tests with a real push client and a browser (node 20, chromium)"
	@echo "make client  the tests of the web client, in node and in browsers (node 20, chromium, firefox, webkit)"
	@echo "make bench   measures the server beside the limits of the machine, and writes docs/performance.md"
	@echo "make benches the other benchmarks: the writer, attacks, equal times of refusals, slow readers, dear searches, the web client"
	@echo "make dist    the static release binary and its archive in dist/"
	@echo "make run     build and start a server on 127.0.0.1:8080"

check:
	$(CARGO) fmt --check
	$(CARGO) clippy --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --no-deps --document-private-items

test:
	$(CARGO) test

record:
	UPDATE_DOCS=1 $(CARGO) test --test api -- refusals:: documents::

sdk:
	$(CARGO) build --bin tidings --example listen --example receiver
	cd tests/sdk && npm ci && npm test

client:
	$(CARGO) build --bin tidings
	cd tests/sdk && npm ci
	cd tests/client && npm ci && npm run types && npm test
	cd tests/browser && npm ci && npm test

bench:
	$(CARGO) bench --bench speed -- --write

benches:
	$(CARGO) bench --bench writer --bench abuse --bench refusals --bench readers --bench searches
	$(CARGO) build --release --bin tidings
	cd tests/client && npm ci
	cd tests/browser && npm ci
	TIDINGS_BIN=$$(ls -t target/*/release/tidings | head -n 1) node benches/client.mjs

dist:
	./dist.sh

run:
	$(CARGO) run --release -- serve

clean:
	$(CARGO) clean
	rm -rf dist
