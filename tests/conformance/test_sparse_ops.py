# SPDX-License-Identifier: Apache-2.0
"""Operations on sparse tensors, sets, matrices in compressed rows, strings, spectra and sequences of labels, good and bad input, in
both engines: the real TensorFlow makes the graph, both run it."""
import numpy as np
import pytest
import tensorflow.compat.v1 as tf
from both import PLAIN, Outcome, differ

import thalweg as tw

R = tf.raw_ops
I = np.array([[0, 1], [2, 0], [2, 3]], np.int64)
V = np.array([1, 2, 3], np.float32)
S = np.array([3, 4], np.int64)
THREE = np.array([[0, 0, 1], [0, 2, 0], [1, 2, 3]], np.int64)
D = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
NONE = np.zeros(0, np.int64)
WORDS = np.array([[b"ab", b""], [b"c d", b"\xc3\xa9x"]], object)
RANDOM = np.random.RandomState(0)

# (indices, values, shape): good ones, then bad ones.
SPARSE = {"plain": (I, V, S), "empty": (np.zeros((0, 2), np.int64), V[:0], S), "three": (THREE, V, np.array([2, 3, 4])),
          "vector": (np.array([[1], [3]]), V[:2], np.array([4])), "unordered": (I[::-1].copy(), V, S),
          "outside": (I + 9, V, S), "below": (-I, V, S), "short": (I, V[:2], S), "rank": (I, V, S[:1]), "negative": (I, V, -S)}


def one(op, **more):
    return {f"{op} {name}{more or ''}": lambda parts=parts: getattr(R, op)(**more, **dict(zip(ARGUMENTS[op], parts)))
            for name, parts in SPARSE.items()}


THE_INPUT, PLAIN_NAMES = ["input_indices", "input_values", "input_shape"], ["indices", "values", "shape"]
ARGUMENTS = {"SparseReorder": THE_INPUT, "SparseReduceSum": THE_INPUT, "SparseReduceSumSparse": THE_INPUT, "SparseReduceMax": THE_INPUT,
             "SparseReduceMaxSparse": THE_INPUT, "SparseSoftmax": ["sp_indices", "sp_values", "sp_shape"], "SparseSlice": PLAIN_NAMES,
             "SparseFillEmptyRows": ["indices", "values", "dense_shape"], "SerializeManySparse": ["sparse_" + n for n in PLAIN_NAMES],
             "SparseDenseCwiseMul": ["sp_indices", "sp_values", "sp_shape"], "SparseDenseCwiseAdd": ["sp_indices", "sp_values", "sp_shape"],
             "SparseTensorDenseAdd": ["a_indices", "a_values", "a_shape"], "SparseTensorDenseMatMul": ["a_indices", "a_values", "a_shape"],
             "SparseSplit": PLAIN_NAMES, "SparseTensorToCSRSparseMatrix": ["indices", "values", "dense_shape"]}


def csr(parts=(I, V, S)):
    return R.SparseTensorToCSRSparseMatrix(indices=parts[0], values=parts[1], dense_shape=parts[2])


def dense(matrix):
    return R.CSRSparseMatrixToDense(sparse_input=matrix, type=tf.float32)


def there_and_back(parts):
    rows = R.SerializeManySparse(sparse_indices=parts[0], sparse_values=parts[1], sparse_shape=parts[2])
    return R.DeserializeManySparse(serialized_sparse=rows, dtype=tf.float32)


def counts(values, **more):
    return lambda: R.DenseCountSparseOutput(values=np.array(values, np.int64), weights=NONE, binary_output=False, **more)


def sets(operation, a, b):
    return lambda: R.DenseToDenseSetOperation(set1=np.array(a), set2=np.array(b), set_operation=operation)


