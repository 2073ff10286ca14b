# SPDX-License-Identifier: Apache-2.0
"""Operations whose inputs are all of one type: cases over shapes and awkward values follow from the schema."""
from cases import FACTS, awk, case, pos

SHAPES = {1: [[()], [(0, 3)], [(7,)], [(3, 5)], [(2, 4, 4)]],
          2: [[(), ()], [(0, 3), (0, 3)], [(7,), (7,)], [(3, 4), (4,)], [(2, 1, 4), (3, 1)], [(4, 4), (4, 4)]],
          3: [[(), (), ()], [(7,), (7,), (7,)], [(3, 4), (3, 4), (3, 4)], [(2, 3), (4,), ()]]}
ALL_TYPES = [[(7,)], [(2, 4, 4)], [(7,), (7,)], [(2, 1, 4), (3, 1)], [(4, 4), (4, 4)], [(3, 4)] * 3]
# Compared by cases of their own, or of no value that could be compared.
ELSEWHERE = set("""Exit NextIteration SerializeTensor TensorSummary XlaSharding XlaSort CheckPinned Print StopGradient SelfAdjointEig
    BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd BatchMatrixSolve BatchMatrixTriangularSolve BatchCholesky BatchCholeskyGrad BatchMatrixDeterminant
    BatchMatrixInverse Cholesky CholeskyGrad MatrixExponential MatrixLogarithm MatrixSquareRoot Svd SelfAdjointEigV2 Lu Qr MatrixInverse MatrixSolve
    MatrixTriangularSolve MatrixDeterminant LogMatrixDeterminant TridiagonalSolve""".split())
# On finite numbers alone: at infinity TensorFlow's own answers are of no series.
FINITE = {"Igamma", "IgammaGradA", "Igammac", "Polygamma", "RandomGammaGrad", "BesselI0", "BesselI1", "BesselJ0", "BesselJ1", "BesselY0",
          "BesselY1", "Expint", "Betainc", "Softmax", "IsotonicRegression", "Round", "DataFormatDimMap"}


def is_simple(op):
    inputs = op["inputs"]
    attr = inputs[0].get("type_attr") if inputs else None
    plain = all(i.get("type_attr") == attr and not {"number_attr", "type_list_attr"} & set(i) and not i.get("is_ref") for i in inputs)
    needs = [a for a in op["attrs"] if "default" not in a and a["name"] != attr]
    return attr is not None and plain and not needs and len(inputs) in SHAPES and not op["flags"].get("stateful")


def made(implemented):
    for name, op in sorted(FACTS.items()):
        if name not in implemented or name in ELSEWHERE or name.startswith("_") or not is_simple(op):
            continue
        for shapes in SHAPES[len(op["inputs"])]:
            yield case(name, *[(pos if name in FINITE else awk)(*s) for s in shapes], options=("all types",) if shapes in ALL_TYPES else ())
        if op["gradient"] == "yes":  # derivatives are compared where the function is smooth
            for shapes in SHAPES[len(op["inputs"])][2:5]:
                yield case(name, *[pos(*s) for s in shapes], options=("derivatives",))
