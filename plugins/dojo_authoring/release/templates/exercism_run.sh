#!/bin/sh
# Runs for every submission: run.sh SLUG FOLDER-OF-THE-SOLUTION FOLDER-OF-THE-RESULTS
input=$(cd "$2" && pwd) && output=$(cd "$3" && pwd) || exit 1
cd "${DOJO:-/dojo}" || exit 1
"${PYTHON:-python3}" -I -m grader.cli.grade "$(echo "$1" | tr - _)" --submission "$input" \
    --format exercism --output "$output/results.json" --key keys
test "$?" -le 2
