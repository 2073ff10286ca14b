# SPDX-License-Identifier: Apache-2.0
"""A process with one engine: worker.py MODULE REQUESTS ANSWERS

MODULE is `tensorflow` or `thalweg`: both have the functions used here. Each request is a
GraphDef with feeds; its answer holds the outputs, the shapes known before the run, derivatives, or the code of the error. A
request that ends the process is answered as a crash. Python 3.7 and later.
"""
import mmap
import os
import signal
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
warnings.filterwarnings("ignore")
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from wire import pack_array, read_records, unpack_array, write_record

SECONDS = 5  # for a step
STALLED = 15  # for a request whose step cannot be cancelled


def load(name):
    if name == "thalweg":
        import thalweg
        return thalweg
    import tensorflow.compat.v1 as tensorflow
    tensorflow.disable_v2_behavior()
    tensorflow.logging.set_verbosity(tensorflow.logging.FATAL)
    return tensorflow


class Engine(object):
    def __init__(self, name):
        self.m = m = load(name)
        self.config = m.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        self.config.graph_options.rewrite_options.disable_meta_optimizer = True
        self.config.graph_options.optimizer_options.opt_level = -1
        self.options = m.RunOptions(timeout_in_ms=SECONDS * 1000)

    def code(self, error, stage):
        text = str(error)
        return {"error": {"code": int(getattr(error, "error_code", 3) or 3), "stage": stage, "class": type(error).__name__, "text": text[:400]}}

    def imported(self, data):
        definition = self.m.GraphDef()
        definition.ParseFromString(data)
        self.m.import_graph_def(definition, name="")

    def shapes(self, data, fetches):
        """The shapes known before a run, None where the rank is not; or an error."""
        with self.m.Graph().as_default() as graph:
            try:
                self.imported(data)
            except Exception as error:
                return "refused: " + str(error)[:200]
            found = [graph.get_tensor_by_name(f).shape for f in fetches]
            return [None if s.dims is None else [None if d is None else int(d) for d in s.as_list()] for s in found]

    def kind(self, tensor):
        return tensor.dtype.base_dtype.name.replace("half", "float16")

    def run(self, request, blocks):
        m = self.m
        answer, out = {"id": request["id"]}, []
        feeds = {name: unpack_array(made, blocks, m.as_dtype(made["kind"]).as_numpy_dtype) for name, made in request["feeds"].items()}
        with m.Graph().as_default() as graph:
            stage = "import"
            try:
                self.imported(blocks[request["graph"]])
                tensors = [graph.get_tensor_by_name(f) for f in request["fetches"]]
                if request.get("shapes"):
                    answer["shapes"] = [None if t.shape.dims is None else t.shape.as_list() for t in tensors]
                with m.Session(config=self.config) as session:
                    stage = "start"
                    for targets in request["init"]:
                        session.run(targets, feeds)
                    stage = "run"
                    values = session.run([tensors, [graph.get_operation_by_name(t) for t in request["targets"]]], feeds, options=self.options)[0]
                    answer["outputs"] = [pack_array(v, self.kind(t), out) for v, t in zip(values, tensors)]
                    if request.get("by"):
                        answer["gradients"] = self.gradients(graph, session, tensors, values, request, feeds, out)
            except Exception as error:
                answer.update(self.code(error, stage))
        if "relaxed" in request:
            answer["relaxed"] = [self.shapes(blocks[b], request["fetches"]) for b in request["relaxed"]]
        return answer, out

    def gradients(self, graph, session, tensors, values, request, feeds, out):
        """Derivatives of a sum of the floating-point outputs, each with a weight of its own, or of their squared magnitudes where
        signs and phases are free; the text of an error."""
        m, by = self.m, request["by"]
        real = [(t, np.asarray(v)) for t, v in zip(tensors, values) if t.dtype.base_dtype.is_floating or t.dtype.base_dtype.is_complex]
        try:
            weights = [np.cos(np.arange(v.size)).reshape(v.shape).astype(v.dtype) for _, v in real]
            if request.get("magnitudes"):
                weights = [w * v for w, (_, v) in zip(weights, real)]
            weights = [m.constant(w) for w in weights]
            made = m.gradients([t for t, _ in real], [graph.get_tensor_by_name(b) for b in by], weights)
            made = [g if g is None else m.convert_to_tensor(g) for g in made]
            known = session.run([g for g in made if g is not None], feeds)
        except Exception as error:
            return type(error).__name__ + ": " + str(error)[:300]
        return [None if g is None else pack_array(known.pop(0), self.kind(g), out) for g in made]


def answer_from(engine, requests, answers, at, first):
    """Answers requests from number `first`; at[0] is the number of the one at work."""
    with open(requests, "rb") as source, open(answers, "ab") as sink:
        for i, (request, blocks) in enumerate(read_records(source)):
            if i < first:
                continue
            at[0] = i
            write_record(sink, *engine.run(request, blocks))


def watched(child, at):
    """How the child ended: its status, or None after a request that took too long."""
    last, since = at[0], time.time()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if at[0] != last:
            last, since = at[0], time.time()
        if time.time() - since > STALLED:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.02)


def main(name, requests, answers):
    """The engine is loaded once; children that are copies of this process run it, as many as requests end them."""
    engine = Engine(name)
    with open(requests, "rb") as source:
        ids = [request["id"] for request, _ in read_records(source)]
    at, first = np.frombuffer(mmap.mmap(-1, 8), np.int64), 0
    while first < len(ids):
        child = os.fork()
        if child == 0:
            answer_from(engine, requests, answers, at, first)
            os._exit(0)
        status = watched(child, at)
        if status == 0:
            break
        with open(answers, "ab") as sink:
            how = "stands still" if status is None else "ends by signal %d" % (status & 127)
            write_record(sink, {"id": ids[at[0]], "crash": how}, [])
        first = int(at[0]) + 1


if __name__ == "__main__":
    main(*sys.argv[1:])
