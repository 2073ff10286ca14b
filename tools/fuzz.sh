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
mkdir -p build/fuzz/found
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer" _fuzz)
  mkdir -p "build/fuzz/corpus/$name"
  python3 tools/counted.py "fuzz $name" -- "$fuzzer" -max_total_time="$each" -timeout=10 -rss_limit_mb=2048 -verbosity=0 \
    -print_final_stats=0 -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/corpus/$name" "tests/fuzz/$name" || failed=1
done
exit $failed
