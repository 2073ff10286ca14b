# SPDX-License-Identifier: Apache-2.0
"""Bytes, files, serialized tensors, checkpoints that are remapped, what a debugger puts between nodes."""
import numpy as np
from cases import Fed, L, N, Typed, case, num

F = "float32"
# Names of files are relative to a folder that each engine has for itself.
BYTES = Fed([b"abcdefghijklmnop", b"ABCDEFGHIJKLMNOP"])
CASES = [case("DecodeRaw", BYTES), case("DecodeRaw", BYTES, little_endian=False), case("DecodeRaw", Fed([b"abc", b"defg"]), out_type="int8"), case("DecodeRaw", Fed([b"abc", b"def"]), out_type="int32"), case("DecodeRaw", Fed([[b"", b""]]), out_type=F),
         case("DecodePaddedRaw", BYTES, Fed(16)), case("DecodePaddedRaw", Fed([b"abcd", b"efghijkl"]), Fed(8), out_type=F), case("DecodePaddedRaw", Fed([b"abcd", b"efghijkl"]), Fed(8), out_type="int16", little_endian=False), case("DecodePaddedRaw", BYTES, Fed(7), out_type="int16"),
         case("DecodePaddedRaw", BYTES, Fed(0), out_type="int8"), case("DecodePaddedRaw", BYTES, Fed(4), out_type="int8")]

HERE = "case.txt"
written = N("WriteFile", HERE, Fed(b"two\nlines\n"))
CASES += [case("ReadFile", HERE, after_all=[written], options=("waits",)), case("ReadFile", Fed("there is none")), case("ReadFile", Fed("."), options=("waits",)), case("WriteFile", "written.txt", Fed(b"")), case("WriteFile", Fed("/proc/none/x"), Fed(b"y")),
          case("MatchingFiles", Fed(["case.t?t", "none*"]), after_all=[written]), case("MatchingFiles", Fed("c[a-b]se.*"), after_all=[written])]

NEW, OLD = "new.txt", "old.txt"
vocabularies = [N("WriteFile", NEW, Fed(b"c\na\nz\nb\n")), N("WriteFile", OLD, Fed(b"a\nb\nc\nd\n"))]
CASES += [case("GenerateVocabRemapping", NEW, OLD, new_vocab_offset=o, num_new_vocab=n, old_vocab_size=size, after_all=vocabularies, options=("waits",)) for o, n, size in ((0, 4, -1), (1, 2, -1), (0, 3, 2), (0, 9, -1), (5, 1, -1), (-1, 2, -1))]
SAVED = "matrix"
saved = N("SaveV2", SAVED, ["w"], [""], L(Typed(F, Fed([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))))
for rows, columns, values, sizes in (([1, 0], [], [], (2, 3)), ([1, -1, 0], [], [7.0, 8.0, 9.0], (3, 3)), ([0, 1], [2, -1], [7.0, 8.0], (2, 2)), ([0, 0], [], [], (2, 3)), ([0, 5], [], [], (2, 3)), ([-1, 0], [], [], (2, 3)), ([1, 0], [], [], (3, 3))):
    CASES.append(case("LoadAndRemapMatrix", [SAVED], "w", Fed(rows), Fed(columns), Fed(values), num_rows=sizes[0], num_cols=sizes[1], after_all=[saved], options=("waits",)))
CASES += [case("LoadAndRemapMatrix", [SAVED], "w", Fed([1, -1, 0]), Fed([]), Fed([[7.0], [8.0], [9.0]]), num_rows=3, num_cols=3, after_all=[saved], options=("waits",))]
CASES += [case("LoadAndRemapMatrix", [SAVED], "w", Fed([1, 0]), Fed([]), Fed([]), num_rows=2, num_cols=3, max_rows_in_memory=1, after_all=[saved], options=("waits",)), case("LoadAndRemapMatrix", ["none"], "w", Fed([1, 0]), Fed([]), Fed([]), num_rows=2, num_cols=3)]

for shape in ((2, 3), (), (0, 4)):
    CASES += [case("ParseTensor", N("SerializeTensor", num(*shape), T="$out_type"))]
CASES += [case("ParseTensor", Fed(b"no tensor"), out_type=F), case("ParseTensor", Fed(b""), out_type=F), case("ParseTensor", N("SerializeTensor", num(2), T=F), out_type="int32"), case("ParseTensor", N("SerializeTensor", num(2), T=F), out_type=F), case("SerializeTensor", num(2, 3)), case("StopGradient", num(2, 3))]
CASES += [case("DebugIdentity", num(2, 3), tensor_name="x:0"), case("DebugIdentityV3", num(2, 3), tensor_name="x:0", io_of_node="x", io_index=0), case("DebugNanCount", Fed([1.0, np.nan, np.inf, np.nan]), tensor_name="x:0"),
          case("DebugNumericSummary", Fed([1.0, np.nan, np.inf, -np.inf, -2.0, 0.0]), tensor_name="x:0"), *[case("DebugNumericSummaryV2", Fed([[1.0, np.nan, np.inf], [-np.inf, -2.0, 0.0]]), tensor_debug_mode=m, tensor_id=7) for m in (2, 3, 4, 5, 8)]]
CASES += [case("DebugIdentityV2", num(2, 3)), case("DebugIdentityV3", num(2, 3)), case("DebugGradientRefIdentity", N("VariableV2", shape=[2], dtype="$T"), options=("waits",))]
CASES += [case("StochasticCastToInt", Fed([0.25, -1.5, 2.0, 7.75, 1e3, -1e3]), Fed([7]), Fed([1, 2]), Fed(a), options=("bits",)) for a in (1, 3)] + [case("StochasticCastToInt", Fed([0.25, float("nan")]), Fed([7]), Fed([1, 2]), Fed(1)), case("StochasticCastToInt", Fed([1e30, -1e30]), Fed([7]), Fed([1, 2]), Fed(1))]
