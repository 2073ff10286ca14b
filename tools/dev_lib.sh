# The verbs of ./dev, one function each; sourced by it with the checkout as the current folder.

export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros  # else it leaves alone what has precompiled headers
export CCACHE_DEPEND=1  # a miss costs no second preprocessing
export THALWEG_COUNTS=${THALWEG_COUNTS:-$PWD/build/counts-$$.jsonl}  # what tools/counted.py adds to
export PYTHONDONTWRITEBYTECODE=1
jobs=$(nproc)
python=.venv/bin/python
started=$SECONDS

usage_error() {
  echo "dev: $1; ./dev help says what there is" >&2
  trap - EXIT
  exit 2
}

at_most() {  # at_most VERB N ARGUMENT...: refuses more than N arguments
  local verb=$1 most=$2
  shift 2
  [[ $# -le $most ]] || usage_error "'$verb' takes at most $most argument(s), got $#"
}

say() { echo "[dev $((SECONDS - started)) s] $*"; }

finish() {
  local verb=$1 status=$2
  if [[ $status = 0 ]]; then
    say "$verb: done"
  else
    say "$verb: FAILED" >&2
    exit 1
  fi
}

counted() { python3 tools/counted.py "$@"; }

# Lines of tools/packages.txt that belong to a group, and those of them that are not installed.
packages() { awk -v group="$1" '$1 == group { print $2 }' tools/packages.txt; }
missing_packages() {
  local package
  for package in $(packages "$1"); do
    [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) = installed ]] || echo "$package"
  done
}

install_packages() {
  local missing as_root=()
  command -v dpkg-query >/dev/null || { say "no dpkg here: install by hand: $(packages "$1" | xargs)"; return; }
  missing=$(missing_packages "$1" | xargs)
  [[ -n $missing ]] || return 0
  [[ $(id -u) = 0 ]] || as_root=(sudo)
  say "installing Debian packages: $missing"
  export DEBIAN_FRONTEND=noninteractive
  "${as_root[@]}" apt-get -q -o APT::Update::Error-Mode=any update >/dev/null
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >/dev/null
}

# make_venv FOLDER REQUIREMENTS [optional|whole] [PYTHON]: made anew only where the requirements changed since. With `optional` each line is
# installed on its own, and one that cannot be had is named and left out. PYTHON: of which the environment is.
make_venv() {
  local folder=$1 requirements=$2 stamp=$1/requirements.txt base=${4:-/usr/bin/python3} line
  cmp -s "$requirements" "$stamp" && return 0
  say "making $folder from $requirements"
  rm -rf "$folder"
  "$base" -m venv "$folder" || return 1
  local pip=("$folder/bin/python" -m pip install -q --disable-pip-version-check)
  [[ ${3:-} = whole ]] && pip+=(--no-deps --no-compile) # the file names all: some are older than what they would ask for
  # With wheel there, all is built before anything is installed: a set-up would import what stands beside it otherwise.
  if line=$(grep '^wheel==' "$requirements"); then "${pip[@]}" "$line" || return 1; fi
  if [[ ${3:-} = optional ]]; then
    while read -r line; do
      "${pip[@]}" "$line" || say "not available here: $line"
    done <"$requirements"
  else
    "${pip[@]}" -r "$requirements" || return 1
  fi
  cp "$requirements" "$stamp"
}

# TensorFlow 1.15 needs Python 3.7: a working one from the PATH or from pyenv.
python_37() {
  local each
  for each in "$(command -v python3.7)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.7*/bin/python3.7; do
    [[ -x $each ]] && "$each" -c 'import ssl, venv' 2>/dev/null && { echo "$each"; return 0; }
  done
  return 1
}

old_tensorflow() {
  local old
  if ! old=$(python_37); then
    say "no Python 3.7 here: what TensorFlow 1.15 gave is compared as recorded (tests/golden)"
  elif ! make_venv .venvs/conformance-1.15 python/requirements-conformance-1.15.txt whole "$old"; then
    rm -rf .venvs/conformance-1.15
    say "TensorFlow 1.15 cannot be installed here: what it gave is compared as recorded (tests/golden)"
  fi
}

# core: what the demo needs. tests: that, and what whole builds need. Every other group stands on tests.
dev_setup() {
  at_most setup 1 "$@"
  case ${1:-core} in
    core) install_packages core; make_venv .venv python/requirements-core.txt ;;
    tests) dev_setup core; install_packages tests ;;
    lint) dev_setup tests; install_packages lint; make_venv .venvs/lint python/requirements-lint.txt ;;
    fuzz | ucx | opencl) dev_setup tests; install_packages "$1" ;;
    cuda) dev_setup tests; make_venv .venvs/cuda python/requirements-cuda.txt ;;
    failures) dev_setup tests; install_packages failures || say "rows between hosts need iproute2: they will be played without" ;;
    cluster) dev_setup tests; install_packages cluster; make_venv .venvs/cluster python/requirements-cluster.txt ;;
    peers) dev_setup tests; make_venv .venvs/peers python/requirements-peers.txt optional ;;
    conformance) dev_setup tests; make_venv .venvs/conformance python/requirements-conformance.txt; old_tensorflow ;;
    libraries)
      dev_setup tests
      make_venv .venvs/libraries python/requirements-libraries.txt whole
      make_venv .venvs/libraries-other python/requirements-libraries-other.txt whole  # found before the first by those tests that ask for it
      ;;
    tensorboard)
      dev_setup tests
      install_packages tensorboard || say "no Chromium here: pages will not be looked at"
      make_venv .venvs/tensorboard python/requirements-tensorboard.txt whole
      ;;
    *) usage_error "unknown group '$1'" ;;
  esac
}

