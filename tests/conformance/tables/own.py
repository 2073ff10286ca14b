# SPDX-License-Identifier: Apache-2.0
"""Small programs of operations that no table compares (coverage_page.ELSEWHERE says what does): what the fuzz of operations begins with."""
import os
import tempfile

import numpy as np
from cases import FACTS, Built, Fed, L, N, Typed, case, encode, num, res, type_choices, type_number

import thalweg as tw

NUMBERS = dict(output_types=["int64"], output_shapes=[[]])
ROWS = dict(output_types=["int64"], output_shapes=[None])
TEXTS = dict(output_types=["string"], output_shapes=[[]])
LOW, HIGH = Fed(-3.0), Fed(5.0)


def function(library, name, args, nodes, results):
    """args: {name: type}; nodes: (name, operation, inputs, attributes); results: {name: (type, where from)}."""
    made = library.function.add()
    made.signature.name = name
    for arg, kind in args.items():
        said = made.signature.input_arg.add()
        said.name, said.type = arg, type_number(kind)
    for result, (kind, source) in results.items():
        said = made.signature.output_arg.add()
        said.name, said.type = result, type_number(kind)
        made.ret[result] = source
    for label, op, inputs, attrs in nodes:
        node = made.node_def.add()
        node.name, node.op = label, op
        node.input.extend(inputs)
        kinds = {a["name"]: a["type"] for a in FACTS[op]["attrs"]}
        for attr, value in attrs.items():
            encode(node.attr[attr], kinds[attr], value)


def constant(label, value):
    value = np.asarray(value)
    return label, "Const", [], dict(dtype=value.dtype.name, value=value)


def library():
    """The functions that the cases call."""
    made = tw.GraphDef().library
    one = dict(x="int64")
    function(made, "twice", one, [("y", "AddV2", ["x", "x"], dict(T="int64"))], dict(y=("int64", "y:z:0")))
    function(made, "small", one, [constant("three", np.int64(3)), ("y", "Less", ["x", "three:output:0"], dict(T="int64"))], dict(y=("bool", "y:z:0")))
    function(made, "odd", one, [constant("two", np.int64(2)), ("y", "FloorMod", ["x", "two:output:0"], dict(T="int64"))], dict(y=("int64", "y:z:0")))
    function(made, "two", one, [constant("two", np.int64(2))], dict(y=("int64", "two:output:0")))
    function(made, "itself", one, [("y", "Identity", ["x"], dict(T="int64"))], dict(y=("int64", "y:output:0")))
    function(made, "count_to", one, [constant("none", np.int64(0)), constant("one", np.int64(1)), ("y", "RangeDataset", ["none:output:0", "x", "one:output:0"], NUMBERS)],
             dict(y=("variant", "y:handle:0")))
    function(made, "five", {}, [constant("none", np.int64(0)), constant("end", np.int64(5)), constant("one", np.int64(1)),
                                ("y", "RangeDataset", ["none:output:0", "end:output:0", "one:output:0"], NUMBERS)], dict(y=("variant", "y:handle:0")))
    function(made, "sum", dict(s="int64", x="int64"), [("y", "AddV2", ["s", "x"], dict(T="int64"))], dict(y=("int64", "y:z:0")))
    function(made, "sums", dict(s="int64", x="int64"), [("y", "AddV2", ["s", "x"], dict(T="int64"))], dict(y=("int64", "y:z:0"), z=("int64", "y:z:0")))
    function(made, "windowed", dict(w="variant"), [("y", "Identity", ["w"], dict(T="variant"))], dict(y=("variant", "y:output:0")))
    function(made, "joined", dict(shards="variant"), [("y", "FlatMapDataset", ["shards"], dict(f="windowed", Targuments=[], **NUMBERS))], dict(y=("variant", "y:handle:0")))
    function(made, "of_window", dict(key="int64", window="variant"), [constant("two", np.int64(2)), constant("yes", np.bool_(True)), ("y", "BatchDatasetV2", [
        "window", "two:output:0", "yes:output:0"], dict(output_types=["int64"], output_shapes=[[2]]))], dict(y=("variant", "y:handle:0")))
    function(made, "half", dict(x="float32"), [constant("half_", np.float32(0.5)), ("y", "Mul", ["x", "half_:output:0"], dict(T="float32"))], dict(y=("float32", "y:z:0")))
    function(made, "square", dict(x="float32"), [("y", "Square", ["x"], dict(T="float32"))], dict(y=("float32", "y:y:0")))
    function(made, "large", dict(x="float32"), [constant("one", np.float32(1)), ("m", "Less", ["one:output:0", "x"], dict(T="float32"))], dict(y=("bool", "m:z:0")))
    function(made, "body", dict(i="int32", x="float32"), [constant("half_", np.float32(0.5)), ("y", "Mul", ["x", "half_:output:0"], dict(T="float32"))], dict(y=("float32", "y:z:0")))
    function(made, "halves", dict(x="float32"), [constant("half_", np.float32(0.5)), ("y", "Mul", ["x", "half_:output:0"], dict(T="float32"))], dict(y=("float32", "y:z:0")))
    function(made, "derived", dict(x="float32", dy="float32"), [("y", "SymbolicGradient", ["x", "dy"], dict(Tin=["float32", "float32"], Tout=["float32"], f="square"))],
             dict(y=("float32", "y:output:0")))
    calls = dict(Tin=["float32"], Tout=["float32"])
    function(made, "down", dict(x="float32"), [constant("one", np.float32(1)), ("m", "Less", ["one:output:0", "x"], dict(T="float32")), (
        "y", "If", ["m:z:0", "x"], dict(Tcond="bool", then_branch="lower", else_branch="square", **calls))], dict(y=("float32", "y:output:0")))
    function(made, "lower", dict(x="float32"), [constant("half_", np.float32(0.5)), ("h", "Mul", ["x", "half_:output:0"], dict(T="float32")), (
        "y", "PartitionedCall", ["h:z:0"], dict(f="down", **calls))], dict(y=("float32", "y:output:0")))
    function(made, "else", dict(x="float32"), [("none", "FakeParam", [], dict(dtype="float32", shape=[]))], dict(y=("float32", "none:output:0")))
    return made


