# Everything is installed into .venv. Nothing outside this folder changes, except caches.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
READY := .venv/.ready
SEEDS ?= 200
DOJO_PORT ?= 0
TESTS := tests/grader tests/plugins tests/course
EXTRAS := torch,seal,notebooks,page,tutor,editor,dev
comma := ,
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header --no-annotate
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Where this is set, every process compiles the grader and the tests again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: grade page vendor install wheel extension test test-all test-every test-core verify lint lock licences release-check docs site strength feedback verify-seeds bench bench-class gpu fuzz endure isolation colab clean

# `grade` exits with 1 while a kata is not solved. That is a result and not an error of make.
# With LIBRARY=torch all katas are answered in PyTorch, which is installed too: their stubs are written so.
grade: $(READY)
ifeq ($(LIBRARY),torch)
	@$(PIP) -c constraints.txt -e '.[torch]'
	@$(BIN)/grade start . --library torch
endif
	@$(BIN)/grade || { code=$$?; test $$code -eq 1 || exit $$code; }

# Build what the page takes from others as one module. Only who changes its versions needs this, and npm.
vendor:
	mkdir -p build/vendor
	cd plugins/dojo_page/front/vendor && cp package.json package-lock.json source.js build.js $(CURDIR)/build/vendor/
	cd build/vendor && npm ci --ignore-scripts --no-audit --no-fund && node build.js ../../plugins/dojo_page/front/vendor

# The same course in the browser, on a free port if DOJO_PORT is 0.
page: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[page]'
	@$(BIN)/grade page --port $(DOJO_PORT)

install: $(INSTALLED)

# With HASHED=1 all packages come from .ci/requirements.txt, and pip checks their hashes: CI on Linux.
$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed.")'
	$(PYTHON) -m venv .venv
ifneq ($(HASHED),)
	$(PIP) --require-hashes -r .ci/requirements.txt
	$(PIP) --no-index --no-build-isolation -e '.[$(EXTRAS)]'
else
	$(PIP) -c constraints.txt -e '.[$(EXTRAS)]'
endif
	$(BIN)/python -m compileall -q grader plugins
	@touch $@

# What a student needs: no PyTorch yet, no linters. `grade` says how to install PyTorch where a kata needs it.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed.")'
	test -e $(INSTALLED) || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

# The grader with the course and its answer keys, without solutions: pip install dist/*.whl; grade start DIR
wheel: $(INSTALLED)
	$(BIN)/kata wheel dist

# The extension of VS Code, as build/decoder-dojo-VERSION.vsix: needs Node and npm, and a network once.
extension:
	mkdir -p build
	cd editors/vscode && npm ci --ignore-scripts --silent && npx vsce package --allow-missing-repository --out ../../build/

# Build what a tag publishes, twice, and use it as a student would, without a network: docs/releasing.md
release-check: $(INSTALLED)
	$(BIN)/python .ci/release_check.py $(WHEEL)

# Renew the hashes of what CI installs, from the versions in constraints.txt and for the tools of a release.
lock: $(INSTALLED)
	$(PIP) uv
	$(LOCK) -c constraints.txt $(foreach extra,$(subst $(comma), ,$(EXTRAS)),--extra $(extra)) pyproject.toml -o .ci/requirements.txt
	$(LOCK) --group release -o .ci/release.txt

# List the licences of what users install in docs/licences.md; one that pyproject.toml does not allow is an error.
licences:
	for name in tools users; do $(PYTHON) -m venv build/$$name; done
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/release.txt
	build/users/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[torch,test,seal,notebooks,class,ray,page,tutor,editor]'
	@{ sed '/^|/,$$d' docs/licences.md; build/tools/bin/pip-licenses --python build/users/bin/python; } > build/licences.md
	@mv build/licences.md docs/licences.md

# What a change must pass: linters, types, documentation, and every test that is not slow. Five minutes on two
# cores; the three run side by side.
test: $(INSTALLED)
	@$(MAKE) --no-print-directory -j 3 lint site test-core

# The same with all examples, and the slow tests: what CI runs. A claim that is tried on every kata is tried on a
# part of them.
test-all: export DOJO_TESTS := all
test-all: $(INSTALLED)
	@$(MAKE) --no-print-directory test
	$(BIN)/pytest -n 2 --dist worksteal $(TESTS) -m 'slow and not rest'