CASES = {
    **one("SparseReorder"), **one("SparseSoftmax"), **one("SparseFillEmptyRows", default_value=np.float32(7)),
    **one("SparseReduceSum", reduction_axes=[1]), **one("SparseReduceMax", reduction_axes=[-1], keep_dims=True),
    **one("SparseReduceSumSparse", reduction_axes=[0]), **one("SparseSlice", start=[0, 1], size=[3, 2]),
    **one("SparseDenseCwiseMul", dense=D), **one("SparseDenseCwiseAdd", dense=D[:1]), **one("SparseTensorDenseAdd", b=D),
    **one("SparseTensorDenseMatMul", b=D.T.copy()), **one("SparseTensorDenseMatMul", b=D, adjoint_a=True),
    **one("SparseSplit", split_dim=np.int64(1), num_split=2),
    "SparseReshape": lambda: R.SparseReshape(input_indices=I, input_shape=S, new_shape=[2, -1]),
    "SparseReshape bad": lambda: R.SparseReshape(input_indices=I, input_shape=S, new_shape=[5, -1]),
    "SparseAdd": lambda: R.SparseAdd(a_indices=I, a_values=V, a_shape=S, b_indices=I[:1], b_values=-V[:1], b_shape=S, thresh=np.float32(.1)),
    "SparseToDense": lambda: R.SparseToDense(sparse_indices=I, output_shape=S, sparse_values=V, default_value=np.float32(9)),
    "SparseToDense twice": lambda: R.SparseToDense(sparse_indices=I[[0, 0]], output_shape=S, sparse_values=V[:2],
                                                   default_value=np.float32(9)),
    **{f"serialized {n}": lambda p=p: there_and_back(p) for n, p in SPARSE.items()},
    **{f"sparse matrix {n}": lambda p=p: dense(csr(p)) for n, p in SPARSE.items() if n != "unordered"},
    "csr components": lambda: R.CSRSparseMatrixComponents(csr_sparse_matrix=csr(SPARSE["three"]), index=1, type=tf.float32),
    "csr components bad": lambda: R.CSRSparseMatrixComponents(csr_sparse_matrix=csr(), index=1, type=tf.float32),
    "csr of another type": lambda: R.CSRSparseMatrixToDense(sparse_input=csr(), type=tf.float64),
    "csr counts": lambda: R.SparseMatrixNNZ(sparse_matrix=csr(SPARSE["three"])),
    "csr transposed": lambda: dense(R.SparseMatrixTranspose(input=csr(SPARSE["three"]), type=tf.float32)),
    **{f"csr product {attrs} {b.shape}": lambda attrs=attrs, b=b: R.SparseMatrixMatMul(a=csr(), b=b, **{a: True for a in attrs})
       for attrs, b in [((), D.T), (("transpose_a",), D), (("adjoint_a",), D), (("transpose_b",), D), (("adjoint_b",), D), ((), D),
                        (("transpose_output",), D.T), (("transpose_a", "adjoint_a"), D), ((), D[0]), ((), D[None])]},
    **{f"csr times csr {attrs}": lambda attrs=attrs: dense(R.SparseMatrixSparseMatMul(a=csr(), b=csr(), type=tf.float32,
                                                                                     **{a: True for a in attrs}))
       for attrs in [(), ("transpose_a",), ("adjoint_b",), ("transpose_a", "adjoint_a")]},
    **{f"counts {v} {more}": counts(v, **more) for v, more in
       [([1, 1, 3], {}), ([[1, 1, 3], [0, 2, 2]], {}), ([1, 1, 3], {"maxlength": 2}), ([1, 1], {"minlength": 5}), ([-1], {}), (3, {}),
        ([[[1]]], {}), ([], {}), ([1, 1, 3], {"minlength": 20, "maxlength": 10})]},
    **{f"set {o} {len(a)}": sets(o, a, b) for o in ("a-b", "b-a", "intersection", "union", "other")
       for a, b in [([[1, 2], [3, 3]], [[2, 5], [3, 4]]), ([[1]], [[1], [2]])]},
    "SetSize": lambda: R.SetSize(set_indices=[[0, 0], [0, 1], [1, 0]], set_values=[5, 5, 6], set_shape=[2, 2]),
    "SparseCross": lambda: R.SparseCross(indices=[I[:2]], values=[np.array([b"a", b"b"])], shapes=[S],
                                         dense_inputs=[np.array([[b"x"], [b"y"], [b"z"]])], hashed_output=False, num_buckets=0,
                                         hash_key=1, out_type=tf.string, internal_type=tf.string),
    "SparseCrossHashed": lambda: R.SparseCrossHashed(indices=[I[:2]], values=[np.array([70000, 8])], shapes=[S],
                                                     dense_inputs=[np.array([[1], [2], [3]])], num_buckets=1000, strong_hash=False,
                                                     salt=[1, 2]),
    **{f"substr {unit} {position}": lambda unit=unit, position=position: R.Substr(input=WORDS, pos=position, len=1, unit=unit)
       for unit in ("BYTE", "UTF8_CHAR") for position in (0, -1, 9)},
    "StringSplitV2": lambda: R.StringSplitV2(input=WORDS.reshape(-1), sep=""), "StringLower": lambda: R.StringLower(input=WORDS),
    "StringLength": lambda: R.StringLength(input=WORDS, unit="UTF8_CHAR"), "StringStrip": lambda: R.StringStrip(input=[b" a b\n"]),
    "StringToNumber": lambda: R.StringToNumber(string_tensor=[b"1e3", b" -2 ", b"inf"]),
    **{f"StringToNumber {text}": lambda text=text: R.StringToNumber(string_tensor=[text]) for text in (b"", b"1x", b"0x10", b"1e999")},
    "StringJoin": lambda: R.StringJoin(inputs=[WORDS, b"-"], separator="+"),
    "StringJoin bad": lambda: R.StringJoin(inputs=[WORDS, np.array([b"a"] * 3)]),
    "RegexReplace": lambda: R.RegexReplace(input=WORDS, pattern="([a-c])", rewrite="<\\1>"),
    "RegexReplace bad": lambda: R.RegexReplace(input=WORDS, pattern="(", rewrite=""),
    **{f"{op} {length}": lambda op=op, length=length: getattr(R, op)(input=x, fft_length=[length])
       for op, x in [("RFFT", D), ("IRFFT", D[:, :3].astype(np.complex64))] for length in (1, 3, 4, 7)},
    "FFT2D": lambda: R.FFT2D(input=D.astype(np.complex64)), "FFT3D bad": lambda: R.FFT3D(input=D.astype(np.complex64)),
    **{f"CTCGreedyDecoder {n}": lambda n=n: R.CTCGreedyDecoder(inputs=RANDOM_LOGITS, sequence_length=n) for n in ([4, 2], [4, 9], [4])},
    "CTCLoss": lambda: R.CTCLoss(inputs=RANDOM_LOGITS, labels_indices=[[0, 0], [0, 1], [1, 0]], labels_values=[0, 2, 1],
                                 sequence_length=[4, 3]),
    "CTCLoss too long": lambda: R.CTCLoss(inputs=RANDOM_LOGITS, labels_indices=[[1, 0], [1, 1]], labels_values=[0, 0],
                                          sequence_length=[4, 1]),
}
RANDOM_LOGITS = RANDOM.standard_normal((4, 2, 4)).astype(np.float32)

