# SPDX-License-Identifier: Apache-2.0
"""./dev: exit statuses, and what .ci/run and the help promise."""
import os
import re
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def dev(*arguments):
    return subprocess.run([os.path.join(ROOT, "dev"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd="/")  # from anywhere


def test_help_names_every_verb():
    p = dev("help")
    assert p.returncode == 0
    with open(os.path.join(ROOT, "tools", "dev_lib.sh")) as f:
        verbs = re.findall(r"^dev_(\w+)\(\)", f.read(), re.M)
    assert len(verbs) > 12 and [v for v in verbs if not re.search(rf"\b{v}\b", p.stdout)] == []


@pytest.mark.parametrize("arguments", [
    (), ("nonsense",), ("setup", "nonsense"), ("build", "nonsense"), ("test", "a", "b"), ("fuzz", "soon"), ("fuzz", "9", "nonsense"),
    ("install",), ("demo", "x"), ("check", "x")])
def test_wrong_usage_is_2_and_says_so(arguments):
    p = dev(*arguments)
    assert p.returncode == 2 and "dev" in p.stderr and p.stdout == ""


@pytest.mark.parametrize("arguments, what", [(("no_such_row",), "no row 'no_such_row'"), (("mlp", "--pairs", "2"), "at least 5 pairs"),
                                             (("mlp", "--sloppy"), "--sloppy")])
def test_what_cannot_be_measured_is_said_before_anything_is_built(arguments, what):
    p = dev("bench", *arguments)
    assert p.returncode == 2 and what in p.stderr and p.stdout == ""


def test_failed_work_is_1(tmp_path):
    p = subprocess.run(["bash", "-c", f"cd {ROOT} && set -e && source tools/dev_lib.sh && trap 'finish x $?' EXIT && (exit 7)"],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 1 and "x: FAILED" in p.stderr


@pytest.mark.parametrize("pattern, words", [("Channel", "-k Channel"), ("Channel|Hub", "-k Channel or Hub"), ("Chan.*", None), ("", "")])
def test_a_filter_is_what_ctest_and_pytest_read(pattern, words, tmp_path):
    (tmp_path / "tools").symlink_to(os.path.join(ROOT, "tools"))
    for program, said in (("bin/ctest", "100% tests passed, 0 tests failed out of 1"), (".venv/bin/python", "2 passed")):
        path = tmp_path / program
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/{path.name}\necho "{said}"\n')
        path.chmod(0o755)
    p = subprocess.run(["bash", "tools/test.sh", pattern], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "THALWEG_COUNTS": f"{tmp_path}/counts"})
    assert p.returncode == 0, p.stdout
    assert (tmp_path / "ctest").read_text().count(f"-R {pattern}") == (2 if pattern else 0)
    if words is None:
        assert not (tmp_path / "python").exists() and p.stdout.count("not looked at") == 4 and "2 passed, 0 failed" in p.stdout
    else:
        assert (tmp_path / "python").read_text().count(words) >= 4 and "10 passed, 0 failed" in p.stdout


@pytest.mark.parametrize("argument, name, program", [
    ("", "demo", "examples/python/demo.py"), ("cluster", "demo_cluster", "examples/cluster/demo_cluster.py")])
def test_the_demo_runs_the_package_that_it_builds(argument, name, program):
    p = subprocess.run(["bash", "-c", f"""cd {ROOT} && source tools/dev_lib.sh
dev_setup() {{ :; }}
build() {{ echo "builds $*"; }}
shown() {{ echo "$PYTHONPATH runs $*"; }}
python=shown
dev_demo {argument}"""], stdout=subprocess.PIPE, text=True, check=True)
    built, ran, advice = p.stdout.splitlines()
    assert built == f"builds release thalweg_{name}_package"
    assert ran == f"{ROOT}/build/release/{name}/python runs {program}" and os.path.exists(os.path.join(ROOT, program))
    assert f"build/release/{name} " in advice and "./dev build" in advice
    with open(os.path.join(ROOT, "python", "CMakeLists.txt")) as f:
        assert f"(thalweg_{name}_package thalweg_{name} ${{PROJECT_BINARY_DIR}}/{name}/python " in f.read()


def test_scripts_are_sound():
    for path in ("dev", ".ci/run", "tools/dev_lib.sh", "tools/test.sh", "tools/lint.sh", "tools/sanitize.sh", "tools/fuzz.sh",
                 "tools/tidy.sh", "tools/bare_debian.sh", "tools/other_pythons.sh"):
        subprocess.run(["bash", "-n", os.path.join(ROOT, path)], check=True)


def test_packages_have_groups_that_setup_knows():
    with open(os.path.join(ROOT, "tools", "packages.txt")) as f:
        rows = [line.split() for line in f if line.strip() and not line.startswith("#")]
    assert {group for group, _ in rows} == {"core", "tests", "cluster", "failures", "lint", "fuzz", "opencl", "tensorboard", "ucx"}
    assert len(rows) == len({package for _, package in rows})
