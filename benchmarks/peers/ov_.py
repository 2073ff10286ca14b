"""OpenVINO: inference of the same ONNX models as ort_.py, ort_nets.py and ort_int8.py. Needs openvino beside onnx and onnxruntime, whose
scripts write the models."""
import os
import runpy

import common

a = common.options()
import int8
import nets
import onnxruntime
import openvino as ov


class Session:
    """In place of onnxruntime.InferenceSession: the model goes to OpenVINO's CPU plugin."""

    def __init__(self, model, options, providers):
        core = ov.Core()
        self.compiled = core.compile_model(core.read_model(model), "CPU", {
            "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": a.threads, "INFERENCE_PRECISION_HINT": "f32"})
        self.request = self.compiled.create_infer_request()

    def run(self, fetches, feeds):
        return self.request.infer([feeds["x"]], share_inputs=True, share_outputs=True)


onnxruntime.InferenceSession = Session
emit = common.emit
common.emit = lambda options, peer, version, *rest, **kw: emit(options, "openvino", ov.__version__.split("-")[0], *rest, **kw)
script = "ort_nets.py" if a.workload in nets.NAMES else "ort_int8.py" if a.workload in int8.NAMES else "ort_.py"
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), script), run_name="__main__")
