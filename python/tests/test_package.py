# SPDX-License-Identifier: Apache-2.0
"""The package as a whole: what an import costs, what a run prints, messages, the examples."""
import os
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def python(program, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tw.__file__))}
    return subprocess.run([sys.executable, "-c", program, *arguments], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)


def test_import_is_light():
    p = python("import sys, numpy; before = set(sys.modules); import thalweg; thalweg.Session, thalweg.float32\n"
               "new = [m for m in sys.modules if m not in before]\n"
               "rss = [int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0]\n"
               "import threading; print(len(new), rss, threading.active_count(), len(os.listdir('/proc/self/task'))"
               " if (os := __import__('os')) else 0)")
    assert p.returncode == 0, p.stderr
    modules, rss, _, tasks = map(int, p.stdout.split())
    assert modules <= 25 and rss <= 45 * 1024 and tasks <= int(python(
        "import numpy, os; print(len(os.listdir('/proc/self/task')))").stdout)


def test_a_program_is_quiet_and_ends_cleanly():
    p = python("import thalweg as tw, numpy as np\n"
               "x = tw.placeholder(tw.float32, [None])\n"
               "s = tw.Session()\n"
               "print(s.run(x + 1.0, {x: np.ones(5000)}).sum())")
    assert (p.returncode, p.stdout, p.stderr) == (0, "10000.0\n", "")


def test_a_forked_child_can_still_be_interrupted_and_use_numpy():
    p = python("import os, thalweg as tw\n"
               "s = tw.Session(); a = tw.constant(1); s.run(a)\n"
               "pid = os.fork()\n"
               "if pid == 0: os._exit(7)\n"
               "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), s.run(a))")
    assert p.stdout == "7 1\n", p.stderr


def test_messages_behave_as_users_expect():
    config = tw.ConfigProto(allow_soft_placement=True, gpu_options=tw.GPUOptions(allow_growth=True), device_count={"CPU": 2})
    config.gpu_options.per_process_gpu_memory_fraction = 0.5
    config.graph_options.optimizer_options.opt_level = tw.OptimizerOptions.L0
    copy = tw.ConfigProto()
    copy.ParseFromString(config.SerializeToString())
    assert copy == config and copy.gpu_options.allow_growth and copy.device_count["CPU"] == 2
    assert copy.graph_options.optimizer_options.opt_level == -1 and not tw.ConfigProto().HasField("gpu_options")
    with pytest.raises(AttributeError):
        config.no_such_field = 1
    with pytest.raises(ValueError):
        tw.ConfigProto(no_such_field=1)
    assert not tw.ConfigProto(gpu_options=None, device_count=None, intra_op_parallelism_threads=None).ListFields()
    example = tw.train.Example(features=tw.train.Features(feature={
        "n": tw.train.Feature(int64_list=tw.train.Int64List(value=[5, -6])),
        "f": tw.train.Feature(float_list=tw.train.FloatList(value=[2.5]))}))
    again = tw.train.Example.FromString(example.SerializeToString())
    assert list(again.features.feature["n"].int64_list.value) == [5, -6]
    assert again.features.feature["f"].WhichOneof("kind") == "float_list" and "int64_list" in str(again)


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x0a\x05ab", b"\x0b"])
def test_damaged_messages_are_an_error(data):
    with pytest.raises(ValueError):
        tw.GraphDef.FromString(data)


def test_tensor_protos():
    for array in (np.arange(6.0).reshape(2, 3), np.array([b"a", b"bc"], object), np.array(True), np.zeros((0, 2), np.int8)):
        np.testing.assert_array_equal(tw.make_ndarray(tw.make_tensor_proto(array)), array)


def test_sparse_tensors_are_fed_and_fetched_whole(run):
    t = tw.SparseTensor(tw.placeholder(tw.int64, [None, 2]), tw.placeholder(tw.float32, [None]), tw.placeholder(tw.int64, [2]))
    value = tw.SparseTensorValue(np.array([[0, 1]]), np.array([3.0], np.float32), np.array([2, 2]))
    got = run(t, {t: value})
    assert got.values.tolist() == [3] and got.indices.tolist() == [[0, 1]] and got.dense_shape.tolist() == [2, 2]


def test_errors_have_their_codes():
    assert tw.errors.InvalidArgumentError(None, None, "m").error_code == 3 and tw.errors.OutOfRangeError.error_code == 11
    assert issubclass(tw.errors.NotFoundError, tw.errors.OpError) and str(tw.errors.AbortedError(None, None, "why")) == "why"


def test_files_and_programs(tmp_path):
    path = str(tmp_path / "a" / "b")
    tw.gfile.MakeDirs(path)
    with tw.gfile.GFile(path + "/f", "w") as f:
        f.write("grüße")
    assert tw.gfile.GFile(path + "/f").read() == "grüße" and tw.gfile.Exists(path) and tw.gfile.Glob(path + "/*") == [path + "/f"]
    with pytest.raises(SystemExit) as ended:
        tw.app.run(lambda argv: len(argv), argv=["program", "x"])
    assert ended.value.code == 2


def test_the_package_is_a_command_too():
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "thalweg", *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(tw.__file__))})
    assert run("--version").stdout == f"thalweg {tw.__version__}\n"
    shown = run()
    assert shown.returncode == 0 and "thalweg.as_tensorflow PROGRAM" in shown.stdout
    if os.path.exists(os.path.join(os.path.dirname(tw.__file__), "bin", "thalweg")):
        assert "inspect" in shown.stdout and run("inspect", "/no/such/file").returncode == 1 and run("no-verb").returncode == 2
    else:
        assert "built without the command" in run("inspect", "x").stderr


def test_the_wheel_says_who_it_is_and_what_tensorflow_1_brought():
    import email
    import runpy
    maker = runpy.run_path(os.path.join(ROOT, "tools", "make_wheel.py"))
    told = email.message_from_string(maker["metadata"]())
    with open(os.path.join(ROOT, "README.md")) as f:
        assert told.get_payload() == f.read() and told["Author"] and told.get_all("Provides-Extra") == ["tf1", "keras"]
    extra = {r.partition(">=")[0] for r in told.get_all("Requires-Dist") if 'extra == "tf1"' in r}
    assert extra == {"absl-py", "gast", "h5py", "protobuf", "six", "termcolor", "wrapt"}
    assert maker["ENTRY_POINTS"] == "[console_scripts]\nthalweg = thalweg.__main__:main\n"
    assert maker["entry"]("thalweg/bin/thalweg").external_attr >> 16 & 0o111 and not maker["entry"]("thalweg/losses.py").external_attr >> 16 & 0o111
