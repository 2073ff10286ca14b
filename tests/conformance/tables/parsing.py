# SPDX-License-Identifier: Apache-2.0
"""Features out of messages, columns out of text, readers of files."""
import gzip
import struct
import zlib

from cases import Fed, L, N, Typed, case

# ---- messages, byte by byte ----
def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def floats(*v):
    return field(2, field(1, struct.pack(f"<{len(v)}f", *v)) if v else b"")


def ints(*v):
    return field(3, field(1, b"".join(map(varint, v))) if v else b"")


def texts(*v):
    return field(1, b"".join(field(1, x) for x in v))


def entries(**values):
    return b"".join(field(1, field(1, key.encode()) + field(2, value)) for key, value in values.items())


def example(**values):
    return field(1, entries(**values))


def steps(*values):
    return b"".join(field(1, x) for x in values)


def sequence(context, **lists):
    return field(1, entries(**context)) + field(2, entries(**lists))


F, I, S = "float32", "int64", "string"
NONE = Fed([])
EMPTY = {F: Typed(F, NONE), I: Typed(I, NONE), S: Typed(S, Fed([]))}
ONE, TWO = example(a=floats(1, 2), b=ints(1), s=texts(b"x", b"yy")), example(a=floats(3, 4), b=ints(-5), s=texts())
LONG = example(a=floats(1, 2, 3, 4), b=ints(*range(-3, 200, 7)), s=texts(b"a text that is longer than a word"))
NO_TEXT = Typed(S, Fed([]))


def batch(texts_, sparse=(), dense=(), names=()):
    """sparse: (key, type); dense: (key, type, default, shape)."""
    return case("ParseExample", Typed(S, Fed(list(texts_))), Typed(S, Fed(list(names))), L(*(Typed(S, k) for k, _ in sparse)),
                L(*(Typed(S, k) for k, *_ in dense)), L(*(Typed(t, Fed(v)) for _, t, v, _ in dense)), Nsparse=len(sparse),
                Ndense=len(dense), sparse_types=[t for _, t in sparse], Tdense=[t for _, t, _, _ in dense],
                dense_shapes=[shape for *_, shape in dense])


def both(texts_, sparse=(), dense=(), ragged=()):
    """ParseExampleV2, and ParseSingleExample of the first."""
    common = dict(num_sparse=len(sparse), sparse_types=[t for _, t in sparse], Tdense=[t for _, t, _, _ in dense],
                  dense_shapes=[shape for *_, shape in dense])
    defaults = L(*(Typed(t, Fed(v)) for _, t, v, _ in dense))
    made = [case("ParseExampleV2", Typed(S, Fed(list(texts_))), NO_TEXT, Typed(S, Fed([k for k, _ in sparse])),
                 Typed(S, Fed([k for k, *_ in dense])), Typed(S, Fed([k for k, *_ in ragged])), defaults,
                 ragged_value_types=[t for _, t, _ in ragged], ragged_split_types=[t for _, _, t in ragged], **common)]
    return made + [case("ParseSingleExample", Typed(S, Fed(texts_[0])), defaults, sparse_keys=[k for k, _ in sparse],
                        dense_keys=[k for k, *_ in dense], **common)]


A = ("a", F, [], [2])
ALL_SPARSE = [("a", F), ("b", I), ("s", S), ("none", F)]
CASES = [batch([ONE, TWO], dense=[A, ("b", I, [], [])]), batch([ONE, example(b=ints(3)), b""], dense=[("a", F, [9.0, 8.0], [2]), ("b", I, 7, [])]),
         batch([ONE, TWO, b"", LONG], ALL_SPARSE), batch([ONE, LONG, b""], dense=[("a", F, 9.0, [-1]), ("s", S, b"pad", [-1]), ("a2", F, [1.0], [-1, 2])]),
         batch([], ALL_SPARSE, [A, ("v", F, 0.0, [-1])]), batch([ONE, LONG], dense=[("a", F, [7.0], [-1, 2])]),
         # What is not as asked for.
         batch([ONE, b""], dense=[A]), batch([ONE, example(a=ints(3))], dense=[A]), batch([ONE, example(a=floats(3))], dense=[A]), batch([ONE, example(a=ints(3))], [("a", F)]),
         batch([ONE, example(a=floats())], dense=[("a", F, [9.0, 8.0], [2])]), batch([ONE, example(a=b"")], dense=[("a", F, [9.0, 8.0], [2])]),
         batch([ONE, example(a=floats(1, 2, 3))], dense=[("a", F, [7.0], [-1, 2])]), batch([ONE], dense=[("a", F, [9.0], [2])]), batch([ONE], dense=[("a", F, [], [-1])]),
         batch([ONE], dense=[("a", F, [1.0, 2.0], [2, -1])]), batch([ONE, b"hello world"], [("a", F)]), batch([ONE, TWO], [("a", F)], names=["only one"]),
         batch([ONE[:-1]], [("a", F)]), batch([example(a=field(9, b""))], [("a", F)])]
