# Everything is installed into .venv; nothing outside this folder is touched.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
SEEDS ?= 200

.PHONY: grade install test lint docs strength feedback verify-seeds bench bench-class fuzz endure isolation clean

# A kata that is not solved yet makes `grade` exit with 1, which is news and no error of make's.
grade: $(INSTALLED)
	@$(BIN)/grade || { code=$$?; test $$code -eq 1 || exit $$code; }

install: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed.")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[torch,seal,notebooks,dev]'
	$(BIN)/python -m compileall -q grader
	@touch $@

test: lint
	$(BIN)/pytest -n 2 tests/grader -m 'not slow'
	$(BIN)/pytest -n 2 --dist worksteal tests/grader -m slow
	$(BIN)/pytest -n 2 tests/katas --student=reference
	$(BIN)/kata verify

lint: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The table of katas in the docs, from the course itself.
docs: $(INSTALLED)
	@{ sed '/^## /,$$d' docs/katas.md; $(BIN)/kata overview; } > docs/katas.new && mv docs/katas.new docs/katas.md

# Wrong versions of every reference, and which of them the checks miss; the counts go into the docs.
strength: $(INSTALLED)
	$(BIN)/kata verify --mutate --page docs/strength.md

# What a student reads for every mistake, a page a kata, in build/feedback.
feedback: $(INSTALLED)
	$(BIN)/kata feedback build/feedback

# The banks of cases are drawn from one seed; no right answer may be refused under any other.
verify-seeds: $(INSTALLED)
	$(BIN)/kata verify --seeds $(SEEDS)

bench: $(INSTALLED)
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/isolation.py
	$(BIN)/python benchmarks/notebooks.py

# The others are installed into an environment of their own: a network is needed once.
bench-class: $(INSTALLED)
	$(BIN)/python benchmarks/compare_graders.py 300 3
	$(BIN)/python benchmarks/class_sizes.py causal_mask 30 300 3000

# A hundred thousand frames, both ways; as many again, grown by coverage, where atheris installs.
fuzz: $(INSTALLED)
	DOJO_FUZZ_EXAMPLES=2000 $(BIN)/pytest tests/grader/test_fuzz.py
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[fuzz]'; \
	then $(BIN)/python tests/grader/fuzzing.py; else echo "atheris does not install here"; fi

# A thousand gradings in a row, every fifth one hostile: nothing may grow.
endure: $(INSTALLED)
	$(BIN)/python benchmarks/isolation.py --gradings 1000

# Which hostile submission gets through where a layer of the sandbox is taken away.
isolation: $(INSTALLED)
	$(BIN)/python tests/grader/grade_hostile.py --layers

clean:
	rm -rf .venv build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
