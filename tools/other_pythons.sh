#!/usr/bin/env bash
# other_pythons.sh [VERSION...]: the package under other Pythons than Debian's: 3.10, 3.12 and 3.13, as far as they are on the PATH or in
# pyenv. Compiles the extension for each over the libthalweg.so of build/release (./dev build has made it), beside the package's own
# Python files, and runs quick tests there. What is made lies in build/pythons/. Fails where one of those found fails, or none is found.
set -euo pipefail
cd "$(dirname "$0")/.."
source=$PWD built=$PWD/build/release
[[ $# -gt 0 ]] || set -- 3.10 3.12 3.13
tests=(as_tensorflow autograph autograph_python control_flow convert data eager functions graph imports messages names operations queues saver
  script_ops session training)

files=("${tests[@]/#/test_}")
files=("${files[@]/%/.py}")

interpreter() {
  local each
  for each in "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
    [[ -x $each ]] && "$each" -c 'import ssl, venv' 2>/dev/null && { echo "$each"; return 0; }
  done
  return 1
}

# extension FOLDER PYTHON: FOLDER/thalweg/_core for this Python.
extension() {
  local includes suffix objects=() unit
  includes=$("$2" -c "import numpy, sysconfig; print('-isystem', numpy.get_include(), '-isystem', sysconfig.get_path('include'))")
  suffix=$("$2" -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")
  for unit in "$built"/generated/units/python_*.cc "$source/python/src/module.cc"; do
    objects+=("$1/$(basename "$unit").o")
    # shellcheck disable=SC2086  # includes are several words
    c++ -std=c++20 -O1 -fPIC -fvisibility=hidden -Wno-cast-function-type -Wall -Wextra -Werror -Wno-missing-field-initializers \
      -I"$built/generated/include" -I"$source" -I"$built/generated" $includes -c "$unit" -o "${objects[-1]}"
  done
  # shellcheck disable=SC2016  # $ORIGIN is for the loader
  c++ -shared -o "$1/thalweg/_core$suffix" "${objects[@]}" "$1/thalweg/libthalweg.so.0" '-Wl,-rpath,$ORIGIN'
}

found=0 failed=0
for version in "$@"; do
  if ! python=$(interpreter "$version"); then
    echo "Python $version: not here"
    continue
  fi
  found=$((found + 1))
  folder=$PWD/build/pythons/$version
  rm -rf "$folder/thalweg"
  mkdir -p "$folder"
  [[ -x $folder/venv/bin/pytest ]] || { "$python" -m venv "$folder/venv" && "$folder/venv/bin/pip" install -q numpy ml_dtypes pytest; }
  cp -r "$built/python/thalweg" "$folder/thalweg"
  rm "$folder"/thalweg/_core.*.so
  if extension "$folder" "$folder/venv/bin/python" && (cd python/tests &&
      PYTHONPATH=$folder "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider "${files[@]}"); then
    echo "Python $version: passed"
  else
    echo "Python $version: FAILED"
    failed=$((failed + 1))
  fi
done
echo "$((found - failed)) passed, $failed failed"
[[ $found -gt 0 && $failed -eq 0 ]]