# Messages as others may write them: numbers one by one, of two the last counts.
for data in (field(2, b"\x0d" + struct.pack("<f", 1) + b"\x0d" + struct.pack("<f", 2)),):
    CASES += [batch([example(a=data)], [("a", F)])]
CASES += [batch([example(b=field(3, b"\x08\x01\x08\x96\x01"))], [("b", I)]), batch([field(1, entries(a=floats(1, 2)) + entries(a=floats(3, 4)))], [("a", F)], []), batch([example(a=floats(1)) + example(b=ints(2))], [("a", F), ("b", I)]),
          batch([b"\x28\x05" + ONE], [("a", F)]), batch([example(b=ints(1 << 40, -1, -(1 << 63), (1 << 63) - 1))], [("b", I)])]
CASES += both([ONE, TWO], [("s", S), ("none", F)], [A]) + both([ONE, LONG, b""], [], [], [("a", F, I), ("b", I, "int32"), ("s", S, I)]) + both([b""], [("s", S)], [("a", F, [1.0, 2.0], [2]), ("v", F, 5.0, [-1])])
CASES += both([example(a=ints(3))], [], [A]) + both([b""], [], [A]) + both([example(a=floats(1))], [], [A]) + both([example(a=floats(1, 2, 3))], [], [("a", F, 1.0, [-1, 2])]) + both([b"hello world"], [("a", F)])

# ---- sequences ----
FIRST = sequence(dict(a=floats(1, 2), n=ints(3)), w=steps(floats(1, 2), floats(3, 4)), t=steps(texts(b"x"), texts(), texts(b"y", b"z")))
SECOND = sequence(dict(a=floats(5, 6)), w=steps(floats(7, 8)), t=b"")


def sequences(texts_, context_sparse=(), context_dense=(), sparse=(), dense=(), absent=()):
    """context_dense: (key, type, default, shape); dense: (key, type, shape)."""
    types = dict(Ncontext_sparse=len(context_sparse), Ncontext_dense=len(context_dense), Nfeature_list_sparse=len(sparse), Nfeature_list_dense=len(dense),
                 context_sparse_types=[t for _, t in context_sparse], Tcontext_dense=[t for _, t, _, _ in context_dense], context_dense_shapes=[s for *_, s in context_dense],
                 feature_list_sparse_types=[t for _, t in sparse], feature_list_dense_types=[t for _, t, _ in dense], feature_list_dense_shapes=[s for *_, s in dense])
    keys = [[k for k, *_ in part] for part in (context_sparse, context_dense, sparse, dense)]
    defaults = L(*(Typed(t, Fed(v)) for _, t, v, _ in context_dense))
    made = [case("ParseSequenceExample", Typed(S, Fed(list(texts_))), NO_TEXT, defaults, feature_list_dense_missing_assumed_empty=list(absent), context_sparse_keys=keys[0],
                 context_dense_keys=keys[1], feature_list_sparse_keys=keys[2], feature_list_dense_keys=keys[3], **types)]
    return made + [case("ParseSingleSequenceExample", Typed(S, Fed(texts_[0])), Typed(S, Fed(list(absent))), *(L(*(Typed(S, k) for k in part)) for part in keys), defaults, "name", **types)]


