#!/usr/bin/env bash
# sanitize.sh asan|ubsan|tsan [ROOM ...]: builds the unit tests of these rooms with that sanitizer and runs them; without rooms
# those of all, for tsan of the rooms with threads. A room's tests run in one process (a process a case would register all
# operations a thousand times) and leave build/PRESET/ROOM.log.
#
# THALWEG_BUILD_UNTIL, in seconds since 1970: rooms that are not built by then are named and left out.
set -uo pipefail
preset=$1
shift
rooms=$*
[[ $preset != tsan || -n $rooms ]] || rooms="base kernel ops_collective ops_io ops_lookup ops_queue ops_random ops_state ops_training executor session api"
export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

cmake --preset "$preset" >/dev/null || exit 1
[[ -n $rooms ]] || rooms=$(<"build/$preset/unit_tests.txt")

seconds_left() { echo $((${THALWEG_BUILD_UNTIL:-$(($(date +%s) + 86400))} - $(date +%s))); }

built=() left_out=()
for room in $rooms; do  # one after the other: what is left out when time is up is whole rooms
  seconds=$(seconds_left)
  if ((seconds > 0)) && timeout "$seconds" cmake --build --preset "$preset" -j "$(nproc)" --target "${room}_test"; then
    built+=("$room")
  elif (($(seconds_left) <= 0)); then
    left_out+=("$room")
  else
    exit 1
  fi
done

run_room() {  # run_room PRESET ROOM
  local log=build/$1/$2.log plain_layout=() status=0
  # The sanitizers' shadow memory wants a plain address layout, which kernels with many random bits do not give.
  setarch "$(uname -m)" -R true 2>/dev/null && plain_layout=(setarch "$(uname -m)" -R)
  python3 tools/counted.py "$1 $2" -- timeout -k 10 600 "${plain_layout[@]}" "build/$1/bin/$2_test" >"$log" 2>&1 || status=1
  if [[ $status = 0 ]]; then tail -n 1 "$log"; else tail -n 120 "$log"; fi
  return $status
}
export -f run_room

((${#left_out[@]} == 0)) || echo "NOT RUN, the time to build them was over: $preset ${left_out[*]}"
((${#built[@]} > 0)) || exit 0
printf '%s\n' "${built[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run_room "$@"' _ "$preset" {} || exit 1