# Why the two differ, and are meant to.
KNOWN = {"SparseReorder negative": "TensorFlow does not look at the shape",
         "SparseSoftmax unordered": "TensorFlow takes what is not side by side for several rows"}
for case in CASES:
    if " outside" in case or " below" in case:
        if case.startswith(("SparseReorder", "SparseSoftmax", "SparseReduceSumSparse", "SparseSlice")):
            KNOWN[case] = "TensorFlow does not check the indices"
        elif case.startswith("SparseReduce"):
            KNOWN[case] = "an internal error there, InvalidArgument here"


@pytest.mark.parametrize("name", list(CASES))
def test_agrees(name):
    if name in KNOWN:
        pytest.skip(KNOWN[name])
    with tf.Graph().as_default() as graph:
        try:
            made = CASES[name]()
        except (ValueError, TypeError):
            return  # refused when the node was made: compared by the tests of shape functions
        fetches = [t.name for t in tf.nest.flatten(made)]
        definition = graph.as_graph_def().SerializeToString()
        with tf.Session(config=PLAIN) as session:
            try:
                expected = Outcome(session.run(fetches))
            except tf.errors.OpError as e:
                expected = Outcome(error=e)
    with tw.Graph().as_default():
        try:
            tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
            with tw.Session() as session:
                found = Outcome(session.run(fetches))
        except (tw.errors.OpError, ValueError, TypeError) as e:
            found = Outcome(error=e)
    why = differ(expected, found)
    assert why is None, f"{name}: {why}"
