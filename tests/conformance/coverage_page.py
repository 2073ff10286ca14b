# SPDX-License-Identifier: Apache-2.0
"""docs/conformance.md: what was compared for each operation, with which release, and what was left out for which reason."""
import collections
import json
import os

from cases import FACTS, ROOT

PAGE = os.path.join(ROOT, "docs", "conformance.md")
# Operations that no generated case can hold, and what compares them instead.
ELSEWHERE = {
    "control flow": ("Enter Exit RefEnter RefExit NextIteration RefNextIteration LoopCond NoOp ControlTrigger Merge Switch", "random graphs, recorded graphs"),
    "functions": ("Case For If While StatelessCase StatelessIf StatelessWhile PartitionedCall StatefulPartitionedCall SymbolicGradient RemoteCall FakeParam",
                  "test_functions.py, recorded graphs"),
    "files": ("Save SaveSlices Restore RestoreSlice SaveV2 RestoreV2 MergeV2Checkpoints ImmutableConst InitializeTableFromTextFile InitializeTableFromTextFileV2", "test_front_end.py, recorded checkpoints"),
    "handles of tensors": ("GetSessionHandle GetSessionHandleV2 GetSessionTensor DeleteSessionTensor", "unit tests: the handle's name is the process's own"),
    "output on a stream": ("PrintV2 Abort Timestamp", "unit tests: no output that could be compared"),
    "for TensorFlow's tests": ("FakeQueue", "exists for TensorFlow's own tests"),
    "functions on rows": ("MapDefun BatchFunction", "test_functions.py"),
    "functions of Python": ("PyFunc PyFuncStateless", "unit tests: the function is the process's own"),
    "events": ("CreateSummaryDbWriter ImportEvent", "unit tests of summaries"),
    "groups of several": ("CollectiveBcastRecv CollectiveBcastRecvV2", "unit tests: a group of one has nobody to receive from"),
    "collectives without a kernel": ("CollectiveAllToAllV2 CollectiveReduceScatterV2", "unit tests: TensorFlow's CPUs have no form of it"),
    "dumps": ("DumpTensor", "test_dump_tensor.py"),
    "in place": ("InplaceAdd InplaceSub InplaceUpdate", "unit tests: TensorFlow's kernels change the constant that they are given"),
    "quantized and fused": ("QuantizedConv2DAndRelu QuantizedConv2DAndReluAndRequantize QuantizedConv2DAndRequantize QuantizedConv2DPerChannel QuantizedConv2DWithBias "
                            "QuantizedConv2DWithBiasAndRelu QuantizedConv2DWithBiasAndReluAndRequantize QuantizedConv2DWithBiasAndRequantize "
                            "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize QuantizedConv2DWithBiasSumAndRelu QuantizedConv2DWithBiasSumAndReluAndRequantize "
                            "QuantizedDepthwiseConv2D QuantizedDepthwiseConv2DWithBias QuantizedDepthwiseConv2DWithBiasAndRelu QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize "
                            "QuantizedMatMulWithBias QuantizedMatMulWithBiasAndDequantize QuantizedMatMulWithBiasAndRelu QuantizedMatMulWithBiasAndReluAndRequantize "
                            "QuantizedMatMulWithBiasAndRequantize", "unit tests: without oneDNN, TensorFlow has an empty kernel"),
    "batches of lists": ("TensorListPushBackBatch", "test_lists.py"),
    "batches of calls": ("Batch Unbatch UnbatchGrad", "unit tests of queues: a batch is of several steps"),
    "records of files": ("RecordInput", "unit tests: the order of its threads"),
    "readers of databases": ("LMDBReader", "test_readers.py: TensorFlow 2.21 has removed LMDB"),
    "datasets": ("AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 AnonymousMemoryCache AnonymousMultiDeviceIterator "
                 "AnonymousMultiDeviceIteratorV3 AnonymousSeedGenerator AssertCardinalityDataset BatchDataset BatchDatasetV2 "
                 "BytesProducedStatsDataset CSVDataset CSVDatasetV2 CacheDataset CacheDatasetV2 ChooseFastestDataset ConcatenateDataset "
                 "DatasetCardinality DatasetToSingleElement DeleteIterator DeleteMemoryCache DeleteMultiDeviceIterator DeleteSeedGenerator "
                 "DenseToSparseBatchDataset DeserializeIterator DirectedInterleaveDataset DummyMemoryCache DummySeedGenerator "
                 "ExperimentalBytesProducedStatsDataset ExperimentalCSVDataset ExperimentalChooseFastestDataset ExperimentalDatasetCardinality "
                 "ExperimentalDenseToSparseBatchDataset ExperimentalDirectedInterleaveDataset ExperimentalGroupByReducerDataset "
                 "ExperimentalGroupByWindowDataset ExperimentalIgnoreErrorsDataset ExperimentalIteratorGetDevice ExperimentalLatencyStatsDataset "
                 "ExperimentalMapAndBatchDataset ExperimentalMapDataset ExperimentalMatchingFilesDataset "
                 "ExperimentalMaxIntraOpParallelismDataset ExperimentalNonSerializableDataset ExperimentalParallelInterleaveDataset "
                 "ExperimentalPrivateThreadPoolDataset ExperimentalRandomDataset ExperimentalScanDataset ExperimentalSqlDataset "
                 "ExperimentalTakeWhileDataset ExperimentalUnbatchDataset ExperimentalUniqueDataset FilterDataset FinalizeDataset "
                 "FixedLengthRecordDataset FixedLengthRecordDatasetV2 FlatMapDataset GeneratorDataset GroupByReducerDataset GroupByWindowDataset "
                 "IgnoreErrorsDataset InterleaveDataset Iterator IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetDevice "
                 "IteratorGetNext IteratorGetNextAsOptional IteratorGetNextSync IteratorToStringHandle IteratorV2 LatencyStatsDataset "
                 "LegacyParallelInterleaveDatasetV2 ListDataset LoadDataset MakeIterator MapAndBatchDataset MapDataset MatchingFilesDataset "
                 "MaxIntraOpParallelismDataset ModelDataset MultiDeviceIterator MultiDeviceIteratorFromStringHandle "
                 "MultiDeviceIteratorGetNextFromShard MultiDeviceIteratorInit MultiDeviceIteratorToStringHandle NonSerializableDataset "
                 "OneShotIterator OptimizeDataset OptimizeDatasetV2 OptionsDataset PaddedBatchDataset PaddedBatchDatasetV2 ParallelBatchDataset "
                 "ParallelFilterDataset ParallelInterleaveDataset ParallelInterleaveDatasetV2 ParallelInterleaveDatasetV3 "
                 "ParallelInterleaveDatasetV4 ParallelMapDataset ParallelMapDatasetV2 PrefetchDataset PrivateThreadPoolDataset RandomDataset "
                 "RangeDataset RebatchDatasetV2 ReduceDataset RepeatDataset SamplingDataset SaveDataset SaveDatasetV2 ScanDataset "
                 "SerializeIterator ShardDataset ShuffleAndRepeatDataset ShuffleAndRepeatDatasetV2 ShuffleDataset ShuffleDatasetV2 "
                 "ShuffleDatasetV3 SkipDataset SnapshotDataset SnapshotDatasetV2 SparseTensorSliceDataset SqlDataset TFRecordDataset TakeDataset TakeWhileDataset "
                 "TensorDataset TensorSliceDataset TextLineDataset UnbatchDataset UniqueDataset UnwrapDatasetVariant WindowDataset WrapDatasetVariant "
                 "ZipDataset",
                 "test_datasets.py, unit tests of data"),
    "no shared handle": ("ConsumeMutexLock MutexV2 MutexLock", "unit tests of queues"),
}


