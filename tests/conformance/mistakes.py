# SPDX-License-Identifier: Apache-2.0
"""Common mistakes of users of Python, as programs of TensorFlow 1: of which class the error is, when it comes, and its message.

    mistakes.py MODULE [NAME ...]     prints what `tensorflow` or `thalweg` says, by names of mistakes or parts of these
    mistakes.py --record [NAME ...]   asks both releases and writes FILE, which test_mistakes.py holds us to

Each program runs in a process of its own with an empty working folder. Where a release has not the names that a program uses, nothing
is recorded of it; where it refuses nothing, null. Python 3.7 and later.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
warnings.filterwarnings("ignore")
FOLDER = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(FOLDER, "recorded_mistakes.json")
if FOLDER not in sys.path:
    sys.path.insert(0, FOLDER)
import mistakes_in_pipelines  # noqa: F401 -- it adds to the programs
import mistakes_in_programs
from heads import head
from mistakes_in_arguments import ARGUMENTS

SECONDS = 20  # for a step
ABSENT = re.compile(r"module '?\S+ has no attribute|No module named|.* is not available with Keras 3")


def programs():
    """{name: function of tf that makes a graph and yields what is run}"""
    made = dict(mistakes_in_programs.PROGRAMS)
    for name, make in ARGUMENTS.items():
        made[name + ", known"] = lambda tf, make=make: with_values(tf, make, True)
        made[name + ", unknown"] = lambda tf, make=make: with_values(tf, make, False)
    return made


def with_values(tf, make, known):
    feeds = {}

    def x(value):
        dtype = tf.string if value.dtype.kind in "OU" else tf.as_dtype(value.dtype)
        if known:
            return tf.constant(value.tolist() if dtype == tf.string else value, dtype)
        made = tf.placeholder(dtype)
        feeds[made] = value
        return made
    yield make(tf, x), feeds


def load(name):
    if name == "thalweg":
        import thalweg
        return thalweg
    import tensorflow
    if tensorflow.__version__.startswith("1."):
        return tensorflow
    tensorflow.compat.v1.disable_v2_behavior()
    return tensorflow.compat.v1


def outcome(tf, program):
    """[class, "graph" or "step", message] of the error; None where there is none; "absent"."""
    when = "graph"
    with tf.Graph().as_default():
        try:
            run, asked, session = program(tf), None, None
            while True:
                try:
                    asked = run.send(asked)
                except StopIteration:
                    return None
                session = session or tf.Session()
                when = "step"
                fetches, feeds = asked if isinstance(asked, tuple) and len(asked) == 2 and isinstance(asked[1], (dict, list)) else (asked, None)
                asked = session.run(fetches, feeds, options=tf.RunOptions(timeout_in_ms=SECONDS * 1000)) if asked is not None else None
        except Exception as error:
            text = str(error)
            return "absent" if ABSENT.match(text) else [type(error).__name__, when, text]


def alone(tf, program):
    """The outcome in a process and a folder of its own; how the process ended, where it did not live to tell."""
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        signal.alarm(3 * SECONDS)
        with os.fdopen(sink, "w") as f:
            json.dump(outcome(tf, program), f)
        shutil.rmtree(folder)
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as f:
        text = f.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if status == 0 else ["crash", "step", "ends by signal %d" % (status & 127)]


def answers(name, chosen):
    tf = load(name)
    tf.logging.set_verbosity(tf.logging.FATAL)
    return {key: alone(tf, program) for key, program in programs().items() if not chosen or any(c in key for c in chosen)}


def asked(python, module, chosen=(), environment=None):
    """What an engine says in a process of its own."""
    answer = subprocess.run([python, os.path.abspath(__file__), module, *chosen], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, check=False)
    assert answer.returncode == 0, answer.stderr.decode()[-3000:]
    return json.loads(answer.stdout.decode().splitlines()[-1])


def recorded():
    """{name: {release: [class, when, head] or None}}"""
    with open(FILE, encoding="utf-8") as f:
        return json.load(f)


def record(chosen):
    from releases import OLD_PYTHON, their_environment
    kept = recorded() if os.path.exists(FILE) else {}
    names = set(programs())
    kept = {key: said for key, said in kept.items() if key in names}
    for release, python in (("1.15", OLD_PYTHON), ("2.21", sys.executable)):
        for key, said in asked(python, "tensorflow", chosen, their_environment()).items():
            entry = kept.setdefault(key, {})
            entry.pop(release, None)
            if said != "absent":
                entry[release] = said and [said[0], said[1], head(said[2])]
    with open(FILE, "w", encoding="utf-8") as f:
        f.write("{\n" + ",\n".join("%s: %s" % (json.dumps(key), json.dumps(kept[key], sort_keys=True)) for key in sorted(kept)) + "\n}\n")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        record(sys.argv[2:])
    else:
        print(json.dumps(answers(sys.argv[1], sys.argv[2:])))
