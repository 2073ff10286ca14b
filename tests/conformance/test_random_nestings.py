# SPDX-License-Identifier: Apache-2.0
"""Random nestings of loops, conditionals, calls, gradients, lists and effects on variables, as TensorFlow 2.21 and 1.15 make them: values,
states after each step and gradients, TensorFlow's own and ours, with and without rewriting. A failure shows the smallest plan
that still differs, and a line that runs it again:

    THALWEG_REPRO=2.21:7 ./dev conformance repro            THALWEG_NESTINGS=1000 ./dev conformance random_nestings

The same programs are also made by the front end here: 1.15's in its form, 2.21's with functional loops and in a tf.function. `thalweg-1.15:7`
in such a line. Only there do gradients written in Python agree: a graph does not hold them, so that without TensorFlow's they are refused.
"""
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from both import Outcome, differ
from cases import numpy_type
from engines import FOLDER
from releases import OLD_PYTHON, need_1_15, their_environment
from nesting_plan import derivations_of_loops, random_old_plan, random_plan, size, smaller_plans, statements_of, text_of
from wire import read_records, unpack_array, write_record

import thalweg as tw

COUNT = int(os.environ.get("THALWEG_NESTINGS", "60"))
PYTHONS = {"2.21": sys.executable, "1.15": OLD_PYTHON, "thalweg": sys.executable}
KINDS = {"2.21": "float64", "1.15": "float32"}  # 1.15 takes every gradient of a variable in a function for one of float32
OLD_FORMS = {"2.21": ("v2", "function"), "1.15": ("v1",)}  # of what the front end here is compared with
FACTOR = 50  # what one statement rounds the next may enlarge
SECONDS_TO_SHRINK = 120


class Release:
    """A process with a release of TensorFlow that answers plans."""

    def __init__(self, name):
        self.name = name
        self.start()

    def start(self):
        os.makedirs(FOLDER, exist_ok=True)
        environment = their_environment()
        with open(os.path.join(FOLDER, f"nesting-{self.name}.log"), "wb") as log:
            command = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "nesting_worker.py")]
            if self.name == "thalweg":
                command, environment = ["-m", "thalweg.as_tensorflow", *command], dict(os.environ)
            self.process = subprocess.Popen([PYTHONS[self.name], *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                            env=environment)
        self.answers = read_records(self.process.stdout)

    def ask(self, plan):
        """(header, blocks); a header with an error where TensorFlow cannot make the graph or run it, or ends."""
        write_record(self.process.stdin, {"plan": plan}, [])
        answer = next(self.answers, None)
        if answer is not None:
            return answer
        self.close()
        self.start()
        return {"error": "the process ended"}, []

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def releases():
    started = {}

    def release(name):
        if name == "1.15":
            need_1_15()
        if name not in started:
            started[name] = Release(name)
        return started[name]

    yield release
    for one in started.values():
        one.close()


def array(made, blocks):
    return unpack_array(made, blocks, numpy_type(made["kind"]))


def steps(header, graph, asked, optimize):
    """Of each step what is asked for and the states after it."""
    config = tw.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=2)
    config.graph_options.optimizer_options.opt_level = 0 if optimize else -1
    with tw.Session(graph=graph, config=config) as session:
        session.run("start")
        for step in header["steps"]:
            feeds = {name + ":0": value for name, value in step["feeds"].items()}
            values = session.run(asked, feeds, options=tw.RunOptions(timeout_in_ms=20000))
            yield values, session.run(header["states"])


def compared(what, header, blocks, graph, asked, optimize):
    """asked: our tensors, in the order of TensorFlow's values; None is no gradient, which is as good as zeros."""
    names = ["total"] + [f"gradient by {by}" for by in header["by"]]
    present = [a for a in asked if a is not None]
    for number, (step, (values, states)) in enumerate(zip(header["steps"], steps(header, graph, present, optimize))):
        values, theirs = list(values), [array(v, blocks) for v in step["values"]]
        wanted = [theirs.pop(0)] + [None if g is None else theirs.pop(0) for g in header["gradients"] or []]
        for name, x, a in zip(names, wanted, asked):
            y = None if a is None else np.asarray(values.pop(0))
            x, y = (np.zeros_like(y) if x is None and y is not None else x), (np.zeros_like(x) if y is None and x is not None else y)
            found = x is not None and differ(Outcome([x]), Outcome([y]), FACTOR)
            if found:
                return f"{what}, step {number}, {name}: {found}"
        for name, made, y in zip(header["states"], step["states"], states):
            found = differ(Outcome([array(made, blocks)]), Outcome([np.asarray(y)]), FACTOR)
            if found:
                return f"{what}, step {number}, {name}: {found}"
    return None


def imported(definition):
    graph = tw.Graph()
    with graph.as_default():
        tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
    return graph


def with_their_gradients(header, blocks, optimize):
    return compared("TensorFlow's gradients" if optimize else "TensorFlow's gradients, nothing rewritten", header, blocks, imported(blocks[1]),
                    [header["total"], *(header["gradients"] or [])], optimize)


