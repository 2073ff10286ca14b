#!/usr/bin/env bash
# fuzz.sh SECONDS [NAME...]: builds fuzzers with clang's libFuzzer and runs them one after another, SECONDS in all, each beginning
# with its committed corpus tests/fuzz/NAME/ and what earlier runs have left in build/fuzz/corpus/NAME/. With `fixed` for SECONDS each
# tries the committed corpus and 1000 inputs made of it, the same each time: a commit passes .ci/run always or never. Without names all of them; `parsers` stands for all but `services` and `kernels`, which
# need the whole machine built (14 minutes on two cores) and come last, as a step of their own. What a fuzzer finds is left in
# build/fuzz/found/ with the command that repeats it.
#
# THALWEG_BUILD_UNTIL, in seconds since 1970: fuzzers that are not built by then count as not run.
set -uo pipefail
seconds=$1
shift
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1

parsers=()
machine=()
for folder in tests/fuzz/*/; do
  name=$(basename "$folder")
  case $name in
    services | kernels) machine+=("$name") ;;
    *) parsers+=("$name") ;;
  esac
done
if [[ $# = 0 ]]; then
  names=("${parsers[@]}" "${machine[@]}")
else
  names=()
  for name in "$@"; do
    if [[ $name = parsers ]]; then
      names+=("${parsers[@]}")
    else
      names+=("$name")
    fi
  done
fi
if [[ $seconds != fixed ]]; then
  each=$((seconds / ${#names[@]}))
  [[ $each -ge 1 ]] || each=1
fi

seconds_left() { echo $((${THALWEG_BUILD_UNTIL:-$(($(date +%s) + 86400))} - $(date +%s))); }
build() {  # build NAME...
  local seconds
  seconds=$(seconds_left)
  ((seconds > 0)) || return 1
  cmake --preset fuzz >/dev/null && timeout "$seconds" python3 tools/build_progress.py build/fuzz "$(nproc)" "${@/%/_fuzz}"
}
quietly() {  # quietly LOG COMMAND...: how much was tried, or the end of the log of a failure
  local log=$1
  shift
  if "$@" >"$log" 2>&1; then grep -E 'executed_units|peak_rss' "$log"; else tail -60 "$log"; return 1; fi
}
export -f quietly
run() {  # run NAME
  local corpus=build/fuzz/corpus/$1 how=() plain_layout=() inputs=()
  if [[ $seconds = fixed ]]; then
    # What would differ from run to run: what earlier ones have found, the order of files in a folder, and addresses, which are told
    # apart where they are compared (-use_cmp).
    corpus=build/fuzz/fixed/$1
    rm -rf "$corpus"
    mapfile -t inputs < <(find "tests/fuzz/$1" -type f | LC_ALL=C sort)
    (IFS=, && echo "${inputs[*]}" >"build/fuzz/$1.inputs")
    how=(-seed=1 -runs=$((${#inputs[@]} + 1000)) -use_cmp=0 -seed_inputs="@build/fuzz/$1.inputs" -max_total_time=600)
    setarch "$(uname -m)" -R true 2>/dev/null && plain_layout=(setarch "$(uname -m)" -R)
  else
    how=(-max_total_time="$each" "tests/fuzz/$1")
  fi
  mkdir -p "$corpus" build/fuzz/found
  python3 tools/counted.py "fuzz $1" -- bash -c 'quietly "$@"' - "build/fuzz/$1.log" "${plain_layout[@]}" "build/fuzz/bin/$1_fuzz" \
    -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="build/fuzz/found/$1-" "$corpus" "${how[@]}"
}

failed=0
all() {  # all NAME...: those of them that were asked for, built together, then run
  local name mine=()
  for name in "$@"; do [[ " ${names[*]} " != *" $name "* ]] || mine+=("$name"); done
  [[ ${#mine[@]} -gt 0 ]] || return 0
  if ! build "${mine[@]}"; then
    if (($(seconds_left) > 0)); then
      failed=1
    else
      for name in "${mine[@]}"; do python3 tools/counted.py "fuzz $name" --not-run; done
    fi
    return
  fi
  for name in "${mine[@]}"; do run "$name" || failed=1; done
}
all "${parsers[@]}"
all "${machine[@]}"
exit $failed