def texts(*values):
    return L(*[Typed("string", Fed(v)) for v in values])


def wholes(*values):
    return L(*[Typed("int64", Fed(np.int64(v))) for v in values])


def each(dataset, said=None, kind="AnonymousIteratorV3", op="IteratorGetNext", **more):
    """The first element of a dataset."""
    said = NUMBERS if said is None else said
    iterator = N(kind, shared_name="", container="", **said)
    return case(op, iterator, after_all=[N("MakeIterator", dataset, iterator)], **said, **more)


def first(dataset, said=None):
    said = NUMBERS if said is None else said
    return case("DatasetToSingleElement", N("TakeDataset", dataset, Fed(1), **said), **said)


def ranged(n=6):
    return N("RangeDataset", Fed(0), Fed(n), Fed(1), **NUMBERS)


def written(name, content):
    return N("WriteFile", Fed(name), Fed(content))


def lines(content=b"1,2\n3,4\n"):
    """A file's name, once it is there."""
    return N("Identity", Fed("lines.txt"), T="string", after=[written("lines.txt", content)])


NONE = L()
MAPPED = dict(f="twice", Targuments=[])
GROUPED = dict(key_func="odd", Tkey_func_other_arguments=[], Treduce_func_other_arguments=[])
WINDOWS = dict(GROUPED, reduce_func="of_window", window_size_func="two", Twindow_size_func_other_arguments=[], output_types=["int64"], output_shapes=[[2]])
REDUCED = dict(GROUPED, init_func="two", reduce_func="sum", finalize_func="itself", Tinit_func_other_arguments=[], Tfinalize_func_other_arguments=[], **NUMBERS)
PAIRS = dict(output_types=["int64"], output_shapes=[[2]])
FLAT = dict(f="count_to", Targuments=[], **NUMBERS)
SPARSE = dict(output_types=["variant"], output_shapes=[[3]])
CSV = (Fed(""), Fed(100), Fed(False), Fed(","), Fed(True), Fed(""), Fed(np.zeros(0)), L(Typed("int64", Fed(np.zeros(0))), Typed("int64", Fed([7]))))
CSV_SAID = dict(output_types=["int64", "int64"], output_shapes=[[], []])


