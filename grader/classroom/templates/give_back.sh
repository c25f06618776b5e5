#!/usr/bin/env bash
# Give the feedback back: push each page to the branch `feedback` of its repository, or open an issue.
#
#   bash grades/feedback/give_back.sh SUBMISSIONS            # commits
#   bash grades/feedback/give_back.sh SUBMISSIONS --issues   # issues, by GitHub's command gh
#
# SUBMISSIONS is the folder with the clones that were graded. Commits: run it again for those that failed.
set -uo pipefail
submissions="$1"
how="${2:---commits}"
pages="$(cd "$(dirname "$0")/repositories" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
number=0
failed=0

commit() { # FOLDER URL
    git clone --quiet --depth 1 -- "$2" "$work/clone" </dev/null 2>/dev/null || return 1
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

for folder in "$pages"/*/; do
    folder="${folder%/}"
    name="$(basename "$folder")"
    number=$((number + 1))
    url="$(git -C "$submissions/$name" remote get-url origin 2>/dev/null)"
    if [ -z "$url" ]; then
        done=1
    elif [ "$how" = "--issues" ]; then
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
done
echo "$number repositories, $failed failed."
test "$failed" -eq 0
