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
import folder_layers
import python_imports

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


TABLE = """
| file | what |
|---|---|
| `other.h` | a table of another kind |

| layer | parts | what they are |
|---|---|---|
| 0 | `transport/` `frame` | what goes over the wire |
| 1 | `peers/` `call` | calls to tasks |
"""


def write_tree(root, files):
    """A tree that the script passes, and these files."""
    with open(os.path.join(os.path.dirname(TOOLS), "ARCHITECTURE.md")) as f:
        tree = {"ARCHITECTURE.md": f.read(), "thalweg/cluster/README.md": TABLE, "thalweg/cluster/transport/socket.cc": "",
                "thalweg/cluster/frame.h": "", "thalweg/cluster/peers/peer.h": "", "thalweg/cluster/call.cc": "",
                "python/thalweg/README.md": "| layer | parts |\n|---|---|\n| 0 | `dtypes` `nest` |\n| 1 | `__init__` `nn/` |\n",
                "python/thalweg/__init__.py": "", "python/thalweg/dtypes.py": "", "python/thalweg/nest.py": "",
                "python/thalweg/nn/__init__.py": "", "python/thalweg/nn/rnn.py": "", **files}
    for room in ROOMS:
        tree.setdefault(f"thalweg/{room.split('<')[0]}README.md", "")
    for path, text in tree.items():
        if text is not None:
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as f:
                f.write(text)
    return str(root)


def test_a_table_of_layers_is_read():
    assert folder_layers.read_table(TABLE) == {"transport/": 0, "frame": 0, "peers/": 1, "call": 1}
    assert folder_layers.read_table("| file | what |\n|---|---|\n| 1 | `a` |\n") == {}


@pytest.mark.parametrize("path, text", [
    ("thalweg/cluster/call.cc", '#include "thalweg/cluster/frame.h"\n#include "thalweg/base/status.h"\n'),  # down, another room
    ("thalweg/cluster/peers/peer.h", '#include "thalweg/cluster/peers/version.h"\n'),                       # its own part
    ("thalweg/cluster/frame_test.cc", '#include "thalweg/cluster/call.h"\n'),                               # a test
    ("python/thalweg/__init__.py", "import thalweg.dtypes\nimport os\nfrom thalweg import _core\n"),
    ("python/thalweg/nn/rnn.py", "from thalweg import nest\ndef f():\n    from thalweg.dtypes import _float32\n"),
])
def test_inner_layers_pass(path, text, tmp_path, capsys):
    assert check_layers.main(write_tree(tmp_path, {path: text})) == 0, capsys.readouterr().out


@pytest.mark.parametrize("path, text, said", [
    ("thalweg/cluster/frame.h", '#include "thalweg/cluster/call.h"', "frame has layer 0, call has layer 1"),          # upward
    ("thalweg/cluster/transport/socket.cc", '#include "thalweg/cluster/peers/peer.h"', "transport/ has layer 0, peers/ has layer 1"),
    ("thalweg/cluster/call.cc", '#include "thalweg/cluster/peers/peer.h"', "call has layer 1, peers/ has layer 1"),   # sideways
    ("thalweg/cluster/call.cc", '#include "thalweg/cluster/attic.h"', "is in no part of thalweg/cluster/README.md"),
    ("thalweg/cluster/attic.h", "", "is in no part of thalweg/cluster/README.md"),
    ("thalweg/cluster/call.cc", None, "the part call holds nothing"),
    ("python/thalweg/nest.py", "from thalweg.nn import rnn", "nest has layer 0, nn/ has layer 1"),                    # of a module
    ("python/thalweg/nest.py", "import thalweg as tw", "nest has layer 0, __init__ has layer 1"),
    ("python/thalweg/nest.py", "from thalweg import dtypes", "nest has layer 0, dtypes has layer 0"),
    ("python/thalweg/nest.py", "def f():\n    if f:\n        import thalweg.nn.rnn", "line 3: imports thalweg.nn.rnn: "),
    ("python/thalweg/nest.py", "def f():\n    from thalweg.nn.rnn import cell", "line 2: imports thalweg.nn.rnn: "),
    ("python/thalweg/nest.py", "import importlib\nx = importlib.import_module('thalweg.nn')", "imports thalweg.nn: "),
    ("python/thalweg/nn/rnn.py", "from . import cell", "write our imports from the root"),
    ("python/thalweg/nn/__init__.py", "from thalweg.nn import rnn", None),
    ("python/thalweg/nn/rnn.py", "def f():\n    from thalweg.nn import cell", "a circle of imports: thalweg.nn thalweg.nn.rnn"),
])
def test_inner_layers_fail(path, text, said, tmp_path, capsys):
    other = {"python/thalweg/nn/__init__.py": "from thalweg.nn import rnn"} if said and "circle" in said else {}
    failed = check_layers.main(write_tree(tmp_path, {**other, path: text}))
    out = capsys.readouterr().out
    assert failed == (said is not None) and (said is None or said in out and "1 failed" in out), out


def test_circles_are_found():
    assert folder_layers.circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert folder_layers.circles({"a": {"b", "c"}, "b": {"c"}}) == []


