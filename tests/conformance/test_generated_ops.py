# SPDX-License-Identifier: Apache-2.0
"""Every operation whose inputs are all of one type, in each of its types, over shapes and awkward values, in both engines."""
import json
import os
import zlib

import numpy as np
import pytest
from both import Outcome, differ, gradients, op_def, ours, theirs

import thalweg as tw
from thalweg import graph as graph_module

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KINDS = {"float16": np.float16, "float32": np.float32, "float64": np.float64, "int8": np.int8, "int16": np.int16,
         "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
         "complex64": np.complex64, "complex128": np.complex128, "bool": np.bool_}
SHAPES = {1: [[()], [(0, 3)], [(7,)], [(3, 5)], [(2, 4, 4)]],
          2: [[(), ()], [(0, 3), (0, 3)], [(5,), (5,)], [(3, 4), (4,)], [(2, 1, 4), (3, 1)], [(2, 3), (4,)], [(4, 4), (4, 4)]],
          3: [[(), (), ()], [(5,), (5,), (5,)], [(3, 4), (3, 4), (3, 4)], [(2, 3), (4,), ()]]}

# Not compared: of a run time, of an order that is nobody's promise, removed from new graphs, or of matrices of their own kind.
LEFT_OUT = set("""BatchCholesky BatchCholeskyGrad BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart BatchMatrixInverse
    BatchMatrixSetDiag BatchMatrixSolve BatchMatrixTriangularSolve BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd CheckPinned
    Cholesky CholeskyGrad Exit MatrixExponential NextIteration QuantizeAndDequantize SelfAdjointEig SerializeTensor TensorSummary
    XlaSharding XlaSort""".split())
# Compared on finite numbers alone.
FINITE = {"Lu", "MatrixInverse", "MatrixSolve", "Qr", "Igamma", "IgammaGradA", "Igammac", "Polygamma", "RandomGammaGrad", "BesselI0",
          "BesselI1", "BesselJ0", "BesselJ1", "BesselY0", "BesselY1", "Expint"}
# (operation, type or "" for all): why the two differ, and are meant to.
KNOWN = {
    ("ClipByValue", "complex64"): "complex numbers have no order", ("ClipByValue", "complex128"): "complex numbers have no order",
    ("DataFormatDimMap", ""): "TensorFlow does not check the range of dimensions",
    ("Erf", "float64"): "TensorFlow's erf of infinity is NaN",
    ("IsotonicRegression", ""): "TensorFlow takes a scalar for a row",
    ("Round", "int32"): "TensorFlow rounds whole numbers wrongly", ("Round", "int64"): "TensorFlow rounds whole numbers wrongly",
    ("Softmax", "float16"): "a NaN in a row is a NaN everywhere in it", ("Softmax", "float32"): "as for float16",
}
# Functions that neither engine computes to the last places.
ROUGH = {"Betainc": 1e3, "Igamma": 1e3, "Igammac": 1e3, "IgammaGradA": 1e4, "RandomGammaGrad": 1e4, "Zeta": 1e2, "Polygamma": 1e2,
         "Digamma": 10, "Lgamma": 10, "Qr": 10, "Svd": 10, "Ndtri": 10, "Erfinv": 10}


def cases():
    """(operation, number of inputs, types) of what both engines have."""
    implemented = {op.name for op in tw.messages.OpList.FromString(graph_module.environment().op_list(True)).op}
    with open(os.path.join(ROOT, "tools", "tf_facts", "ops.jsonl"), encoding="utf-8") as f:
        for op in map(json.loads, f):
            name, inputs = op["name"], op["inputs"]
            if name not in implemented or name in LEFT_OUT or name.startswith("_") or "2.21" not in op["in"]:
                continue
            attr = inputs[0].get("type_attr") if inputs else None
            plain = all(i.get("type_attr") == attr and not {"number_attr", "type_list_attr"} & set(i) and not i.get("is_ref")
                        for i in inputs)
            needs = [a for a in op["attrs"] if "default" not in a and a["name"] != attr]
            if attr is None or not plain or needs or len(inputs) not in SHAPES or op["flags"].get("stateful"):
                continue
            types = {t for kernel in op["cpu_types"] or [] for t in kernel.get(attr, KINDS)}
            for kind in sorted(types & set(KINDS)):
                yield name, len(inputs), kind


def values(random, shape, kind, awkward_too):
    """Ordinary numbers, with some awkward ones in larger arrays if asked for."""
    dtype = np.dtype(KINDS[kind])
    if kind == "bool":
        return np.asarray(random.rand(*shape) < 0.5)
    if dtype.kind in "iu":
        made = random.randint(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
        awkward = [np.iinfo(dtype).max, np.iinfo(dtype).min, 0]
    else:
        made = np.asarray(random.standard_normal(shape) * 2).astype(dtype)
        if dtype.kind == "c":
            made = made + 1j * np.asarray(random.standard_normal(shape)).astype(dtype)
        awkward = [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf] if dtype.kind == "f" else [0.0, 1.0]
    made = np.array(made, dtype)
    flat = made.reshape(-1)
    if awkward_too and flat.size >= 7:
        flat[:len(awkward)] = np.array(awkward).astype(dtype)
    return made


@pytest.mark.parametrize("name, inputs, kind", list(cases()))
def test_agrees(name, inputs, kind):
    for key in ((name, kind), (name, "")):
        if key in KNOWN:
            pytest.skip(KNOWN[key])
    for shapes in SHAPES[inputs]:
        random = np.random.RandomState(zlib.crc32(f"{name} {kind} {shapes}".encode()))
        given = [values(random, shape, kind, name not in FINITE) for shape in shapes]
        expected, graph = theirs(name, given, {})
        if expected.error and "only integer div and mod should have errors" in str(expected.error):
            continue  # division by zero, which is InvalidArgument here
        if graph is None:
            continue  # refused when the node was made: shapes are compared by the tests of shape functions
        found = ours(graph, given, len(op_def(name).output_arg))
        why = differ(expected, found, ROUGH.get(name, 1))
        assert why is None, f"{name} of {kind}, shapes {shapes}: {why}\nfeeds: {given}"


def differentiable():
    with open(os.path.join(ROOT, "tools", "tf_facts", "ops.jsonl"), encoding="utf-8") as f:
        known = {op["name"] for op in map(json.loads, f) if op["gradient"] == "yes"}
    return [(name, inputs) for name, inputs, kind in cases() if kind == "float64" and name in known]


@pytest.mark.parametrize("name, inputs", differentiable())
def test_gradient_agrees(name, inputs):
    random = np.random.RandomState(zlib.crc32(name.encode()))
    for shapes in SHAPES[inputs]:
        given = [np.asarray(random.uniform(0.1, 0.9, shape)) for shape in shapes]
        if theirs(name, given, {})[0].error:
            continue
        pair = gradients(name, given)
        if pair is None:
            continue
        expected, found = pair
        for i, (x, y) in enumerate(zip(expected, found)):
            assert (x is None) == (y is None), f"{name}, input {i}: theirs {x}, ours {y}"
            why = None if x is None else differ(Outcome([x]), Outcome([y]), ROUGH.get(name, 1))
            assert why is None, f"{name}, shapes {shapes}, derivative for input {i}: {why}"
