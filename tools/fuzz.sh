#!/usr/bin/env bash
# fuzz.sh SECONDS: builds every fuzzer with clang's libFuzzer and runs them one after another, SECONDS in all, beginning with
# the committed corpus tests/fuzz/NAME/. What a fuzzer finds is left in build/fuzz/found/ with the command that repeats it.
set -uo pipefail
seconds=$1
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
cmake --preset fuzz >/dev/null && cmake --build --preset fuzz -j "$(nproc)" --target fuzzers || exit 1

fuzzers=(build/fuzz/bin/*_fuzz)
[[ -x ${fuzzers[0]} ]] || { echo "no fuzzers"; exit 1; }
each=$((seconds / ${#fuzzers[@]}))
[[ $each -ge 1 ]] || each=1
failed=0
quietly() {  # quietly LOG COMMAND...: how much was tried, or the end of the log of a failure
  local log=$1
  shift
  if "$@" >"$log" 2>&1; then grep -E 'executed_units|peak_rss' "$log"; else tail -60 "$log"; return 1; fi
}
export -f quietly
mkdir -p build/fuzz/found
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer" _fuzz)
  mkdir -p "build/fuzz/corpus/$name"
  python3 tools/counted.py "fuzz $name" -- bash -c 'quietly "$@"' - "build/fuzz/$name.log" "$fuzzer" -max_total_time="$each" -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$name-" \
    "build/fuzz/corpus/$name" "tests/fuzz/$name" || failed=1
done
exit $failed
