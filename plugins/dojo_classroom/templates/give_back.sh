#!/usr/bin/env bash
# Give the feedback back: push each page to the branch `feedback` of its repository, or open an issue.
#
#   bash grades/feedback/give_back.sh repositories.txt            # commits
#   bash grades/feedback/give_back.sh repositories.txt --issues   # issues, by GitHub's command gh
#   gh repo list ORGANISATION --limit 1000 --json sshUrl --jq '.[].sshUrl' | bash grades/feedback/give_back.sh -
#
# The list has a URL or path a line; its last part is the name of the folder that was graded. The graded clones
# are not asked where they came from: a student may have uploaded one. Run it again for those that failed.
set -uo pipefail
list="$1"
how="${2:---commits}"
pages="$(cd "$(dirname "$0")/repositories" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
number=0
failed=0

commit() { # FOLDER URL
    # Links in a student's repository become plain files, so that nothing is written through them.
    git clone --quiet --depth 1 -c core.symlinks=false -- "$2" "$work/clone" </dev/null 2>/dev/null || return 1
    cd "$work/clone" || return 1
    if git fetch --quiet --depth 1 origin feedback </dev/null 2>/dev/null; then
        git checkout --quiet -B feedback FETCH_HEAD || return 1
    else
        git checkout --quiet -b feedback || return 1
    fi
    rm -rf feedback.html
    cp "$1/feedback.html" feedback.html || return 1
    git add --force feedback.html
    git diff --cached --quiet && return 0
    git commit --quiet --message "Feedback" </dev/null && git push --quiet origin feedback </dev/null
}

while IFS= read -r url || [ -n "$url" ]; do
    name="$(basename "$url" .git)"
    if [ ! -f "$pages/$name/feedback.html" ]; then continue; fi
    folder="$pages/$name"
    number=$((number + 1))
    echo "$name" >>"$work/names"
    if [ "$how" = "--issues" ]; then
        "${GH:-gh}" issue create --repo "$url" --title "Feedback" --body-file "$folder/feedback.md" </dev/null >/dev/null
        done=$?
    else
        rm -rf "$work/clone"
        (commit "$folder" "$url")
        done=$?
    fi
    if [ "$done" -eq 0 ]; then
        echo "given back: $name"
    else
        echo "failed: $name"
        failed=$((failed + 1))
    fi
done < <(if [ "$list" = "-" ]; then cat; else cat -- "$list"; fi)
for folder in "$pages"/*/; do
    name="$(basename "$folder")"
    if ! grep -qxF -- "$name" "$work/names" 2>/dev/null; then
        echo "failed: $name is not in the list"
        number=$((number + 1))
        failed=$((failed + 1))
    fi
done
echo "$number repositories, $failed failed."
test "$failed" -eq 0