W, C = ("w", F, [2]), ("a", F, [], [2])
CASES += sequences([FIRST, SECOND], [("n", I)], [C], [("t", S)], [W]) + sequences([FIRST, SECOND], dense=[("z", F, [2])]) + sequences([FIRST, SECOND], dense=[("z", F, [2])], absent=["z"])
CASES += sequences([FIRST, SECOND], dense=[("t", F, [1])]) + sequences([FIRST, SECOND], dense=[("w", F, [3])]) + sequences([FIRST], [("a", I)]) + sequences([FIRST], sparse=[("w", I)]) + sequences([FIRST], [], [("q", F, [1.0, 2.0], [2])])
CASES += sequences([FIRST], [], [("q", F, [], [2])]) + sequences([b"hello world"], [("n", I)]) + sequences([sequence({}, w=steps(floats(1), floats(2), floats(3))), sequence({}, w=steps(floats(1)))], dense=[("w", F, [])])
CASES += [case("ParseSequenceExampleV2", Typed(S, Fed([FIRST, SECOND])), NO_TEXT, NO_TEXT, NO_TEXT, Typed(S, Fed(["a", "n"])), NO_TEXT, NO_TEXT, Typed(S, Fed(["t", "w"])), Typed("bool", Fed([])), L(), Tcontext_dense=[],
               context_ragged_value_types=[F, I], context_ragged_split_types=[I, "int32"], feature_list_ragged_value_types=[S, F], feature_list_ragged_split_types=[I, "int32"])]

# ---- text ----
def csv(records, *defaults, **attrs):
    return case("DecodeCSV", Typed(S, Fed(records)), L(*(Typed(t, Fed(v)) for t, v in defaults)), OUT_TYPE=[t for t, _ in defaults], **attrs)


X, T, K = (F, [0.0]), (S, [b""]), ("int32", [0])
CASES += [csv([b"1,2,a", b'3,4,"b,""c"'], X, K, T), csv([b",,"], (F, [1.5]), (I, [7]), (S, [b"z"])), csv([b"1,"], X, (I, [])), csv(b"1,2", X, ("float64", 7.0)), csv([[b"1,2"], [b"3,4"]], X, X), csv([b" 1 , 2 "], K, X), csv([b" a b , c "], T, T),
          csv([b"NA,1", b",2"], X, X, na_value="NA"), csv([b'NA,"NA"'], (S, [b"q"]), (S, [b"q"]), na_value="NA"), csv([b"1|2"], X, X, field_delim="|"), csv([b'"a,b"'], T, T, use_quote_delim=False), csv([b"1,"], X, X), csv([b"1,2,3", b"4,5,6"], X, X, select_cols=[0, 2]),
          csv([b'1,2,x"y'], X, X, select_cols=[0, 1]), csv([b"inf,nan,1e3,-.5,+1"], X, X, X, X, X), csv([b"-2,007,3"], K, K, K), csv([b"9223372036854775807,-9223372036854775808"], (I, [0]), (I, [0])), csv([b'"",1'], (S, [b"d"]), X)]
CASES += [csv([b"1,2", b"1"], X, X), csv([b"1,2,3"], X, X), csv([b"x"], X), csv([b"2.5"], K), csv([b"99999999999"], K), csv([b""], X), csv([b'a"b'], T), csv([b'"a'], T), csv([b'"a"b'], T), csv([b"a\nb"], T), csv([b"a\r"], T, use_quote_delim=False), csv([b"1"], X, field_delim="||"), csv([b"1"], X, field_delim=""),
          csv([b"1,2,3"], X, X, select_cols=[2, 0]), csv([b"1,2,3"], X, X, select_cols=[-1, 0]), csv([b"1,2,3"], X, X, select_cols=[0]), csv([b"1,2,3"], X, X, select_cols=[0, 5]), csv([b'1,x"y,3'], X, X, select_cols=[0, 2]), csv([b"1"], (F, [1.0, 2.0]))]

# ---- compressed ----
TEXT = b"a text, a text, a text"
for kind, pack in (("ZLIB", zlib.compress), ("GZIP", lambda text: gzip.compress(text, mtime=0))):
    CASES += [case("DecodeCompressed", Typed(S, Fed([pack(TEXT), pack(b"")])), compression_type=kind), case("DecodeCompressed", Typed(S, Fed(pack(TEXT))), compression_type=kind), case("DecodeCompressed", Typed(S, Fed([b"neither"])), compression_type=kind)]
CASES += [case("DecodeCompressed", Typed(S, Fed([[TEXT]]))), case("DecodeCompressed", Typed(S, Fed([TEXT])), compression_type="XX")]

