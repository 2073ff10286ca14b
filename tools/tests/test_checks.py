# SPDX-License-Identifier: Apache-2.0
"""Each check of the sources can fail, and passes what is right."""
import os
import subprocess
import sys

import pytest

TOOLS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TOOLS)
import check_built
import check_layers
import check_sizes
import check_text

with open(os.path.join(os.path.dirname(TOOLS), "ARCHITECTURE.md")) as table:
    ROOMS = check_layers.read_rooms(table.read())


def test_room_table_is_read():
    assert ROOMS["base/"] == (0, set()) and ROOMS["compute/"] == (2, {"hwy", "dnnl", "eigen"}) and ROOMS["testing/"][0] == check_layers.TOP
    assert check_layers.room_of("ops/math/matmul_op.cc", ROOMS)[0] == "ops/math/"
    assert check_layers.room_of("attic/old.cc", ROOMS) is None


@pytest.mark.parametrize("path, include", [
    ("graph/node.cc", '"thalweg/tensor/shape.h"'),
    ("graph/node.cc", '"thalweg/graph/edge.h"'),
    ("graph/node.cc", "<vector>"),
    ("tensor/tensor_proto.cc", '"thalweg/proto/message.h"'),
    ("ops/math/add_test.cc", '"thalweg/testing/op_case.h"'),
    ("ops/math/add_test.cc", "<gtest/gtest.h>"),
    ("compute/ew/run_isa.cc", '"hwy/highway.h"'),
    ("api/register.cc", '"thalweg/ops/math/names.h"'),
    ("testing/op_case.cc", '"thalweg/session/session.h"'),
])
def test_layers_pass(path, include):
    assert check_layers.check_file(path, f"#include {include}\n", ROOMS) == []


@pytest.mark.parametrize("path, include", [
    ("tensor/shape.cc", '"thalweg/graph/node.h"'),           # upward
    ("graph/node.cc", '"thalweg/io/file.h"'),                # sideways
    ("tensor/tensor.cc", '"thalweg/proto/message.h"'),       # proto outside *_proto.*
    ("session/session.cc", '"thalweg/ops/math/names.h"'),    # a leaf
    ("ops/math/add_cpu.cc", '"thalweg/ops/array/names.h"'),  # another family
    ("kernel/kernel.cc", '"thalweg/testing/op_case.h"'),     # tests only
    ("graph/node.cc", "<google/protobuf/message.h>"),
    ("graph/node.cc", "<gtest/gtest.h>"),
    ("executor/plan.cc", "<Eigen/Core>"),
    ("base/status.cc", '"status.h"'),                        # not from the root
    ("base/status.cc", '"thalweg/attic/old.h"'),             # no such room
])
def test_layers_fail(path, include):
    assert len(check_layers.check_file(path, f"// fine\n#include {include}\n", ROOMS)) == 1


CODE = '''
/* (c) */
extern "C" {
int c(int);
}
namespace a {
struct S { int x = {3}; void Short() { if (x) { x = 1; } } };
const char* const kText[] = {"}", R"(}})", "{"};
template <typename T, class U = int>
Result<T> Long(std::vector<int> v) {
  auto f = [&](int c) { return '}' + c + 1'000; };
  // }
%s
  return f(2);
}
}  // namespace a
'''


def test_functions_are_measured():
    found = check_sizes.cpp_functions(CODE % "\n".join(["  x();"] * 100))
    assert [(name, lines) for name, _, lines in found] == [("Short", 1), ("Long", 105)]


def test_sizes_fail_and_allow():
    rows = check_sizes.measure("thalweg/a.cc", CODE % "\n".join(["  x();"] * 100))
    assert check_sizes.judge(rows, {})[0] == ["thalweg/a.cc:Long: 105 lines, at most 100"]
    assert check_sizes.judge(rows, {"thalweg/a.cc:Long": 110}) == ([], [])
    assert check_sizes.judge(rows, {"thalweg/a.cc:Long": 104})[0][0] == "thalweg/a.cc:Long: 105 lines, at most 104"
    assert check_sizes.judge([], {"thalweg/a.cc": 900})[0] == ["thalweg/a.cc: allowed in tools/size_allow.txt without need"]
    assert check_sizes.judge(check_sizes.measure("a.py", "x = 1\n" * 801), {})[0] == ["a.py: 801 lines, at most 800"]
    assert check_sizes.judge(check_sizes.measure("a_test.cc", "\n" * 900), {})[0] == []
    assert check_sizes.judge(check_sizes.measure("a.py", "def f():\n" + "    g()\n" * 60), {})[1] == ["a.py:f: 61 lines, better 60"]


GOOD = "// SPDX-License-Identifier: Apache-2.0\nint x;\n"


@pytest.mark.parametrize("line", ["see .." + "/shared/x", "in /wo" + "rk/main", "// TO" + "DO: later", "<<<<<<" + "< HEAD"])
def test_wording_fails(line):
    assert check_text.check_text("a.cc", GOOD) == []
    assert len(check_text.check_text("a.cc", GOOD + line + "\n")) == 1


def test_terminate_is_ours_to_refuse():
    assert check_text.check_text("thalweg/a.cc", GOOD + "std::terminate();\n") == ["thalweg/a.cc:3: ends the process"]


def test_licence_and_links():
    assert check_text.check_text("a.cc", "int x;\n") == ["a.cc: lacks the line SPDX-License-Identifier: Apache-2.0"]
    exists = {"docs/a.md", "README.md"}.__contains__
    assert check_text.check_links("docs/b.md", "[a](a.md) [r](../README.md#top) [w](https://x.org/y)", exists) == []
    assert len(check_text.check_links("docs/b.md", "[c](c.md)", exists)) == 1


SOURCE = '''
#include <cstdlib>
int now() { return %s; }
'''


def compile_object(tmp_path, expression, extra=""):
    source, target = tmp_path / "a.cc", tmp_path / "a.o"
    source.write_text(SOURCE % expression + extra)
    subprocess.run(["g++", "-std=c++20", "-c", "-O2", source, "-o", target], check=True)
    return check_built.symbols(str(target))


def test_built_objects(tmp_path):
    assert check_built.check_object("base/a.cc", compile_object(tmp_path, "1"), set()) == []
    aborts = compile_object(tmp_path, "(std::abort(), 1)")
    assert check_built.check_object("base/a.cc", aborts, set()) == ["base/a.cc: calls abort"]
    assert check_built.check_object("base/a.cc", aborts, {("base/a.cc", "abort")}) == []
    early = compile_object(tmp_path, "1", "int f(); int at_start = f();\n")
    assert "static initialiser" in check_built.check_object("base/a.cc", early, set())[0]


def test_built_library(tmp_path):
    def library(symbol, *links):
        source, target = tmp_path / "l.cc", tmp_path / "libthalweg.so"
        source.write_text(f'extern "C" void {symbol}() {{}}\n')
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", target, "-Wl,--no-as-needed", *links], check=True)
        return check_built.check_library(str(target))
    assert library("tw_run") == []
    assert library("Run") == ["libthalweg.so: exports Run"]
    assert library("tw_run", "-lresolv") == ["libthalweg.so: links libresolv.so.2"]