def test_imports_of_python_are_read():
    package = python_imports.Package(["thalweg/__init__.py", "thalweg/nest.py", "thalweg/nn/__init__.py", "thalweg/nn/rnn.py"])
    text = "import os, thalweg.nest as n\nfrom thalweg.nn import relu, rnn\nfrom thalweg.nn.rnn import _cell\nfrom thalweg import _core, add\n"
    assert package.imports(text) == [(1, "thalweg.nest"), (2, "thalweg.nn"), (2, "thalweg.nn.rnn"), (3, "thalweg.nn.rnn"), (4, "thalweg")]
    checked = "if TYPE_CHECKING:\n    from thalweg.nn import rnn\nelse:\n    import thalweg.nest\n"
    assert package.imports(checked) == [(4, "thalweg.nest")]


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


def test_documentation_does_not_count():
    doc = '    """One.\n' + "    more\n" * 200 + '    """\n'
    text = f"def f(x):\n{doc}    y = x\n    return y\n"
    assert check_sizes.python_functions(text) == [("f", 1, 3)]
    assert check_sizes.measure("a.py", text)[0][1] == 3


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


@pytest.mark.parametrize("line", ["see .." + "/shared/x", "in /wo" + "rk/main", "// TO" + "DO: later", "<<<<<<" + "< HEAD",
                                  "a colo" + "ur", "Initialis" + "es it", "spe" + "lt_out()", "it was lear" + "nt"])
def test_wording_fails(line):
    assert check_text.check_text("a.cc", GOOD) == []
    assert len(check_text.check_text("a.cc", GOOD + line + "\n")) == 1


def test_terminate_is_ours_to_refuse():
    shared = check_text.check_text("cli/a_test.cc", GOOD + 'Write(::testing::TempDir() + "x");\n')
    assert len(shared) == 1 and "a folder with tests beside it" in shared[0]
    assert check_text.check_text("thalweg/a.cc", GOOD + "std::terminate();\n") == ["thalweg/a.cc:3: ends the process"]


@pytest.mark.parametrize("path, line, is_refused", [
    ("thalweg/a.cc", "std::thread t(Work);", True),
    ("thalweg/a.h", "std::vector<std::jthread> threads;", True),
    ("cli/a.cc", "auto later = std::async(Work);", True),
    ("thalweg/a.cc", "pthread_create(&t, nullptr, Work, nullptr);", True),
    ("thalweg/a.h", "std::thread::id id;", False),
    ("thalweg/base/thread.cc", "std::thread t(Work);", False),
    ("thalweg/a_test.cc", "std::thread t(Work);", False),
    ("thalweg/a/test_b.h", "std::thread t(Work);", False),
    ("thalweg/testing/a.cc", "std::thread t(Work);", False)])
def test_threads_of_the_core_are_started_by_its_class(path, line, is_refused):
    assert (check_text.check_text(path, GOOD + line + "\n") != []) == is_refused


def test_comments_end_at_a_column():
    words = "// " + "word " * 19
    assert check_text.check_text("a.cc", GOOD + words + "\n") == []
    assert check_text.check_text("a.cc", GOOD + words + "word word\n") == ["a.cc:3: a comment beyond column 100"]
    assert check_text.check_text("a.cc", GOOD + "int x;  " + words + "\n") == []


def test_license():
    assert check_text.check_text("a.cc", "int x;\n") == ["a.cc: lacks the line SPDX-License-Identifier: Apache-2.0"]


@pytest.mark.parametrize("path, line, lacking", [
    ("python/thalweg/nn/a.py", "def f(x: int, *rest: int, y: int = 1, **more: int) -> None: ...", ""),
    ("python/thalweg/nn/a.py", "def f(x: int, y, *rest: int) -> None: ...", "f does not say the type of y"),
    ("python/thalweg/nn/__init__.py", "def f(*rest, **more): ...", "f does not say the type of rest, more, return"),
    ("python/thalweg/__main__.py", "def main(): ...", "main does not say the type of return"),
    ("python/thalweg/a.py", "class A:\n  def f(self) -> int: ...\n  def g(self, x) -> int: ...", "A.g does not say the type of x"),
    ("python/thalweg/a.py", "class A:\n  class B:\n    async def f(self): ...", "A.B.f does not say the type of return"),
    ("python/thalweg/a.py", "def f(self) -> int: ...", "f does not say the type of self"),
    ("python/thalweg/a.py", "try:\n  f = 1\nexcept OSError:\n  def f(): ...", "f does not say the type of return"),
    ("python/thalweg/a.py", "def _f(x): ...\nclass _A:\n  def f(self): ...\ndef g() -> None:\n  def inner(x): ...", ""),
    ("python/thalweg/_a.py", "def f(x): ...", ""),
    ("tools/a.py", "def f(x): ...", "")])
def test_public_functions_say_their_types(path, line, lacking):
    found = check_text.check_text(path, "# SPDX-License-Identifier: Apache-2.0\n" + line + "\n")
    assert [complaint.partition(": ")[2] for complaint in found] == ([lacking] if lacking else [])


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
    assert "static initializer" in check_built.check_object("base/a.cc", early, set())[0]


def test_built_library(tmp_path):
    def library(symbol, *links):
        source, target = tmp_path / "l.cc", tmp_path / "libthalweg.so"
        source.write_text(f'extern "C" void {symbol}() {{}}\n')
        subprocess.run(["g++", "-shared", "-fPIC", source, "-o", target, "-Wl,--no-as-needed", *links], check=True)
        return check_built.check_library(str(target))
    assert library("tw_run") == []
    assert library("Run") == ["libthalweg.so: exports Run"]
    assert library("tw_run", "-lresolv") == ["libthalweg.so: links libresolv.so.2"]
