#!/bin/sh
# Runs for every submission. The question's tests/kata names the kata; the image holds the rest.
cd "${DOJO:-/dojo}" || exit 1
grade="${GRADE:-/grade}"
mkdir -p "$grade/results"
"${PYTHON:-python3}" -I -m grader.cli.grade "$(cat "$grade/tests/kata")" --submission "$grade/student" \
    --format prairielearn --output "$grade/results/results.json" --key keys
if [ "$?" -gt 2 ]; then  # our own fault costs no attempt
    echo '{"gradable": false, "message": "This is our fault, not yours: the grader could not run."}' \
        > "$grade/results/results.json"
fi
