# Requires Python 3.11+, make and a C++20 compiler; everything else is installed into .venv by pip.
PYTHON ?= python3
JOBS ?= 2
TESTS ?= tests
PYTEST_ARGS ?=
MINUTES ?= 5
SECONDS ?= 600
ARGS ?=

SOURCES := CMakeLists.txt pyproject.toml $(wildcard cpp/*/*.[ch]pp)
MODULES := $(shell find src -name '*.py' -o -name '*.pyi' -o -name py.typed)
CPP := $(wildcard cpp/*/*.[ch]pp)
BIN := .venv/bin

# $(call venv,FOLDER): create a virtual environment that can build the package without build isolation
define venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "tritree needs Python 3.11 or newer, PYTHON is " + sys.version)'
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --upgrade pip
	$(1)/bin/python -m pip install --quiet "cmake>=3.24" "ninja>=1.11" $$($(1)/bin/python tools/requirements.py build)
	touch $@
endef

.PHONY: help demo test attack fuzz bench accuracy docs check format sanitize sanitize-address sanitize-thread test-lowest clean
help:
	@echo "make demo         install into .venv and run tritree demo; output in build/tritree-demo"
	@echo "make test         install into .venv and run the tests (TESTS=FOLDER, PYTEST_ARGS=..., JOBS=2)"
	@echo "make attack       attack the package with random models, names, interrupts and kills (MINUTES=5)"
	@echo "make fuzz         load and use changed model files, guided by coverage (SECONDS=600)"
	@echo "make bench        compare speed and memory with other libraries, and update benchmarks/README.md unless quick (ARGS=\"--quick fit-small\")"
	@echo "make accuracy     compare accuracy with other libraries as fields go missing (ARGS=\"--quick\")"
	@echo "make docs         build the documentation in build/site"
	@echo "make check        check lint, format and types"
	@echo "make format       format Python and C++"
	@echo "make sanitize     run the tests with AddressSanitizer and UndefinedBehaviorSanitizer (sanitize-address), and those"
	@echo "                  of threads with ThreadSanitizer (sanitize-thread)"
	@echo "make test-lowest  run the tests with the oldest allowed dependencies (Python 3.11 or 3.12)"
	@echo "make clean        remove environments and builds"

demo: .venv/.installed-cli
	$(BIN)/tritree demo --output build/tritree-demo

test: .venv/.installed-test
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST_ARGS) $(TESTS)

attack: .venv/.installed-test
	$(BIN)/python -m tests.attack --minutes $(MINUTES)

fuzz: .venv/.installed-test .venv/.installed-fuzz
	$(BIN)/python tests/serialization/fuzz_target.py build/fuzz -artifact_prefix=build/fuzz/ \
		-max_total_time=$(SECONDS) -timeout=60 -rss_limit_mb=4096

bench: .venv/.installed-bench
	$(BIN)/python -m benchmarks --write-readme $(ARGS)

accuracy: .venv/.installed-bench .venv/.installed-bench-data .venv/.installed-cli
	$(BIN)/python -m benchmarks.accuracy $(ARGS)

docs: .venv/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "build/site/index.html"

check: .venv/.installed-dev .venv/.installed-test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(if $(CPP),$(BIN)/clang-format --dry-run -Werror $(CPP))

format: .venv/.installed-dev
	$(BIN)/ruff check --fix-only --exit-zero
	$(BIN)/ruff format
	$(if $(CPP),$(BIN)/clang-format -i $(CPP))

# The install is editable, so only changed C++ is rebuilt. The list of Python files is a dependency too: the editable
# install must learn of new files.
.venv/.created: tools/requirements.py
	$(call venv,.venv)
.venv/.modules: $(MODULES) | .venv/.created
	@echo '$(sort $(MODULES))' | cmp --silent - $@ || echo '$(sort $(MODULES))' > $@
.venv/.installed: .venv/.created .venv/.modules $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@
.venv/.installed-cli: .venv/.installed
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py cli)
	touch $@
.venv/.requirements-test: .venv/.created pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py run test)
	touch $@
.venv/.installed-test: .venv/.installed .venv/.requirements-test
	touch $@
.venv/.installed-fuzz: .venv/.created pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py fuzz)
	touch $@
.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py bench)
	touch $@
.venv/.installed-bench-data: .venv/.created pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py bench-data)
	touch $@
# the API reference is read from the sources, so nothing is built for it
.venv/.installed-docs: .venv/.created pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py docs)
	touch $@
.venv/.installed-dev: .venv/.created pyproject.toml
	$(BIN)/python -m pip install --quiet $$($(BIN)/python tools/requirements.py dev)
	touch $@

# Separate builds, in environments that share the packages of .venv. Python itself is not instrumented, so the runtimes
# are preloaded; leak detection is off because the interpreter keeps memory until it exits. ThreadSanitizer needs an
# address space that is not randomised much, see setarch(8), and runs the tests marked `threads`. pytest captures only
# what Python prints, because it would hide the reports.
preload = LD_PRELOAD="$(foreach name,$(1) stdc++,$(shell $(CXX) -print-file-name=lib$(name).so))"
sanitize: sanitize-address sanitize-thread
sanitize-address: .venv-address/.installed
	env $(call preload,asan ubsan) ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		.venv-address/bin/python -m pytest --capture=sys -n $(JOBS) $(PYTEST_ARGS) $(TESTS)
sanitize-thread: .venv-thread/.installed
	$(shell setarch -R true 2> /dev/null && echo setarch -R) env $(call preload,tsan) \
		TSAN_OPTIONS=halt_on_error=1:die_after_fork=0:suppressions=$(CURDIR)/tools/thread-sanitizer.supp \
		.venv-thread/bin/python -m pytest --capture=sys -n $(JOBS) -m threads $(PYTEST_ARGS) $(TESTS)
.venv-address/.installed: SANITIZERS = address,undefined
.venv-thread/.installed: SANITIZERS = thread
.venv-address/.installed .venv-thread/.installed: .venv-%/.installed: .venv/.requirements-test $(SOURCES) $(MODULES)
	$(PYTHON) -m venv --without-pip .venv-$*
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> $$(.venv-$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth
	$(BIN)/python -m pip --python .venv-$*/bin/python install --quiet --no-build-isolation --no-deps --force-reinstall \
		-C build-dir=build/$* -C cmake.define.TRITREE_SANITIZE=$(SANITIZERS) -C install.strip=false .
	touch $@

# A regular install with exactly the lower bounds of pyproject.toml.
# The oldest matplotlib logs deprecations of newer pyparsing releases.
test-lowest: .venv-lowest/.created
	.venv-lowest/bin/python -m pip install --quiet "pyparsing<3.3" $$(.venv-lowest/bin/python tools/requirements.py --lowest run test)
	.venv-lowest/bin/python -m pip install --quiet --no-build-isolation --no-deps --force-reinstall -C build-dir=build/lowest .
	.venv-lowest/bin/python -m pytest -n $(JOBS) $(PYTEST_ARGS) $(TESTS)
.venv-lowest/.created: tools/requirements.py
	$(call venv,.venv-lowest)

clean:
	rm -rf .venv .venv-address .venv-thread .venv-lowest build dist benchmarks/results .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
