#!/usr/bin/env bash
# All checks of the sources and of what was built. `./dev lint` has built the release preset before.
set -uo pipefail
failed=0
counted() { python3 tools/counted.py "$1" -- "${@:2}" || failed=1; }

sources() { git ls-files '*.cc' '*.h' '*.cpp' '*.c' '*.cu' | grep -v '^third_party/'; }
format() { sources | xargs -r clang-format-14 --dry-run -Werror; }
python_sources() { git ls-files '*.py' '*.pyi' | xargs .venvs/lint/bin/ruff check -q --config python/ruff.toml; }
public_types() {  # the stubs, and programs that use them
  find build/release/python/thalweg -name '*.pyi' -print0 | xargs -0 .venvs/lint/bin/mypy --config-file python/mypy.ini python/tests/typed_*.py
}
export -f sources format python_sources public_types

counted "layers" python3 tools/check_layers.py
counted "sizes" python3 tools/check_sizes.py
counted "wording" python3 tools/check_text.py
counted "labels, links and tests that documents name" python3 tools/check_docs.py
counted "labels and examples of headers" python3 tools/check_banners.py
counted "format" bash -c format
counted "Python sources" bash -c python_sources
counted "types of the public surface" bash -c public_types
counted "built objects" python3 tools/check_built.py build/release
counted "clang-tidy on changed files" tools/tidy.sh
exit $failed