# What test-all leaves out: the same claims on all other katas. An hour; before a release.
test-every: export DOJO_TESTS := all
test-every: $(INSTALLED)
	$(BIN)/pytest -n 2 --dist worksteal $(TESTS) -m rest

# The fast tests, and the katas as a student runs them. Tests that need Linux skip on other systems.
test-core: $(INSTALLED)
	$(BIN)/pytest -n 2 --dist worksteal -r s $(TESTS) -m 'not slow'
	$(BIN)/pytest -n 2 --dist loadfile tests/katas --student=reference

# Judge the course: every right answer passes, every mistake is caught and named. What was judged before is
# read from the user's cache, as by the tests and by `make strength`; `kata verify --fresh` judges it again.
# With PART="1 3", only the first of three parts, and what has changed since it was verified.
verify: $(INSTALLED)
	$(BIN)/kata verify $(if $(PART),--part $(PART))

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Renew the table of katas and the pictures of terminals, then build the documentation.
docs: $(INSTALLED)
	@{ sed '/^## /,$$d' docs/katas.md; $(BIN)/kata overview; } > docs/katas.new && mv docs/katas.new docs/katas.md
	@$(BIN)/python docs/record.py
	@if command -v nvim > /dev/null; then $(BIN)/python docs/record_editor.py; fi
	@if command -v chromedriver > /dev/null; then $(BIN)/python docs/record_page.py; fi
	@$(MAKE) --no-print-directory site

# The documentation as HTML in build/site. A broken link or anchor is an error; no network is used.
site: $(INSTALLED)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# Make mutants of every reference and count those that the checks miss, in docs/strength.md.
strength: $(INSTALLED)
	$(BIN)/kata verify --mutate --page docs/strength.md

# Write what a student reads for every mistake into build/feedback, a page for each kata.
feedback: $(INSTALLED)
	$(BIN)/kata feedback build/feedback

# Judge every right answer on cases from many seeds; none may be refused.
verify-seeds: $(INSTALLED)
	$(BIN)/kata verify --seeds $(SEEDS)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/save_to_verdict.py
	$(BIN)/python benchmarks/page_latency.py
	$(BIN)/python benchmarks/editor_latency.py
	$(BIN)/python benchmarks/isolation.py
	$(BIN)/python benchmarks/notebooks.py

# Compare with nbgrader and otter, which are installed into a separate environment; needs a network once.
bench-class: $(INSTALLED)
	$(BIN)/python benchmarks/compare_graders.py 20 3
	$(BIN)/python benchmarks/class_sizes.py

# Compare every verdict in PyTorch on the GPU with the one on the CPU, in benchmarks/gpu.md, and run the kernels by
# Triton where it is installed; KATAS="top_p min_p" chooses some of the former. Without a network: WHEELS=DIR
# installs from a folder of wheels (benchmarks/README.md).
gpu: $(if $(WHEELS),.venv/.wheels,$(INSTALLED))
	$(BIN)/python benchmarks/gpu.py $(KATAS)
	@if $(BIN)/python -c 'import triton' 2> /dev/null; then $(BIN)/python benchmarks/real_triton.py; fi

.venv/.wheels: pyproject.toml
	test -e $(INSTALLED) || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --find-links $(WHEELS) -e '.[torch]'
	@touch $@

# Fuzz the protocol in both directions, and again guided by coverage if atheris installs.
fuzz: $(INSTALLED)
	DOJO_FUZZ_EXAMPLES=2000 $(BIN)/pytest tests/grader/worker/test_fuzz.py
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'; \
	then $(BIN)/python tests/grader/fuzzing.py; else echo "atheris does not install here"; fi

# Grade a thousand submissions in a row, every fifth one hostile; memory and descriptors must not grow.
endure: $(INSTALLED)
	$(BIN)/python benchmarks/isolation.py --gradings 1000

# Show which hostile submission succeeds without which layer of the sandbox.
isolation: $(INSTALLED)
	$(BIN)/python tests/grader/grade_hostile.py --layers

# Run docs/notebooks/colab.ipynb with right answers and the versions of Colab; needs a network.
colab: $(INSTALLED)
	$(BIN)/python tests/grader/run_colab.py

clean:
	rm -rf .venv build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