def datasets():
    r = ranged()
    yield from {
        "RangeDataset": r, "TakeDataset": N("TakeDataset", r, Fed(2), **NUMBERS), "SkipDataset": N("SkipDataset", r, Fed(2), **NUMBERS),
        "RepeatDataset": N("RepeatDataset", r, Fed(2), **NUMBERS), "CacheDataset": N("CacheDataset", r, Fed(""), **NUMBERS),
        "CacheDatasetV2": N("CacheDatasetV2", r, Fed(""), N("AnonymousMemoryCache"), **NUMBERS), "AnonymousMemoryCache": N("CacheDatasetV2", r, Fed(""), N("AnonymousMemoryCache"), **NUMBERS),
        "DummyMemoryCache": N("CacheDatasetV2", r, Fed(""), N("DummyMemoryCache"), **NUMBERS), "ConcatenateDataset": N("ConcatenateDataset", r, ranged(3), **NUMBERS),
        "ShardDataset": N("ShardDataset", r, Fed(3), Fed(1), **NUMBERS), "ShuffleDataset": N("ShuffleDataset", r, Fed(3), Fed(1), Fed(2), **NUMBERS),
        "ShuffleDatasetV2": N("ShuffleDatasetV2", r, Fed(3), N("DummySeedGenerator"), **NUMBERS), "DummySeedGenerator": N("ShuffleDatasetV2", r, Fed(3), N("DummySeedGenerator"), **NUMBERS),
        "ShuffleDatasetV3": N("ShuffleDatasetV3", r, Fed(3), Fed(1), Fed(2), N("AnonymousSeedGenerator", Fed(1), Fed(2), Fed(True)), **NUMBERS),
        "AnonymousSeedGenerator": N("ShuffleDatasetV3", r, Fed(3), Fed(1), Fed(2), N("AnonymousSeedGenerator", Fed(1), Fed(2), Fed(True)), **NUMBERS),
        "ShuffleAndRepeatDataset": N("ShuffleAndRepeatDataset", r, Fed(3), Fed(1), Fed(2), Fed(2), **NUMBERS),
        "ShuffleAndRepeatDatasetV2": N("ShuffleAndRepeatDatasetV2", r, Fed(3), Fed(1), Fed(2), Fed(2), N("AnonymousSeedGenerator", Fed(1), Fed(2), Fed(True)), **NUMBERS),
        "MapDataset": N("MapDataset", r, NONE, **MAPPED, **NUMBERS), "ParallelMapDataset": N("ParallelMapDataset", r, NONE, Fed(2), **MAPPED, **NUMBERS),
        "ParallelMapDatasetV2": N("ParallelMapDatasetV2", r, NONE, Fed(2), **MAPPED, **NUMBERS), "FilterDataset": N("FilterDataset", r, NONE, predicate="small", Targuments=[], **NUMBERS),
        "ParallelFilterDataset": N("ParallelFilterDataset", r, NONE, Fed(2), predicate="small", Targuments=[], **NUMBERS),
        "FlatMapDataset": N("FlatMapDataset", r, NONE, **FLAT), "InterleaveDataset": N("InterleaveDataset", r, NONE, Fed(2), Fed(1), **FLAT),
        "ParallelInterleaveDataset": N("ParallelInterleaveDataset", r, NONE, Fed(2), Fed(1), Fed(False), Fed(1), Fed(1), **FLAT),
        "ExperimentalParallelInterleaveDataset": N("ExperimentalParallelInterleaveDataset", r, NONE, Fed(2), Fed(1), Fed(False), Fed(1), Fed(1), **FLAT),
        "ParallelInterleaveDatasetV2": N("ParallelInterleaveDatasetV2", r, NONE, Fed(2), Fed(1), Fed(2), **FLAT),
        "ParallelInterleaveDatasetV3": N("ParallelInterleaveDatasetV3", r, NONE, Fed(2), Fed(1), Fed(2), **FLAT),
        "ParallelInterleaveDatasetV4": N("ParallelInterleaveDatasetV4", r, NONE, Fed(2), Fed(1), Fed(1), Fed(1), Fed(2), **FLAT),
        "PrefetchDataset": N("PrefetchDataset", r, Fed(2), **NUMBERS), "ModelDataset": N("ModelDataset", r, **NUMBERS), "OptimizeDataset": N("OptimizeDataset", r, Fed(np.array([], object)), **NUMBERS),
        "OptimizeDatasetV2": N("OptimizeDatasetV2", r, *[Fed(np.array([], object))] * 3, **NUMBERS), "OptionsDataset": N("OptionsDataset", r, serialized_options="", **NUMBERS),
        "FinalizeDataset": N("FinalizeDataset", r, **NUMBERS), "IgnoreErrorsDataset": N("IgnoreErrorsDataset", r, **NUMBERS), "ExperimentalIgnoreErrorsDataset": N("ExperimentalIgnoreErrorsDataset", r, **NUMBERS),
        "AssertCardinalityDataset": N("AssertCardinalityDataset", r, Fed(6), **NUMBERS), "SamplingDataset": N("SamplingDataset", r, Fed(1.0), Fed(3), Fed(4), **NUMBERS),
        "UniqueDataset": N("UniqueDataset", r, **NUMBERS), "ExperimentalUniqueDataset": N("ExperimentalUniqueDataset", r, **NUMBERS),
        "PrivateThreadPoolDataset": N("PrivateThreadPoolDataset", r, Fed(1), **NUMBERS), "ExperimentalPrivateThreadPoolDataset": N("ExperimentalPrivateThreadPoolDataset", r, Fed(1), **NUMBERS),
        "MaxIntraOpParallelismDataset": N("MaxIntraOpParallelismDataset", r, Fed(1), **NUMBERS),
        "ExperimentalMaxIntraOpParallelismDataset": N("ExperimentalMaxIntraOpParallelismDataset", r, Fed(1), **NUMBERS),
        "RandomDataset": N("RandomDataset", Fed(3), Fed(4), **NUMBERS), "ExperimentalRandomDataset": N("ExperimentalRandomDataset", Fed(3), Fed(4), **NUMBERS),
        "ScanDataset": N("ScanDataset", r, wholes(1), NONE, f="sums", Targuments=[], **NUMBERS), "ExperimentalScanDataset": N("ExperimentalScanDataset", r, wholes(1), NONE, f="sums", Targuments=[], **NUMBERS),
        "TakeWhileDataset": N("TakeWhileDataset", r, NONE, predicate="small", Targuments=[], **NUMBERS),
        "ExperimentalTakeWhileDataset": N("ExperimentalTakeWhileDataset", r, NONE, predicate="small", Targuments=[], **NUMBERS),
        "TensorDataset": N("TensorDataset", wholes(3), **NUMBERS), "TensorSliceDataset": N("TensorSliceDataset", wholes([3, 4]), **NUMBERS), "ListDataset": N("ListDataset", wholes(3, 4), **NUMBERS),
        "DirectedInterleaveDataset": N("DirectedInterleaveDataset", N("TensorSliceDataset", wholes([1, 0, 1]), **NUMBERS), L(r, ranged(3)), **NUMBERS),
        "ExperimentalDirectedInterleaveDataset": N("ExperimentalDirectedInterleaveDataset", N("TensorSliceDataset", wholes([1, 0, 1]), **NUMBERS), L(r, ranged(3)), **NUMBERS),
        "UnbatchDataset": N("UnbatchDataset", N("TensorDataset", wholes([3, 4]), **ROWS), **NUMBERS),
        "ExperimentalUnbatchDataset": N("ExperimentalUnbatchDataset", N("TensorDataset", wholes([3, 4]), **ROWS), **NUMBERS),
        "GeneratorDataset": N("GeneratorDataset", wholes(1), wholes(), wholes(), init_func="itself", next_func="twice", finalize_func="itself", **NUMBERS),
        "BytesProducedStatsDataset": N("BytesProducedStatsDataset", r, Fed("t"), **NUMBERS), "ExperimentalBytesProducedStatsDataset": N("ExperimentalBytesProducedStatsDataset", r, Fed("t"), **NUMBERS),
        "LatencyStatsDataset": N("LatencyStatsDataset", r, Fed("t"), **NUMBERS), "ExperimentalLatencyStatsDataset": N("ExperimentalLatencyStatsDataset", r, Fed("t"), **NUMBERS),
        "NonSerializableDataset": N("NonSerializableDataset", r, **NUMBERS), "ExperimentalNonSerializableDataset": N("ExperimentalNonSerializableDataset", r, **NUMBERS),
        "ChooseFastestDataset": N("ChooseFastestDataset", L(r, r), num_experiments=1, **NUMBERS),
        "ExperimentalChooseFastestDataset": N("ExperimentalChooseFastestDataset", L(r, r), num_experiments=1, **NUMBERS),
        "ExperimentalMapDataset": N("ExperimentalMapDataset", r, NONE, **MAPPED, **NUMBERS),
        "LegacyParallelInterleaveDatasetV2": N("LegacyParallelInterleaveDatasetV2", r, NONE, Fed(2), Fed(1), Fed(1), Fed(1), **FLAT),
        "SaveDatasetV2": N("SaveDatasetV2", r, Fed("saved"), NONE, shard_func="two", Tshard_func_args=[], **NUMBERS),
        "SnapshotDataset": N("SnapshotDataset", r, Fed("saved"), **NUMBERS),
        "SnapshotDatasetV2": N("SnapshotDatasetV2", r, Fed("saved"), NONE, NONE, reader_func="joined", shard_func="two", Treader_func_args=[],
                               Tshard_func_args=[], **NUMBERS),
        "LoadDataset": N("LoadDataset", N("Identity", Fed("saved"), T="string", after=[N("SaveDataset", r, Fed("saved"), NONE, shard_func="two", Tshard_func_args=[])]), NONE,
                         reader_func="joined", Treader_func_args=[], **NUMBERS),
        "WrapDatasetVariant": N("UnwrapDatasetVariant", N("WrapDatasetVariant", r)), "UnwrapDatasetVariant": N("UnwrapDatasetVariant", N("WrapDatasetVariant", r)),
        "GroupByReducerDataset": N("GroupByReducerDataset", r, NONE, NONE, NONE, NONE, **REDUCED), "ExperimentalGroupByReducerDataset": N("ExperimentalGroupByReducerDataset", r, NONE, NONE, NONE, NONE, **REDUCED),
    }.items()