# configure PRESET, build PRESET [TARGET...]
configure() { cmake --preset "$1" >/tmp/thalweg-cmake.$$ 2>&1 || { cat /tmp/thalweg-cmake.$$; return 1; }; }
build() {
  local preset=$1
  shift
  say "building $preset $*"
  configure "$preset"
  python3 tools/build_progress.py "build/$preset" "$jobs" "$@"
}

dev_build() {
  local times=
  if [[ ${*: -1} = --times ]]; then
    times=yes
    set -- "${@:1:$#-1}"
  fi
  at_most build 1 "$@"
  grep -q "\"name\": \"${1:-release}\", \"configurePreset\"" CMakePresets.json || usage_error "unknown preset '$1'"
  case ${1:-} in
    fuzz | ucx) dev_setup "$1" ;;
    *) dev_setup tests ;;
  esac
  build "${1:-release}"
  [[ -z $times ]] || python3 tools/build_times.py "build/${1:-release}"
  say "programs are in build/${1:-release}/bin; next: ./dev test, or PYTHONPATH=build/${1:-release}/python .venv/bin/python PROGRAM"
}

# Python that finds the package as built.
with_package() { PYTHONPATH=$PWD/build/release/python "$@"; }

dev_demo() {
  at_most demo 1 "$@"
  [[ ${1:-cluster} = cluster ]] || usage_error "'demo' takes nothing or 'cluster', got '$1'"
  local name=demo${1:+_$1}
  dev_setup core
  build release "thalweg_${name}_package"
  PYTHONPATH=$PWD/build/release/$name/python $python "examples/${1:-python}/$name.py"
  say "next: ./dev build for programs of your own (README.md has one; the demo's package in build/release/$name has little more than the demo takes), ./dev wheel for a package for pip, ./dev test for all tests"
}

dev_test() {
  at_most test 1 "$@"
  dev_setup tests
  build release
  tools/test.sh "${1:-}"
}

dev_check() {
  at_most check 1 "$@"
  [[ ${1:-status} = status ]] || usage_error "'check' takes nothing or 'status', got '$1'"
  python3 tools/check.py "$@"
}

# matplotlib, for those who ask for a picture.
plotting() {
  $python -c 'import matplotlib' 2>/dev/null && return 0
  say "installing matplotlib"
  $python -m pip install -q --disable-pip-version-check matplotlib
}

dev_bench() {
  if [[ " $* " = *" --help "* || " $* " = *" -h "* ]]; then python3 benchmarks/bench.py --help; return; fi
  if ! python3 benchmarks/bench.py --check "$@"; then  # before the build, which takes minutes
    trap - EXIT
    exit 2
  fi
  dev_setup tests
  [[ " $* " = *" --peers "* ]] && dev_setup peers
  [[ " $* " = *" --plot "* ]] && plotting
  build release
  with_package $python benchmarks/bench.py "$@"
}

dev_lint() {
  at_most lint 0 "$@"
  dev_setup lint
  build release
  tools/lint.sh
}

dev_asan() { dev_setup tests; tools/sanitize.sh asan "$@"; }
dev_ubsan() { dev_setup tests; tools/sanitize.sh ubsan "$@"; }
dev_tsan() { dev_setup tests; tools/sanitize.sh tsan "$@"; }

dev_fuzz() {
  local name
  [[ ${1:-60} =~ ^([0-9]+|fixed)$ ]] || usage_error "SECONDS is a whole number or 'fixed', got '$1'"
  for name in "${@:2}"; do
    [[ $name = parsers || -d tests/fuzz/$name ]] || usage_error "no fuzzer '$name'; there are: $(cd tests/fuzz && echo */)"
  done
  dev_setup fuzz
  tools/fuzz.sh "${1:-60}" "${@:2}"
}

dev_mutants() {
  at_most mutants 1 "$@"
  dev_setup fuzz
  $python tools/mutants.py "$@"
}

dev_soak() {
  at_most soak 1 "$@"
  [[ ${1:-1} =~ ^[0-9]+$ ]] || usage_error "STEPS is a whole number, got '$1'"
  dev_setup tests
  build release
  with_package $python tests/soak/soak.py "${1:-10000}"
  with_package $python tests/soak/lost_device.py "$((${1:-10000} / 10))"
}

