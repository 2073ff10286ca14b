#!/usr/bin/env bash
# sanitize.sh asan|ubsan|tsan: builds the unit tests with that sanitizer and runs them. tsan covers the rooms with threads.
set -uo pipefail
preset=$1
tsan_rooms="base kernel ops_io ops_queue ops_random ops_state executor session api cluster"
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# The sanitizers' shadow memory wants a plain address layout, which kernels with many random bits do not give.
plain_layout=()
setarch "$(uname -m)" -R true 2>/dev/null && plain_layout=(setarch "$(uname -m)" -R)

cmake --preset "$preset" >/dev/null || exit 1
targets=unit_tests
if [[ $preset = tsan ]]; then
  known=$(ninja -C build/tsan -t targets all | sed -n 's/^\([a-z_]*\)_test: phony$/\1/p')
  tsan_rooms=$(for room in $tsan_rooms; do grep -qx "$room" <<<"$known" && echo "$room"; done)
  targets=$(printf '%s_test ' $tsan_rooms)
fi
# shellcheck disable=SC2086
cmake --build --preset "$preset" -j "$(nproc)" --target $targets || exit 1

failed=0
check() {  # check NAME SELECTION...
  python3 tools/counted.py "$1" -- "${plain_layout[@]}" ctest --test-dir "build/$preset" -j "$(nproc)" \
    --output-on-failure --timeout 300 "${@:2}" || failed=1
}
if [[ $preset = tsan ]]; then
  for room in $tsan_rooms; do check "tsan $room" -R "^$room:"; done
else
  check "$preset" -L unit
fi
exit $failed