def shaped_datasets():
    r = ranged()
    row = N("TensorSliceDataset", wholes([[3, 4], [5, 6]]), **PAIRS)
    three = dict(output_types=["int64"], output_shapes=[[3]])
    yield from {
        "BatchDataset": (N("BatchDataset", r, Fed(3), **three), three), "BatchDatasetV2": (N("BatchDatasetV2", r, Fed(3), Fed(True), **three), three),
        "ParallelBatchDataset": (N("ParallelBatchDataset", r, Fed(3), Fed(2), Fed(True), **three), three),
        "MapAndBatchDataset": (N("MapAndBatchDataset", r, NONE, Fed(3), Fed(2), Fed(True), **MAPPED, **three), three),
        "ExperimentalMapAndBatchDataset": (N("ExperimentalMapAndBatchDataset", r, NONE, Fed(3), Fed(2), Fed(True), **MAPPED, **three), three),
        "PaddedBatchDataset": (N("PaddedBatchDataset", row, Fed(2), L(Fed([3])), wholes(-1), **ROWS), ROWS),
        "PaddedBatchDatasetV2": (N("PaddedBatchDatasetV2", row, Fed(2), L(Fed([3])), wholes(-1), Fed(False), **ROWS), ROWS),
        "RebatchDatasetV2": (N("RebatchDatasetV2", N("BatchDatasetV2", r, Fed(2), Fed(True), **PAIRS), Fed([3]), Fed(True), **three), three),
        "MatchingFilesDataset": (N("MatchingFilesDataset", lines()), TEXTS), "ExperimentalMatchingFilesDataset": (N("ExperimentalMatchingFilesDataset", lines()), TEXTS),
        "GroupByWindowDataset": (N("GroupByWindowDataset", r, NONE, NONE, NONE, **WINDOWS), PAIRS), "ExperimentalGroupByWindowDataset": (N("ExperimentalGroupByWindowDataset", r, NONE, NONE, NONE, **WINDOWS), PAIRS),
        "ZipDataset": (N("ZipDataset", L(r, ranged(3)), **CSV_SAID), CSV_SAID),
        "DenseToSparseBatchDataset": (N("DenseToSparseBatchDataset", row, Fed(2), Fed([4]), **SPARSE), SPARSE),
        "ExperimentalDenseToSparseBatchDataset": (N("ExperimentalDenseToSparseBatchDataset", row, Fed(2), Fed([4]), **SPARSE), SPARSE),
        "SparseTensorSliceDataset": (N("SparseTensorSliceDataset", Fed([[0, 0], [1, 2]]), Fed([5, 6]), Fed([2, 3]), Tvalues="int64"),
                                     dict(output_types=["int64", "int64", "int64"], output_shapes=[None, None, None])),
        "CSVDataset": (N("CSVDataset", lines(), *CSV, **CSV_SAID), CSV_SAID), "ExperimentalCSVDataset": (N("ExperimentalCSVDataset", lines(), *CSV, **CSV_SAID), CSV_SAID),
        "CSVDatasetV2": (N("CSVDatasetV2", lines(), *CSV, Fed(np.zeros(0)), **CSV_SAID), CSV_SAID), "TextLineDataset": (N("TextLineDataset", lines(), Fed(""), Fed(100)), TEXTS),
        "FixedLengthRecordDataset": (N("FixedLengthRecordDataset", lines(), Fed(0), Fed(2), Fed(0), Fed(100)), TEXTS),
        "FixedLengthRecordDatasetV2": (N("FixedLengthRecordDatasetV2", lines(), Fed(0), Fed(2), Fed(0), Fed(100), Fed("")), TEXTS),
        "TFRecordDataset": (N("TFRecordDataset", lines(record(b"abc") + record(b"")), Fed(""), Fed(100)), TEXTS),
        "WindowDataset": (N("FlatMapDataset", N("WindowDataset", r, Fed(2), Fed(2), Fed(1), Fed(True), output_types=["variant"], output_shapes=[[]]), NONE, f="windowed", Targuments=[], **NUMBERS), NUMBERS),
    }.items()


