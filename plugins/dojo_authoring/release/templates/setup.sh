#!/usr/bin/env bash
# Runs once, when the autograder's image is built.
# The grader needs Python 3.11 or newer, and Gradescope's default image has 3.10: uv brings its own.
set -euo pipefail
host="${AUTOGRADER:-/autograder}"
cd "$host/source"

with_the_image() {
    for python in python3.14 python3.13 python3.12 python3.11 python3; do
        if "$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            if "$python" -I -m venv --clear "$host/venv" 2>/dev/null; then return 0; fi
        fi
    done
    return 1
}

with_uv() {
    python3 -I -m venv --clear "$host/uv" && "$host/uv/bin/python" -I -m pip install --quiet uv || return 1
    "$host/uv/bin/uv" venv --seed --clear --python 3.12 "$host/venv"
}

apt-get update -qq && apt-get install -y -qq python3-venv || echo "apt-get failed; trying without it."
if ! with_the_image && ! with_uv; then
    echo "No Python 3.11 or newer could be installed: choose an image that has one, Ubuntu 24.04 for example." >&2
    exit 1
fi
PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu \
    "$host/venv/bin/python" -I -m pip install --quiet -r requirements.txt
