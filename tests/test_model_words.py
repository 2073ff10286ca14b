# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a model or with what it is fed is said in the same sentence from Python, from the command, and from C (whose
words those of C++ are, thalweg/api/model_test.cc)."""
import ctypes
import os
import shutil
import subprocess

import numpy as np
import pytest
import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.path.join(ROOT, "build", "release", "bin", "thalweg")
MODULE = os.path.join(ROOT, "tests", "golden", "saved_models", "2.21", "tf2_module")


class Api:
    """The few functions of C that load a model and run it."""

    def __init__(self):
        self.lib = ctypes.CDLL(os.path.join(os.path.dirname(tw.__file__), "libthalweg.so.0"))  # the one that is open already
        for name in ("tw_status_new", "tw_environment_new", "tw_model_load", "tw_tensor_new"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        self.lib.tw_status_message.restype = ctypes.c_char_p
        self.status = ctypes.c_void_p(self.lib.tw_status_new())
        self.environment = ctypes.c_void_p(self.lib.tw_environment_new(None, self.status))

    def said(self):
        return self.lib.tw_status_message(self.status).decode()

    def load(self, path):
        model = self.lib.tw_model_load(self.environment, path.encode(), None, self.status)
        return ctypes.c_void_p(model) if model else None

    def run(self, model, feeds):
        """`feeds`: names of scalars of type int32."""
        names = (ctypes.c_char_p * len(feeds))(*(name.encode() for name in feeds))
        values = (ctypes.c_void_p * len(feeds))(*(self.lib.tw_tensor_new(3, None, 0, self.status) for _ in feeds))
        results = (ctypes.c_void_p * 8)()
        self.lib.tw_model_run_names(model, self.lib.tw_model_find_signature(model, None, self.status), None, names, values, len(feeds), results,
                                    None, self.status)
        self.lib.tw_model_free(model)
        return self.said()


@pytest.fixture(scope="module")
def api():
    return Api()


def from_the_command(*arguments):
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 1 and done.stderr.startswith("thalweg: "), done  # then the code, as of all its errors
    return done.stderr.split(": ", 2)[2].rstrip("\n")


UNKNOWN = """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "good" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "bad" op: "MatMull" input: "x" } node { name: "worse" op: "Zzyzx" input: "bad" }"""


def bad_models(folder):
    """(path of a model that is refused, what is said behind it)"""
    def write(name, text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        return str(folder / name)
    yield str(folder / "none"), ": there is no such file or directory"
    yield write("empty.pb", ""), ": half a model: the file is empty"
    yield os.path.dirname(write("newer/saved_model.pbtxt", "saved_model_schema_version: 2")), ": a SavedModel of a newer format, version 2; " \
        "this build reads version 1"
    half = str(folder / "half")
    shutil.copytree(MODULE, half)
    shutil.rmtree(half + "/variables")
    yield half, f": half a model: it has variables, but there is no checkpoint {half}/variables/variables.index"
    yield write("junk.pb", "junk"), ": this is no model: neither a SavedModel, a MetaGraph nor a GraphDef"
    signature = "signature_def { key: 'serve' value { outputs { key: 'y' value { name: 'worse:0' } } } }"
    yield write("unknown.pbtxt", "graph_def {" + UNKNOWN + "}" + signature), ": no signature can do without operations that this build does " \
        "not have: 'MatMull' (nearest: "


def test_a_model_is_refused_in_the_same_words(tmp_path, api):
    count = 0
    for path, said in bad_models(tmp_path):
        with pytest.raises(tw.errors.OpError) as refused:
            tw.load(path)
        message = refused.value.message
        assert message.startswith(path + said) or path + "/" in message, message
        assert api.load(path) is None and api.said() == message
        assert from_the_command("run", path) == message
        count += 1
    assert count == 6


def test_wrong_feeds_are_told_in_the_same_words(tmp_path, api):
    np.save(tmp_path / "number.npy", np.int32(0))
    label = MODULE + ": signature 'serving_default': "
    model = tw.load(MODULE)
    for feeds, said in ((["rounds"], "missing 'words'; its inputs are 'rounds' int32 [], 'words' string [?]"),
                        (["rounds", "word"], "missing 'words'; unknown 'word'; its inputs are 'rounds' int32 [], 'words' string [?]")):
        with pytest.raises(tw.errors.InvalidArgumentError) as refused:
            model(**{name: 0 for name in feeds})
        assert refused.value.message == label + said
        assert api.run(api.load(MODULE), feeds) == label + said
        assert from_the_command("run", MODULE, *(a for name in feeds for a in ("--feed", f"{name}={tmp_path}/number.npy"))) == label + said
    # Of another type: Python has tried to make one of the right type of it.
    wrong = label + "input 'words' string [?] got int32 []"
    assert api.run(api.load(MODULE), ["rounds", "words"]) == wrong
    assert from_the_command("run", MODULE, *(a for name in ("rounds", "words") for a in ("--feed", f"{name}={tmp_path}/number.npy"))) == wrong


def test_what_is_not_known_is_named_and_the_rest_serves(tmp_path, api):
    signatures = "".join(f"signature_def {{ key: '{name}' value {{ inputs {{ key: 'x' value {{ name: 'x:0' }} }} outputs {{ key: 'y' value "
                         f"{{ name: '{tensor}:0' }} }} }} }} " for name, tensor in (("serving_default", "worse"), ("other", "good")))
    path = str(tmp_path / "model.pbtxt")
    with open(path, "w", encoding="utf-8") as f:
        f.write("graph_def {" + UNKNOWN + "}" + signatures)
    model = tw.load(path)
    assert model.signature("other")(x=2.0) == -2.0
    with pytest.raises(tw.errors.NotFoundError) as refused:
        model(x=2.0)
    message = refused.value.message
    assert message.startswith(path + ": signature 'serving_default': it needs operations that this build does not have: 'MatMull' (nearest: ")
    assert message.endswith(", 'Zzyzx'") and "'MatMul'" in message
    loaded = api.load(path)
    assert api.run(loaded, ["x"]) == message
    np.save(tmp_path / "x.npy", np.float32(2))
    assert from_the_command("run", path, "--feed", f"x={tmp_path}/x.npy") == message
    done = subprocess.run([COMMAND, "run", path, "--signature", "other", "--feed", f"x={tmp_path}/x.npy"], stdout=subprocess.PIPE, timeout=60,
                          text=True, check=True)
    assert done.stdout == "y: float32 []\n"
