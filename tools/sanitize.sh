#!/usr/bin/env bash
# sanitize.sh asan|ubsan|tsan [ROOM ...]: builds the unit tests of these rooms with that sanitizer and runs them; without rooms
# those of all, for tsan of the rooms with threads.
set -uo pipefail
preset=$1
shift
rooms=$*
[[ $preset != tsan || -n $rooms ]] || rooms="base kernel ops_io ops_random ops_state executor session api"
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# The sanitizers' shadow memory wants a plain address layout, which kernels with many random bits do not give.
plain_layout=()
setarch "$(uname -m)" -R true 2>/dev/null && plain_layout=(setarch "$(uname -m)" -R)

cmake --preset "$preset" >/dev/null || exit 1
targets=unit_tests
# shellcheck disable=SC2086
[[ -z $rooms ]] || targets=$(printf '%s_test ' $rooms)
# shellcheck disable=SC2086
cmake --build --preset "$preset" -j "$(nproc)" --target $targets || exit 1

failed=0
check() {  # check NAME SELECTION...
  python3 tools/counted.py "$1" -- "${plain_layout[@]}" ctest --test-dir "build/$preset" -j "$(nproc)" \
    --output-on-failure --timeout 300 "${@:2}" || failed=1
}
if [[ -n $rooms ]]; then
  for room in $rooms; do check "$preset $room" -R "^$room:"; done
else
  check "$preset" -L unit
fi
exit $failed
