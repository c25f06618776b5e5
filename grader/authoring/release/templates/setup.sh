#!/usr/bin/env bash
# Runs once, when the autograder's image is built.
set -euo pipefail
apt-get update -qq && apt-get install -y -qq python3 python3-venv
python3 -m venv /autograder/venv
cd /autograder/source
PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu /autograder/venv/bin/python -m pip install --quiet -r requirements.txt