# ---- readers: names of files are relative to a folder that each engine has for itself ----
LINES, PIECES, EMPTY_FILE = "lines.txt", "pieces.bin", "empty.txt"
there = [N("WriteFile", LINES, Fed(b"head\na\r\n\nlast")), N("WriteFile", PIECES, Fed(b"HHaaabbbcccdF")), N("WriteFile", EMPTY_FILE, Fed(b""))]
for v in ("V2", ""):
    # Not spoiled: a reader without work waits for ever.
    for name, attrs, work in (("TextLineReader", {}, [EMPTY_FILE, LINES]), ("TextLineReader", dict(skip_header_lines=1), [LINES]), ("WholeFileReader", {}, [LINES, PIECES]), ("IdentityReader", {}, ["p", "q"]),
                              ("FixedLengthRecordReader", dict(record_bytes=3, header_bytes=2, footer_bytes=1), [PIECES]), ("FixedLengthRecordReader", dict(record_bytes=4, hop_bytes=2), [PIECES]), ("TFRecordReader", {}, [EMPTY_FILE, LINES]),
                              ("TextLineReader", {}, ["there is none"]), ("WholeFileReader", {}, ["there is none"])):
        queue, reader = N("FIFOQueue" + v, component_types=[S], capacity=5), N(name + v, **attrs)
        given = N("QueueEnqueueMany" + v, queue, L(Typed(S, Fed(work))))
        CASES += [case("ReaderRead" + v, reader, queue, after_all=[*there, given], options=("waits",)), case("ReaderReadUpTo" + v, reader, queue, Fed(5), after_all=[*there, given], options=("waits",))]
    if v:
        queue, reader = N("FIFOQueueV2", component_types=[S], capacity=5), N("FixedLengthRecordReaderV2", record_bytes=3, header_bytes=2, footer_bytes=1, hop_bytes=4, encoding="ZLIB")
        packed = [N("WriteFile", "packed.z", Fed(zlib.compress(b"HHaaabbbcccdF"))), N("QueueEnqueueMany" + v, queue, L(Typed(S, Fed(["packed.z"]))))]
        CASES += [case("ReaderReadUpToV2", reader, queue, Fed(5), after_all=packed, options=("waits",))]
    one = N("IdentityReader" + v)
    queue = N("FIFOQueue" + v, component_types=[S], capacity=5)
    given = N("QueueEnqueueMany" + v, queue, L(Typed(S, Fed(["p", "q"]))))
    read = N("ReaderRead" + v, one, queue)
    CASES += [case(f"Reader{what}{v}", one, after_all=[given, read], options=("waits",)) for what in ("NumRecordsProduced", "NumWorkUnitsCompleted", "SerializeState", "Reset")]
    CASES += [case("ReaderRestoreState" + v, one, Typed(S, Fed(state)), options=("waits",)) for state in (b"\x08\x02\x10\x02\x18\x05", b"\x08\x02\x10\x01\x22\x01q", b"junk")]
    CASES += [case("ReaderSerializeState" + v, N("TextLineReader" + v), options=("waits",))]

# ---- JSON ----
JSON = [b"{}", b'{"features":{"feature":{"b":{"int64List":{"value":[1,"2",-3]}},"a":{"floatList":{"value":[1.5,"NaN","-Infinity",2]}},"c":{"bytes_list":{"value":["aGk=","aGk","-_8=",""]}}}}}',
        b'{"features":{"feature":{"a":null,"b":{},"c":{"int64List":{}}}}}', b'{"features":{"feature":{"\\u00e9\\ud83d\\ude00":{"int64_list":{"value":5}}}}}']
BAD_JSON = [b"", b"null", b"[]", b'{"features":5}', b'{"feature":{}}', b'{"features":{}} x', b'{"features":{"feature":{"a":{"int64List":{"value":[1.5]}}}}}', b'{"features":{"feature":{"a":{"bytesList":{"value":["*"]}}}}}']
CASES += [case("DecodeJSONExample", Typed(S, Fed(JSON))), case("DecodeJSONExample", Typed(S, Fed(JSON[1])))] + [case("DecodeJSONExample", Typed(S, Fed([text]))) for text in BAD_JSON]
