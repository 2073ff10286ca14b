# SPDX-License-Identifier: Apache-2.0
"""Programs outside the tree, built against what `./dev install` installs: CMake, pkg-config, C, and a host with its own protobuf."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = os.path.join(ROOT, "tests", "outside")


def run(*command, **options):
    p = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    assert p.returncode == 0, p.stdout + p.stderr
    return p


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", os.path.join(ROOT, "build", "release"), "--prefix", prefix)
    return prefix


@pytest.fixture(scope="module")
def flags(prefix):
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib" / "pkgconfig"))
    return [*run("pkg-config", "--cflags", "--libs", "thalweg", env=environment).stdout.split(), f"-Wl,-rpath,{prefix}/lib"]


def test_installs_headers_and_one_library(prefix):
    assert sorted(os.listdir(prefix / "include" / "thalweg")) == [
        "attr.h", "c_api.h", "c_checkpoint.h", "c_control_flow.h", "c_dataset.h", "c_files.h", "c_machine.h", "c_message.h", "c_model.h", "c_server.h", "c_trace.h",
        "c_types.h", "control_flow.h", "dataset.h", "dataset_stages.h", "environment.h", "graph.h", "iterator.h", "kernel_api.h", "model.h",
        "ops.h", "optimizer.h", "output.h", "saver.h", "session.h", "tensor.h", "thalweg.h", "trace.h"]
    assert os.path.getsize(prefix / "lib" / "libthalweg.so") < 25e6


def test_dev_install_builds_what_it_installs_and_no_test():
    build = os.path.join(ROOT, "build", "release")
    words = set(run("ninja", "-C", build, "-t", "commands", "installed").stdout.split())  # what is written stands in them
    made = {os.path.relpath(word, build) if os.path.isabs(word) else word for word in words}
    installed = set()
    for folder, _, files in os.walk(build):
        if "cmake_install.cmake" in files:
            with open(os.path.join(folder, "cmake_install.cmake")) as f:
                installed.update(re.findall(rf'FILES "{re.escape(build)}/((?:lib|bin)/[^"]+|generated/include/thalweg/ops.h)"', f.read()))
    assert len(installed) > 4 and installed <= made
    assert [path for path in made if path.endswith("_test")] == []


def test_cpp_with_cmake(prefix, tmp_path):
    run("cmake", "-G", "Ninja", "-S", SOURCES, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", tmp_path)
    p = run(tmp_path / "line")
    assert p.stdout == "y = 3.00 x + 2.00\n" and p.stderr == ""


def test_c_with_pkg_config(flags, tmp_path):
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", os.path.join(SOURCES, "constant.c"), "-o", tmp_path / "a", *flags)
    p = run(tmp_path / "a")
    assert p.stdout == "5\n" and p.stderr == ""


def test_input_pipelines_in_cpp_and_c(flags, tmp_path):
    examples, warnings = os.path.join(ROOT, "examples"), ["-Wall", "-Wextra", "-Werror", "-pedantic"]
    text = os.path.join(ROOT, "LICENSE")
    run("c++", "-std=c++17", *warnings, f'-DDIGITS_FOLDER="{examples}/data"', f'-DLICENSE_FILE="{text}"',
        os.path.join(examples, "cpp", "pipelines.cc"), "-o", tmp_path / "cpp", *flags)
    p = run(tmp_path / "cpp")
    assert "odd, times ten: 10 30 50 70 90\n" in p.stdout and p.stderr == ""
    run("cc", "-std=c99", *warnings, os.path.join(examples, "c", "lines.c"), "-o", tmp_path / "c", *flags)
    assert "... sum: " in run(tmp_path / "c", text).stdout


def test_host_with_its_own_protobuf(flags, tmp_path):
    if not os.path.exists("/usr/include/google/protobuf/struct.pb.h"):
        pytest.skip("libprotobuf-dev is not installed")
    run("c++", "-std=c++17", os.path.join(SOURCES, "with_protobuf.cc"), "-o", tmp_path / "a", *flags, "-lprotobuf")
    assert run(tmp_path / "a").stdout == "abc 5\n"


def test_python_that_imported_tensorflow_and_torch_first():
    program = ("import numpy, {}\nimport thalweg as tf\nwith tf.Session() as s: print(s.run(tf.constant(2.0) + 3.0))\n")
    tried = 0
    for environment in ("peers", "conformance"):
        python = os.path.join(ROOT, ".venvs", environment, "bin", "python")
        for module in ("tensorflow", "torch"):
            found = os.path.exists(python) and subprocess.run([python, "-c", f"import importlib.util as u, sys; "
                                                               f"sys.exit(u.find_spec('{module}') is None)"]).returncode == 0
            if found:
                variables = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "build", "release", "python"), TF_CPP_MIN_LOG_LEVEL="3")
                assert run(python, "-W", "ignore", "-c", program.format(module), env=variables).stdout == "5.0\n"
                tried += 1
    if not tried:
        pytest.skip("needs ./dev setup peers or conformance")
