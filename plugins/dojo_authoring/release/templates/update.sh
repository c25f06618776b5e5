#!/usr/bin/env bash
# Bring this release into the students' repositories: clone each, update it, commit, push.
#
#   bash .github/update.sh repositories.txt
#   gh repo list ORGANISATION --limit 1000 --json sshUrl --jq '.[].sshUrl' | grep hw1- | bash .github/update.sh -
#
# The list has a URL or path a line. A student's work stays; run the script again for those that failed.
set -uo pipefail
release="$(cd "$(dirname "$0")/.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=0
number=0
while IFS= read -r repository || [ -n "$repository" ]; do
    if [ -z "$repository" ]; then continue; fi
    number=$((number + 1))
    clone="$work/$number"
    # Links in a student's repository become plain files, so that nothing is written through them.
    if ! git clone --quiet --depth 1 -c core.symlinks=false -- "$repository" "$clone" </dev/null; then
        echo "failed: $repository could not be cloned"
        failed=$((failed + 1))
        continue
    fi
    if ! told="$("${KATA:-kata}" update "$release" "$clone" </dev/null 2>&1)"; then
        echo "failed: $repository: $told"
        failed=$((failed + 1))
        continue
    fi
    git -C "$clone" add --all
    if git -C "$clone" diff --cached --quiet; then
        echo "as it is: $repository"
    elif git -C "$clone" commit --quiet --message "Update the katas" </dev/null &&
        git -C "$clone" push --quiet origin HEAD </dev/null; then
        echo "updated: $repository"
    else
        echo "failed: $repository could not be pushed to"
        failed=$((failed + 1))
    fi
    rm -rf "$clone"
done < <(if [ "${1:--}" = "-" ]; then cat; else cat -- "$1"; fi)
echo "$number repositories, $failed failed."
test "$failed" -eq 0
