#!/usr/bin/env bash
# clang-tidy on the C++ sources that differ from the base: $THALWEG_LINT_BASE, else origin/main, else the commit before.
set -uo pipefail
base=${THALWEG_LINT_BASE:-$(git merge-base HEAD origin/main 2>/dev/null)}
[[ -n $base && $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse --verify -q HEAD~1 || git hash-object -t tree /dev/null)
mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- 'thalweg/*.cc' 'python/*.cc' 'cli/*.cc')
echo "${#changed[@]} changed sources since $base"
[[ ${#changed[@]} -gt 0 ]] || exit 0
printf '%s\0' "${changed[@]}" | xargs -0 -P "$(nproc)" -n 1 clang-tidy-14 --quiet -p build/release \
  --extra-arg=-Wno-unknown-warning-option