def with_our_gradients(header, blocks):
    if header["gradients"] is None:
        return None
    graph = imported(blocks[0])
    with graph.as_default():
        made = tw.gradients(graph.get_tensor_by_name(header["total"]), [graph.get_tensor_by_name(b) for b in header["by"]])
        made = [g if g is None else tw.convert_to_tensor(g) for g in made]
    return compared("our gradients", header, blocks, graph, [header["total"], *made], True)


def difference(plan, answer):
    """What is not the same, or None."""
    header, blocks = answer
    for way in (lambda: with_their_gradients(header, blocks, True), lambda: with_their_gradients(header, blocks, False),
                lambda: with_our_gradients(header, blocks)):
        try:
            found = way()
        except (tw.errors.OpError, ValueError, TypeError, LookupError, NotImplementedError) as error:
            found = f"ours: {type(error).__name__}: {error}"
            if "python" in statements_of(plan) and "which nobody registered" in found:
                found = None
            # TensorFlow's own derivative of its gradient loops lacks what goes by way of its stacks; ours refuses it.
            elif derivations_of_loops(plan) and "Second-order gradient for while loops not supported" in found:
                found = None
        if found:
            return found
    return None


def difference_of_front_ends(plan, answer, ours):
    """What differs between the program as TensorFlow made and ran it, and as it was made and run here."""
    (header, blocks), (our_header, our_blocks) = answer, ours
    if "error" in our_header:
        return f"ours: {our_header['error']}"
    # Of TensorFlow's derivative of a loop's derivative what goes by way of its stacks is missing: finite differences agree with ours.
    derivations = derivations_of_loops(plan) if plan["form"] == "v1" else 0
    if derivations > 1:
        return None
    with_gradients = header["gradients"] is not None and derivations == 0
    if with_gradients and our_header["gradients"] is None:
        return f"ours: {our_header['refused']}"
    for number, (step, our_step) in enumerate(zip(header["steps"], our_header["steps"])):
        for what, names in (("values", ["total", *header["by"]] if with_gradients else ["total"]), ("states", header["states"])):
            theirs, here = ([array(v, b) for v in one[what]] for one, b in ((step, blocks), (our_step, our_blocks)))
            if what == "values" and with_gradients:
                theirs, here = ([v.pop(0)] + [None if g is None else v.pop(0) for g in h["gradients"]]
                                for v, h in ((theirs, header), (here, our_header)))
            for name, x, y in zip(names, theirs, here):
                if x is None and y is None:
                    continue
                x, y = np.zeros_like(y) if x is None else x, np.zeros_like(x) if y is None else y
                if found := differ(Outcome([x]), Outcome([y]), FACTOR):
                    return f"our front end, step {number}, {name}: {found}"
    return None


def smallest(release, plan, found, difference):
    """(plan, what differs), as small as the time allows."""
    until, again = time.monotonic() + SECONDS_TO_SHRINK, True
    while again:
        again = False
        for candidate in smaller_plans(plan):
            if time.monotonic() > until:
                break
            answer = release.ask(candidate)
            differs = None if "error" in answer[0] else difference(candidate, answer)
            if differs:
                plan, found, again = candidate, differs, True
                break
    return plan, found


def check(release, name, plan, repro, difference=difference):
    answer = release.ask(plan)
    if "error" in answer[0]:
        pytest.skip("TensorFlow refuses it: " + answer[0]["error"][:300])
    found = difference(plan, answer)
    if found is None:
        return
    small, now = smallest(release, plan, found, difference)
    lines = "\n".join(text_of(small["body"]))
    pytest.fail(f"TensorFlow {name}, form {plan['form']}, {size(plan)} statements: {found}\nREPRO: THALWEG_REPRO={repro} ./dev conformance repro\n"
                f"the smallest that differs, of {size(small)} statements: {now}\n{lines}", pytrace=False)


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("name", ["2.21", "1.15"])
def test_nesting(releases, name, seed):
    check(releases(name), name, random_plan(seed, kind=KINDS[name]), f"{name}:{seed}")


def check_our_front_end(releases, name, seed):
    plan = random_old_plan(seed, KINDS[name], OLD_FORMS[name][seed % len(OLD_FORMS[name])])
    ours = releases("thalweg")
    check(releases(name), name, plan, f"thalweg-{name}:{seed}", lambda plan, answer: difference_of_front_ends(plan, answer, ours.ask(plan)))


@pytest.mark.parametrize("seed", range(COUNT))
@pytest.mark.parametrize("name", ["2.21", "1.15"])
def test_nesting_of_our_front_end(releases, name, seed):
    check_our_front_end(releases, name, seed)


if os.environ.get("THALWEG_REPRO", "").count(":") == 1:
    def test_nesting_repro(releases):
        name, seed = os.environ["THALWEG_REPRO"].split(":")
        if name.startswith("thalweg-"):
            return check_our_front_end(releases, name.removeprefix("thalweg-"), int(seed))
        check(releases(name), name, random_plan(int(seed), kind=KINDS[name]), f"{name}:{seed}")
