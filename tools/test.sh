#!/usr/bin/env bash
# Runs all tests of a release build; with a FILTER those whose name matches it. `./dev test` has built everything before.
set -uo pipefail
filter=${1:-}
failed=0
least=(--min 1)
ctest=(ctest --test-dir build/release -j "$(nproc)" --output-on-failure --timeout 300)
pytest=(.venv/bin/python -m pytest -q -p no:cacheprovider)
for verb in cluster conformance failures libraries opencl tensorboard ucx; do pytest+=("--ignore=tests/$verb"); done  # a verb of ./dev each
if [[ -n $filter ]]; then
  least=(--min 0)
  ctest+=(-R "$filter")             # a regular expression
  pytest+=(-k "${filter//|/ or }")  # words
fi
export THALWEG_COUNTS=${THALWEG_COUNTS:-$PWD/build/counts-$$.jsonl}
export PYTHONPATH=$PWD/build/release/python

counted() { python3 tools/counted.py "$1" "${least[@]}" -- "${@:2}" || failed=1; }
in_python() {
  if [[ $filter =~ [^[:alnum:]_.:/+|\ -] ]]; then
    echo "== $1: not looked at, its tests are chosen by words, or by 'this|that', not by '$filter'"
  else
    counted "$1" "${pytest[@]}" "${@:2}"
  fi
}

counted "unit tests" "${ctest[@]}" -L unit
counted "C++ examples and whole programs" "${ctest[@]}" -LE unit
in_python "Python package" python/tests
in_python "Python examples" examples/python examples/tf1 examples/cluster
in_python "whole programs" tests
in_python "checks of the house" tools/tests

if [[ -n $filter ]] && ! grep -q '"passed": [1-9]' "$THALWEG_COUNTS"; then
  echo "no test matches '$filter'"
  failed=1
fi
python3 tools/counted.py --sum  # what others counted before may have failed: `failed` is of these tests alone
exit $failed
