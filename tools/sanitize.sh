#!/usr/bin/env bash
# sanitize.sh asan|ubsan|tsan [ROOM ...]: builds the unit tests of these rooms with that sanitizer and runs them; without rooms
# those of all, for tsan of the rooms with threads. A room's tests run in one process (a process a case would register all
# operations a thousand times) and leave build/PRESET/ROOM.log.
#
# THALWEG_BUILD_UNTIL, in seconds since 1970: rooms that are not built by then count as not run.
set -uo pipefail
preset=$1
shift
rooms=$*
[[ $preset != tsan || -n $rooms ]] || rooms="base kernel resources ops_collective ops_io ops_lookup ops_queue ops_random ops_state ops_training executor session api"
# What a bus error does is for the library's own handler to say (base/bus_errors.h); one that it does not mend ends the tests.
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1:handle_sigbus=0
export UBSAN_OPTIONS=print_stacktrace=1:handle_sigbus=0
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:handle_sigbus=0

cmake --preset "$preset" >/dev/null || exit 1
[[ -n $rooms ]] || rooms=$(<"build/$preset/unit_tests.txt")

# Those that the last run had no time for come first, then the commit decides where to begin.
[[ -z ${THALWEG_BUILD_UNTIL:-} ]] || rooms=$(python3 tools/not_run.py order "$preset" $rooms)

seconds_left() { echo $((${THALWEG_BUILD_UNTIL:-$(($(date +%s) + 86400))} - $(date +%s))); }

run_room() {  # run_room ROOM
  local log=build/$preset/$1.log plain_layout=() status=0
  # The sanitizers' shadow memory wants a plain address layout, which kernels with many random bits do not give.
  setarch "$(uname -m)" -R true 2>/dev/null && plain_layout=(setarch "$(uname -m)" -R)
  python3 tools/counted.py "$preset $1" -- timeout -k 10 600 "${plain_layout[@]}" "build/$preset/bin/$1_test" >"$log" 2>&1 || status=1
  if [[ $status = 0 ]]; then tail -n 1 "$log"; else tail -n 120 "$log"; fi
  return $status
}

failed=0 running=0
end_one() { wait -n || failed=1; running=$((running - 1)); }

for room in $rooms; do  # built one after the other, so that what is left out is whole rooms; each runs while the next is built
  seconds=$(seconds_left)
  if ((seconds <= 0)); then
    python3 tools/counted.py "$preset $room" --not-run
  elif timeout "$seconds" python3 tools/build_progress.py "build/$preset" "$(nproc)" "${room}_test"; then
    while ((running >= $(nproc))); do end_one; done
    run_room "$room" &
    running=$((running + 1))
  elif (($(seconds_left) <= 0)); then
    python3 tools/counted.py "$preset $room" --not-run
  else
    failed=1
    break
  fi
done
while ((running > 0)); do end_one; done
exit $failed