def record(content):
    """A TFRecord file of one record."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "records")
        with tw.python_io.TFRecordWriter(path) as writer:
            writer.write(content)
        with open(path, "rb") as f:
            return f.read()


def multi_device():
    devices = dict(devices=["/cpu:0", "/cpu:0"], **NUMBERS)
    shard = Typed("int32", Fed(1))
    for kind in ("MultiDeviceIterator", "AnonymousMultiDeviceIterator", "AnonymousMultiDeviceIteratorV3"):
        it = N(kind, shared_name="", container="", **devices) if kind == "MultiDeviceIterator" else N(kind, **devices)
        made = N("MultiDeviceIteratorInit", ranged(), it, Fed(2))
        yield kind, case("MultiDeviceIteratorGetNextFromShard", it, shard, made, **NUMBERS)
    it = N("MultiDeviceIterator", shared_name="", container="", **devices)
    made = N("MultiDeviceIteratorInit", ranged(), it, Fed(2))
    yield "MultiDeviceIteratorGetNextFromShard", case("MultiDeviceIteratorGetNextFromShard", it, shard, made, **NUMBERS)
    yield "MultiDeviceIteratorInit", case("MultiDeviceIteratorInit", ranged(), it, Fed(2))
    yield "MultiDeviceIteratorToStringHandle", case("MultiDeviceIteratorToStringHandle", it)
    text = N("MultiDeviceIteratorToStringHandle", it)
    yield "MultiDeviceIteratorFromStringHandle", case("MultiDeviceIteratorGetNextFromShard", N("MultiDeviceIteratorFromStringHandle", text, **NUMBERS), shard, made, **NUMBERS)
    anonymous = N("AnonymousMultiDeviceIterator", **devices)
    yield "DeleteMultiDeviceIterator", case("DeleteMultiDeviceIterator", anonymous, NONE, anonymous[1])


def iterators():
    it = N("AnonymousIteratorV3", **NUMBERS)
    made = N("MakeIterator", ranged(), it)
    for op in ("IteratorGetNext", "IteratorGetNextSync"):
        yield op, each(ranged(), op=op)
    for kind in ("AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3", "Iterator", "IteratorV2"):
        yield kind, each(ranged(), kind=kind)
    yield "MakeIterator", each(ranged())
    yield "IteratorGetNextAsOptional", case("OptionalGetValue", N("IteratorGetNextAsOptional", it, after=[made], **NUMBERS), **NUMBERS)
    yield from multi_device()
    yield "SaveDataset", case("SaveDataset", ranged(), Fed("saved"), NONE, shard_func="two", Tshard_func_args=[])
    for op, resource in (("DeleteMemoryCache", N("AnonymousMemoryCache")), ("DeleteSeedGenerator", N("AnonymousSeedGenerator", Fed(1), Fed(2), Fed(True)))):
        yield op, case(op, resource, resource[1])
    named = N("IteratorV2", shared_name="", container="", **NUMBERS)
    text = N("IteratorToStringHandle", named, after=[N("MakeIterator", ranged(), named)])
    for v in ("", "V2"):
        yield "IteratorFromStringHandle" + v, case("IteratorGetNext", N("IteratorFromStringHandle" + v, text, **NUMBERS), **NUMBERS)
    yield "IteratorToStringHandle", case("IteratorToStringHandle", named)
    for op in ("IteratorGetDevice", "ExperimentalIteratorGetDevice"):
        yield op, case(op, named)
    old = N("AnonymousIteratorV2", **NUMBERS)
    yield "DeleteIterator", case("DeleteIterator", old, old[1])
    state = N("SerializeIterator", it, after=[made])
    yield "SerializeIterator", case("SerializeIterator", it, after_all=[made])
    yield "DeserializeIterator", case("DeserializeIterator", it, state)
    yield "OneShotIterator", case("IteratorGetNext", N("OneShotIterator", dataset_factory="five", **NUMBERS), **NUMBERS)
    for op in ("DatasetCardinality", "ExperimentalDatasetCardinality"):
        yield op, case(op, ranged())
    yield "DatasetToSingleElement", first(ranged(1))
    yield "ReduceDataset", case("ReduceDataset", ranged(), wholes(1), NONE, f="sum", Targuments=[], **NUMBERS)


def functions():
    x = L(Typed("float32", Fed(3.0)))
    one = dict(Tin=["float32"], Tout=["float32"])
    for op in ("PartitionedCall", "StatefulPartitionedCall"):
        yield op, case(op, x, f="half", **one)
    for v in ("", "Stateless"):
        yield v + "If", case(v + "If", Fed(True), x, Tcond="bool", then_branch="half", else_branch="square", **one)
        yield v + "Case", case(v + "Case", Fed(1), x, branches=["half", "square"], **one)
        yield v + "While", case(v + "While", x, cond="large", body="halves", T=["float32"])
    yield "FakeParam", case("If", Fed(True), x, Tcond="bool", then_branch="half", else_branch="else", **one)
    yield "For", case("For", Fed(0), Fed(3), Fed(1), x, body="body", T=["float32"])
    yield "SymbolicGradient", case("SymbolicGradient", L(Typed("float32", Fed(3.0)), Typed("float32", Fed(1.0))), f="square", Tin=["float32", "float32"], Tout=["float32"])
    yield "RemoteCall", case("RemoteCall", Fed("/job:localhost/replica:0/task:0/device:CPU:0"), x, f="half", **one)
    yield "MapDefun", case("MapDefun", L(Typed("float32", Fed([3.0, 4.0]))), NONE, Targuments=["float32"], Tcaptured=[], output_types=["float32"], output_shapes=[[]], f="half", max_intra_op_parallelism=1)
    batching = dict(num_batch_threads=1, max_batch_size=2, batch_timeout_micros=1000)
    yield "BatchFunction", case("BatchFunction", L(Typed("float32", Fed([3.0, 4.0]))), NONE, f="half", Tin=["float32"], Tcaptured=[], Tout=["float32"], **batching)
    batch = N("Batch", L(Typed("float32", Fed([[3.0, 4.0], [5.0, 6.0]]))), grad_timeout_micros=1000000, T=["float32"], **batching)
    yield "Batch", case("Unbatch", batch, batch[1], batch[2], timeout_micros=1000000)
    yield "Unbatch", case("Unbatch", batch, batch[1], batch[2], timeout_micros=1000000)
    for op in ("_GatherBatch", "_AwaitBatch", "_ScatterBatch"):
        yield op, case("BatchFunction", L(Typed("float32", Fed([3.0, 4.0]))), NONE, f="half", Tin=["float32"], Tcaptured=[], Tout=["float32"], **batching)
    yield "_RuntimeCall", case("PartitionedCall", x, f="down", **one)
    yield "CollectiveAllToAllV2", case("CollectiveAllToAllV2", num(1, 2), Fed(1), Fed(2), Fed(3), L())
    yield "CollectiveReduceScatterV2", case("CollectiveReduceScatterV2", num(1, 2), Fed(1), Fed(2), Fed(3), L(), merge_op="Add", final_op="Id")
    rows = Fed([[3.0, 4.0], [5.0, 6.0]])
    yield "UnbatchGrad", case("UnbatchGrad", rows, Fed([[0, 0, 2]]), rows, Fed(0))


def files():
    saved = dict(T=["float32"])
    value = L(Typed("float32", Fed([[1.0, 2.0], [3.0, 4.0]])))
    old = N("Save", Fed("old"), Fed(["v"]), value, **saved)
    name = N("Identity", Fed("old"), T="string", after=[old])
    yield "Save", case("Save", Fed("old"), Fed(["v"]), value, **saved)
    yield "SaveSlices", case("SaveSlices", Fed("slices"), Fed(["v"]), Fed(["2 2 0,1:-"]), L(Typed("float32", Fed([[1.0, 2.0]]))), **saved)
    yield "Restore", case("Restore", name, Fed("v"), dt="float32")
    yield "RestoreSlice", case("RestoreSlice", name, Fed("v"), Fed("2 2 0,1:-"), dt="float32")
    bundle = N("SaveV2", Fed("bundle"), Fed(["v"]), Fed([""]), value, dtypes=["float32"])
    there = N("Identity", Fed("bundle"), T="string", after=[bundle])
    yield "SaveV2", case("SaveV2", Fed("bundle"), Fed(["v"]), Fed([""]), value, dtypes=["float32"])
    yield "RestoreV2", case("RestoreV2", there, Fed(["v"]), Fed([""]), dtypes=["float32"])
    yield "MergeV2Checkpoints", case("MergeV2Checkpoints", Fed(["bundle"]), Fed("merged"), after_all=[bundle])
    for v in ("", "V2"):
        table = N("HashTable" + v, key_dtype="string", value_dtype="int64", shared_name="words" + v)
        yield "InitializeTableFromTextFile" + v, case("InitializeTableFromTextFile" + v, table, lines(b"a\nb\n"), key_index=-2, value_index=-1)
    reader = N("TFRecordReader")
    queue = N("FIFOQueue", component_types=["string"])
    filled = N("QueueEnqueue", queue, L(Typed("string", lines(record(b"abc")))))
    yield "TFRecordReader", case("ReaderRead", reader, queue, after_all=[filled])
    reader, queue = N("TFRecordReaderV2"), N("FIFOQueueV2", component_types=["string"])
    filled = N("QueueEnqueueV2", queue, L(Typed("string", lines(record(b"abc")))))
    yield "TFRecordReaderV2", case("ReaderReadV2", reader, queue, after_all=[filled])
    yield "DumpTensor", case("DumpTensor", num(2), log_dir_path="dumps", file_name="x", enabled=True, func_name="f", node_name="n", T="float32")
    yield "ImmutableConst", case("ImmutableConst", after_all=[written("numbers", np.arange(4, dtype=np.float32).tobytes())], dtype="float32", shape=[2, 2], memory_region_name="numbers")
    yield "RecordInput", case("RecordInput", after_all=[written("records", record(b"abc"))], file_pattern="records", file_parallelism=1, batch_size=1, file_buffer_size=1)
    event = tw.Event(wall_time=1.0, step=2)
    writer = N("SummaryWriter", shared_name="w")
    opened = N("CreateSummaryFileWriter", writer, Fed("events"), Fed(2), Fed(1000), Fed(".v"))
    yield "ImportEvent", case("ImportEvent", writer, Fed(event.SerializeToString()), after_all=[opened])
    yield "CloseSummaryWriter", case("CloseSummaryWriter", writer, after_all=[opened])


def control():
    value = N("PlaceholderWithDefault", 3.0, dtype="float32", shape=[])
    entered = N("Enter", value, T="float32", frame_name="f")
    yield "Enter", case("Exit", entered, T="float32")
    yield "Exit", case("Exit", entered, T="float32")
    yield "NoOp", case("NoOp", after_all=[value])
    yield "ControlTrigger", case("ControlTrigger", after_all=[value])
    yield "PrintV2", case("PrintV2", Fed("a line"), output_stream="stderr", end="")
    yield "Timestamp", case("Timestamp")
    lock = N("MutexLock", N("MutexV2"))
    yield "ConsumeMutexLock", case("ConsumeMutexLock", lock)
    yield "FakeQueue", case("FakeQueue", N("FIFOQueueV2", component_types=["int64"]))
    for v in ("", "V2"):
        yield "GetSessionHandle" + v, case("GetSessionHandle" + v, num(2), T="float32")
    handle = N("GetSessionHandle", num(2), T="float32")
    yield "GetSessionTensor", case("GetSessionTensor", handle, dtype="float32")
    yield "DeleteSessionTensor", case("DeleteSessionTensor", handle)
    here = "/job:localhost/replica:0/task:0/device:CPU:0"
    edge = dict(tensor_name="edge", send_device=here, send_device_incarnation=1, recv_device=here, tensor_type="float32", T="float32")
    for op in ("_HostSend", "_HostRecv"):
        yield op, case("_HostRecv", after_all=[N("_HostSend", num(2), **edge)], **edge)
    yield "VariableShape", case("VariableShape", res(num(2)))
    for op in ("_ParallelConcatStart", "_ParallelConcatUpdate"):
        yield op, case("_ParallelConcatUpdate", N("_ParallelConcatStart", shape=[2, 2], dtype="float32"), num(1, 2), loc=1)
    lists = [N("TensorListFromTensor", Fed([[1.0, 2.0]]), [2], element_dtype="float32", shape_type="int32") for _ in range(2)]
    pushed = N("TensorListPushBackBatch", N("Pack", L(*lists), T="variant"), Fed([[5.0, 6.0], [7.0, 8.0]]), element_dtype="float32")
    yield "TensorListPushBackBatch", case("TensorListLength", N("Reshape", N("StridedSlice", pushed, [0], [1], [1], T="variant", Index="int32", shrink_axis_mask=1), Fed(np.zeros(0, np.int32)), T="variant", Tshape="int32"))
    yield "TensorListSplit", case("TensorListLength", N("TensorListSplit", Fed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [-1, 2], Fed([2, 1]), element_dtype="float32", shape_type="int32"))


def quantized():
    said = dict(strides=[1, 1, 1, 1], padding="VALID")
    image, kernel, bias = num(1, 4, 4, 2), num(2, 2, 2, 3), num(3)
    kinds = dict(Tinput="quint8", Tfilter="qint8")
    ranges, wide = (LOW, HIGH, LOW, HIGH), (Fed(-100.0), Fed(200.0))
    for op in sorted(o for o in FACTS if o.startswith(("QuantizedConv2D", "QuantizedDepthwiseConv2D")) and o != "QuantizedConv2D"):
        inputs = {"input": image, "filter": num(2, 2, 2, 1) if "Depthwise" in op else kernel, "bias": num(2) if "Depthwise" in op else bias,
                  "min_input": LOW, "max_input": HIGH, "min_filter": LOW, "max_filter": HIGH, "min_freezed_output": wide[0], "max_freezed_output": wide[1],
                  "summand": num(1, 3, 3, 3), "min_summand": LOW, "max_summand": HIGH}
        if "PerChannel" in op:
            inputs.update(min_filter=Fed([-1.0] * 3), max_filter=Fed([2.0] * 3))
        more = dict(kinds, **said)
        names = {a["name"]: a for a in FACTS[op]["attrs"]}
        if "Tbias" in names:
            more["Tbias"] = "float32"
        if "Tsummand" in names:
            more["Tsummand"] = "qint8" if "Signed" in op else "quint8"
        yield op, case(op, *[inputs[i["name"]] for i in FACTS[op]["inputs"]], **more)
    for op in sorted(o for o in FACTS if o.startswith("QuantizedMatMulWithBias")):
        more = dict(T1="quint8", T2="qint8", **({"Tbias": "float32"} if any(a["name"] == "Tbias" for a in FACTS[op]["attrs"]) else {}))
        if "Dequantize" in op:
            more["Toutput"] = "float32"
        count = len(FACTS[op]["inputs"])
        yield op, case(op, num(2, 3), num(3, 4), num(4), *ranges, *wide[:count - 7], **more)


def programs():
    """What gradients, loops, passes and placement make."""
    def of(build):
        with tw.Graph().as_default() as graph:
            build()
        return graph.as_graph_def()

    def fed(*shape):
        return tw.placeholder_with_default(np.linspace(-1, 2, int(np.prod(shape))).reshape(shape).astype(np.float32), shape)

    def filled(*shape):
        return tw.fill(shape, tw.placeholder_with_default(np.float32(0.01), []))

    def loop(side=2):
        x = filled(side, side)
        return x, tw.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tw.tanh(tw.matmul(v, x))), [0, filled(8, side)])[1]

    def loop_gradient(side=2):
        x, y = loop(side)
        tw.reduce_sum(tw.gradients(y, x)[0])

    def second_device():
        x = fed(2)
        with tw.device("/device:CPU:1"):
            tw.negative(x)

    def conv_norm():
        y = tw.nn.relu(tw.raw_ops.FusedBatchNormV3(x=fed(1, 3, 3, 2), scale=fed(2), offset=fed(2), mean=tw.constant([]), variance=tw.constant([]))[0])
        tw.gradients(y, tw.get_default_graph().get_tensor_by_name("PlaceholderWithDefault:0"))

    def element_wise():
        x = fed(40, 50)
        tw.identity(tw.exp(x * x + 1.0) * 0.5 - x)

    def reduction():
        x = fed(40, 50)
        tw.identity(tw.reduce_sum(tw.square(x - 1.0) * 2.0, 1))

    def references():
        v = tw.raw_ops.VariableV2(shape=[2], dtype=tw.float32)
        with tw.control_dependencies([tw.raw_ops.Assign(ref=v, value=fed(2))]):
            ready = tw.raw_ops.RefIdentity(input=v)
        entered = tw.raw_ops.RefEnter(data=ready, frame_name="f")
        tw.identity(tw.raw_ops.RefExit(data=entered))

    def reference_loop():
        v = tw.raw_ops.VariableV2(shape=[], dtype=tw.float32)
        with tw.control_dependencies([tw.raw_ops.Assign(ref=v, value=fed())]):
            ready = tw.raw_ops.RefIdentity(input=v)
        entered = tw.raw_ops.RefEnter(data=ready, frame_name="f")
        merged = tw.raw_ops.RefMerge(inputs=[entered, entered])[0]
        going = tw.raw_ops.LoopCond(input=tw.raw_ops.Less(x=merged, y=tw.raw_ops.Enter(data=10.0, frame_name="f", is_constant=True)))
        out, again = tw.raw_ops.RefSwitch(data=merged, pred=going)
        more = tw.raw_ops.AssignAdd(ref=again, value=tw.raw_ops.Enter(data=4.0, frame_name="f", is_constant=True))
        following = tw.raw_ops.RefNextIteration(data=more)
        tw.identity(tw.raw_ops.RefExit(data=out))
        return merged.op.name, following.op.name

    def closed_reference_loop():
        names = []
        graph = of(lambda: names.extend(reference_loop()))
        for node in graph.node:
            if node.name == names[0]:
                node.input[1] = names[1]
        return graph

    def broadcast(send, receive, said):
        with tw.device("/device:CPU:0"):
            send(said)
        with tw.device("/device:CPU:1"):
            receive(said)

    def beams():
        beams = np.array([[[0, 1], [1, 2]], [[3, 4], [5, 6]]], np.int32)
        fed_beams = [tw.placeholder_with_default(v, v.shape) for v in (beams, beams % 2)]
        tw.get_default_graph().create_op("GatherTree", [*fed_beams, tw.constant([2, 1]), tw.constant(7)], [tw.int32])

    yield from {op: of(loop) for op in ("LoopCond", "NextIteration")}.items()
    yield from {op: of(lambda: tw.reduce_sum(loop(256)[1])) for op in ("_PackMatrix", "_PackedMatMul")}.items()
    yield from {op: of(loop_gradient) for op in ("_EmptyLoopStack", "_PushLoopStack", "_PopLoopStack")}.items()
    yield from {op: of(lambda: loop_gradient(64)) for op in ("_StartProducts", "_AddProduct", "_EndProducts")}.items()
    yield from {op: of(second_device) for op in ("_Send", "_Recv")}.items()
    yield "_FusedMatMul", of(lambda: tw.nn.relu(tw.nn.bias_add(tw.matmul(fed(2, 3), fed(3, 4)), fed(4))))
    yield "_FusedConv2D", of(lambda: tw.nn.relu(tw.nn.bias_add(tw.nn.conv2d(fed(1, 4, 4, 2), fed(2, 2, 2, 3), strides=[1, 1, 1, 1], padding="SAME"), fed(3))))
    yield from {op: of(conv_norm) for op in ("_FusedBatchNormEx", "_FusedBatchNormGradEx")}.items()
    yield "_FusedElementwise", of(element_wise)
    yield "_FusedReduction", of(reduction)
    yield from {op: of(references) for op in ("RefEnter", "RefExit")}.items()
    yield "GatherTree", of(beams)
    yield "RefNextIteration", closed_reference_loop()
    raw, said = tw.raw_ops, dict(group_size=2, group_key=1, instance_key=1)
    yield "CollectiveBcastRecv", of(lambda: broadcast(lambda s: raw.CollectiveBcastSend(input=fed(2), shape=[2], **s), lambda s: raw.CollectiveBcastRecv(T=tw.float32, shape=[2], **s), said))
    yield "CollectiveBcastRecvV2", of(lambda: broadcast(lambda s: raw.CollectiveBcastSendV2(input=fed(2), **s), lambda s: raw.CollectiveBcastRecvV2(T=tw.float32, shape=[2], **s), said))


def cases():
    for op, dataset in datasets():
        yield op, each(dataset)
    for op, (dataset, said) in shaped_datasets():
        yield op, each(dataset, said)
    for part in (iterators, functions, files, control, quantized):
        yield from part()


def graphs(finish):
    """(operation, graph), each with the functions that it calls and those that these call."""
    every = {f.signature.name: f for f in library().function}
    for op, made in cases():
        types = type_choices(made)
        graph = finish(Built(made, types[0] if types else {}, op))
        called, todo = set(), [graph.SerializeToString()]
        while todo:
            text = todo.pop()
            for name, f in every.items():
                if name not in called and name.encode() in text:
                    called.add(name)
                    todo.append(f.SerializeToString())
        for name in sorted(called):
            graph.library.function.add().CopyFrom(every[name])
        yield op, graph
    yield from programs()
