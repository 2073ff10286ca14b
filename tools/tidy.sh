#!/usr/bin/env bash
# clang-tidy on the C++ sources that differ from the base: $THALWEG_LINT_BASE, else origin/main, else the commit before.
# A source that clang 14 cannot parse (it lacks parts of C++20) is named and passed over: gcc's verdict is the one that counts.
set -uo pipefail
base=${THALWEG_LINT_BASE:-$(git merge-base HEAD origin/main 2>/dev/null)}
[[ -n $base && $base != $(git rev-parse HEAD) ]] || base=$(git rev-parse --verify -q HEAD~1 || git hash-object -t tree /dev/null)

tidy() {
  local output
  output=$(clang-tidy-14 --quiet -p build/files "$1" 2>/dev/null) && { echo "ok $1"; return; }
  if grep -q 'clang-diagnostic-error' <<<"$output"; then
    echo "unreadable $1"
  else
    grep -v 'warnings generated' <<<"$output"
    echo "bad $1"
  fi
}
export -f tidy

mapfile -t changed < <(git diff --name-only --diff-filter=d "$base" -- 'thalweg/*.cc' 'python/*.cc' 'cli/*.cc' | grep -v _fuzz.cc)
echo "${#changed[@]} changed sources since $base"
[[ ${#changed[@]} -gt 0 ]] || exit 0
# Its compile commands are those of one file each; the generated headers come with two small targets.
cmake --preset files >/dev/null && cmake --build --preset files --target thalweg_messages_header thalweg_ops_header >/dev/null || exit 1
verdicts=$(printf '%s\0' "${changed[@]}" | xargs -0 -r -P "$(nproc)" -I{} bash -c 'tidy {}')
grep -v '^ok ' <<<"$verdicts"
bad=$(grep -c '^bad ' <<<"$verdicts")
echo "$((${#changed[@]} - bad)) passed, $bad failed"
[[ $bad = 0 ]]