# Operations of whose results no case of their own can tell, and what does.
REFUSED = {
    "AccumulateNV2": "unit tests of sums: TensorFlow rewrites it and registers no kernel whose types could be tried",
    "CloseSummaryWriter": "unit tests of summaries", "DebugGradientRefIdentity": "a reference that nothing was assigned to", "LookupTableInsert": "cases of LookupTableFind",
    "LookupTableInsertV2": "cases of LookupTableFindV2", "Placeholder": "fed in every case", "PlaceholderV2": "fed in every case", "RefSwitch": "one output is dead: cases of RefMerge",
    "Switch": "one output is dead: random graphs", "Variable": "cases that assign to it",
}


class Coverage:
    def __init__(self):
        self.types = collections.defaultdict(set)  # (operation, release) -> types
        self.derivatives, self.shapes, self.codes = collections.defaultdict(set), set(), collections.Counter()
        self.excluded, self.met = collections.defaultdict(set), set()
        self.run = collections.defaultdict(bool)  # operation -> whether a case of it had a result here

    def add(self, item, ops, release, what, why, reason):
        op = item.case.op
        self.met |= ops
        if why and reason:
            self.excluded[op].add(reason)
        if why:
            return
        kind = item.types.get("T") or item.types.get("dtype") or item.types.get("Tparams") or next(iter(item.types.values()), "") or "yes"
        if what == "values":
            self.types[op, release].add(kind)
        elif what == "gradient":
            self.derivatives[op].add(release)
        elif what == "shape":
            self.shapes.add(op)
        elif what == "code":
            self.codes[op] += 1