dev_failures() {
  at_most failures 1 "$@"
  [[ ${1:-1} =~ ^[0-9]+$ ]] || usage_error "KILLS is a whole number, got '$1'"
  dev_setup failures
  build release
  THALWEG_KILLS=${1:-150} with_package counted "failures" -- $python -m pytest -q -p no:cacheprovider tests/failures
}

dev_ucx() {
  at_most ucx 0 "$@"
  dev_setup ucx
  build ucx cluster_test thalweg thalweg_package channel_benchmark
  counted "channels over UCX" -- build/ucx/bin/cluster_test --gtest_filter='*Ucx*:RecordOrder*'
  THALWEG_COMMAND=$PWD/build/ucx/bin/thalweg PYTHONPATH=$PWD/build/ucx/python \
    counted "tasks that use UCX" -- $python -m pytest -q -p no:cacheprovider tests/ucx
}

dev_opencl() {
  at_most opencl 1 "$@"
  dev_setup opencl
  build release opencl_test opencl_session_test thalweg_package
  local least=1
  [[ -z ${1:-} ]] || least=0
  counted "the OpenCL device" --min $least -- build/release/bin/opencl_test --gtest_filter="*${1:-}*"
  counted "sessions on the OpenCL device" --min $least -- build/release/bin/opencl_session_test --gtest_filter="*${1:-}*"
  with_package counted "programs on the OpenCL device" --min $least -- $python -m pytest -q -p no:cacheprovider -k "${1:-}" tests/opencl
}

dev_cuda() {
  at_most cuda 1 "$@"
  dev_setup cuda
  build release devices_cuda_test cuda_test cuda_card_test
  local least=1 nvrtc
  [[ -z ${1:-} ]] || least=0
  nvrtc=$(echo "$PWD"/.venvs/cuda/lib/python3*/site-packages/nvidia/cuda_nvrtc/lib)
  counted "the CUDA device on a driver of the tests" --min $least -- build/release/bin/devices_cuda_test --gtest_filter="*${1:-}*"
  LD_LIBRARY_PATH=$nvrtc${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    counted "kernels that NVRTC compiles" --min $least -- build/release/bin/cuda_test --gtest_filter="*${1:-}*"
  if $python -c 'import ctypes; ctypes.CDLL("libcuda.so.1")' 2>/dev/null; then
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$nvrtc \
      counted "kernels on the card" --min $least -- build/release/bin/cuda_card_test --gtest_filter="*${1:-}*"
  else
    say "no driver of NVIDIA's here: nothing was run on a card"
  fi
}

dev_pythons() {
  dev_setup core
  build release thalweg_package
  tools/other_pythons.sh "$@"
}

dev_libraries() {
  at_most libraries 0 "$@"
  dev_setup libraries
  build release
  with_package counted "libraries" -- .venvs/libraries/bin/python -m pytest -q -p no:cacheprovider tests/libraries
}

dev_tensorboard() {
  at_most tensorboard 1 "$@"
  dev_setup tensorboard
  build release
  with_package counted "TensorBoard and Netron" -- .venvs/tensorboard/bin/python -m pytest -q -p no:cacheprovider ${1:+-k "$1"} tests/tensorboard
}

dev_cluster() {
  at_most cluster 1 "$@"
  dev_setup cluster
  build release
  with_package counted "launchers of clusters" -- .venvs/cluster/bin/python -m pytest -q -p no:cacheprovider ${1:+-k "$1"} tests/cluster
}

dev_conformance() {
  local python=.venvs/conformance/bin/python failed=0
  at_most conformance 1 "$@"
  dev_setup conformance
  build release
  if [[ $# = 0 || $1 = */* ]]; then
    with_package counted "conformance of operations" -- $python tests/conformance/run_ops.py "$@" || failed=1
  fi
  if [[ $# = 0 || $1 != */* ]]; then
    with_package counted "conformance of programs" -- $python -m pytest -q -p no:cacheprovider ${1:+-k "$1"} tests/conformance tests/test_golden_graphs.py || failed=1
  fi
  return $failed
}

dev_wheel() {
  at_most wheel 0 "$@"
  dev_setup core
  build release thalweg_package
  with_package $python tools/make_wheel.py dist
}

dev_install() {
  [[ $# = 1 ]] || usage_error "'install' takes the PREFIX to install below"
  local prefix
  prefix=$(realpath -m "$1")
  dev_setup core
  build release installed
  cmake --install build/release --prefix "$prefix" --strip
  say "installed below $prefix"
}

dev_docs() {
  at_most docs 0 "$@"
  dev_setup core
  build release thalweg_package
  with_package $python tools/make_docs.py docs/ops
  with_package $python tools/api_coverage.py docs/ops/python.md
}

dev_clean() {
  at_most clean 0 "$@"
  rm -rf build dist
}
