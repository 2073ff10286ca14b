#!/usr/bin/env bash
# Runs all tests of a release build; with a FILTER those whose name matches it. `./dev test` has built everything before.
set -uo pipefail
filter=${1:-}
failed=0
least=(--min 1)
none_yet=(--min 0)  # for the parts that have no tests yet
ctest=(ctest --test-dir build/release -j "$(nproc)" --output-on-failure --timeout 120)
pytest=(.venv/bin/python -m pytest -q -p no:cacheprovider --ignore=tests/conformance)
if [[ -n $filter ]]; then
  least=(--min 0)
  ctest+=(-R "$filter")
  pytest+=(-k "$filter")
fi
export PYTHONPATH=$PWD/build/release/python

pytest() {  # pytest NAME FOLDER
  [[ -e $2 ]] || { echo "== $1: nothing in $2 yet"; return; }
  counted "$1" "${pytest[@]}" "$2"
}
counted() { python3 tools/counted.py "$1" "${least[@]}" -- "${@:2}" || failed=1; }

counted "unit tests" "${ctest[@]}" -L unit
least=("${none_yet[@]}")
counted "C++ examples and whole programs" "${ctest[@]}" -LE unit
pytest "Python package" python/tests
pytest "Python examples" examples/python
pytest "whole programs" tests
pytest "checks of the house" tools/tests

if [[ -n $filter ]] && ! grep -q '"passed": [1-9]' "$THALWEG_COUNTS"; then
  echo "no test matches '$filter'"
  failed=1
fi
python3 tools/counted.py --sum || failed=1
exit $failed