def reasons():
    return {op: reason for names, reason in ELSEWHERE.values() for op in names.split()}


def in_graphs():
    """The operations of the recorded graphs."""
    found, folder = set(), os.path.join(ROOT, "tests", "golden", "graphs")
    for release in os.listdir(folder):
        for name in os.listdir(os.path.join(folder, release)):
            if name.endswith(".json"):
                with open(os.path.join(folder, release, name), encoding="utf-8") as f:
                    found |= set(json.load(f).get("ops", []))
    return found


def without_case(implemented, covered):
    there = covered.met | set(reasons()) | in_graphs()
    return sorted(op for op in implemented if op in FACTS and op not in there and not op.startswith("_"))


def always_refused(covered):
    """Operations whose cases compare errors only: nobody knows whether their values are the same."""
    return sorted(op for op, result in covered.run.items() if not result and op not in REFUSED)


def write(covered, runs, counts, known, missing):
    lines = ["# Conformance", "", "Written by `./dev conformance`: what it compared with the real TensorFlow, operation by operation; do not edit.", ""]
    for release in [r for r in runs if r != "thalweg"]:
        total = {state: sum(n for k, n in counts.items() if k[0] == release and k[2] == state) for state in ("same", "excluded", "different")}
        lines.append(f"- TensorFlow {release}: {total['same']} comparisons the same, {total['excluded']} excluded, {total['different']} different; {len(runs[release].crashes)} cases end its process.")
    lines += ["", "Types: those of the element type in which values were compared; gradient, shapes: compared; bad input: spoilt cases with the same code of error. "
              "`*` marks what is left out, listed below.", "", "| operation | types, 2.21 | types, 1.15 | gradient | shapes | bad input | |", "|---|---|---|---|---|---|---|"]
    elsewhere = reasons()
    graphs = in_graphs()
    for op in sorted(covered.met | set(elsewhere)):
        old, new = (" ".join(sorted(covered.types[op, r])) for r in ("1.15", "2.21"))
        note = "*" if op in covered.excluded else ""
        if not new and not old and op in elsewhere:
            note = elsewhere[op]
        elif not new and not old:
            note = "in the cases of others" + (", recorded graphs" if op in graphs else "")
        lines.append(f"| {op} | {new} | {old} | {' '.join(sorted(covered.derivatives[op]))} | {'yes' if op in covered.shapes else ''} | {covered.codes[op] or ''} | {note} |")
    lines += ["", "## No case yet", "", " ".join(missing) or "None.", "", *known.page()]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
