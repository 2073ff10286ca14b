# SPDX-License-Identifier: Apache-2.0
"""TensorArrays, TensorLists, stacks, queues, accumulators, staging areas, lookup tables: a small program of nodes for each operation."""
import numpy as np
from cases import Fed, L, N, Typed, case

F = "float32"
X = Fed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ROW = Fed([7.0, 8.0])
CASES = []
for v in ("V3", "V2", ""):
    U = "Scatter" + v if v else "Unpack"

    def filled(v=v, U=U):
        handle = N("TensorArray" + v, 3, dtype=F, clear_after_read=False)
        flow = handle[1] if v == "V3" else Fed(0.0)
        return handle, N("TensorArray" + U, handle, *([Fed([0, 1, 2])] if v else []), X, flow, T=F)
    h, flow = filled()
    CASES += [case("TensorArrayRead" + v, h, Fed(1), flow, dtype=F), case("TensorArrayRead" + v, h, Fed(3), flow, dtype=F), case("TensorArraySize" + v, h, flow), case("TensorArrayConcat" + v, h, flow, dtype=F),
              case("TensorArrayRead" + v, h, Fed(0), N("TensorArrayWrite" + v, h, Fed(0), ROW, h[1] if v == "V3" else Fed(0.0), T=F), dtype=F)]
    CASES.append(case("TensorArrayGather" + v, h, Fed([2, 0]), flow, dtype=F) if v else case("TensorArrayPack", h, flow, dtype=F))
    cut = N("TensorArraySplit" + v, h, Fed([[1.0], [2.0], [3.0], [4.0]]), Fed([1, 2, 1]), h[1] if v == "V3" else Fed(0.0), T=F)
    CASES.append(case("TensorArrayRead" + v, h, Fed(1), cut, dtype=F))
    if v:
        grad = N("TensorArrayGrad" + v, h, flow, source="g")
        put = N("TensorArrayWrite" + v, grad, Fed(1), ROW, grad[1] if v == "V3" else flow, T=F)
        CASES.append(case("TensorArrayRead" + v, grad, Fed(1), put, dtype=F))
    CASES.append(case("TensorArrayClose" + v, h))
first = N("TensorArray", 3, dtype=F, clear_after_read=False)
scattered = N("TensorArrayScatter", first, Fed([0, 1, 2]), X, Fed(0.0), T=F)
added = N("TensorArrayGrad", first, scattered, source="g")
CASES += [case("TensorArrayGather", first, Fed([2, 0]), scattered, dtype=F), case("TensorArrayRead", added, Fed(1), N("TensorArrayWrite", added, Fed(1), ROW, scattered, T=F), dtype=F)]


def listed(value=X, shape=(2,), kind=F):
    return N("TensorListFromTensor", value, list(shape), element_dtype=kind, shape_type="int32")


def whole(handle, shape=(2,), **attrs):
    return case("TensorListStack", handle, list(shape), element_dtype=F, **attrs)


CASES += [
    whole(listed()), whole(listed(), num_elements=3), whole(listed(), num_elements=2), whole(listed(), shape=[3]), whole(N("TensorListPushBack", listed(), ROW, element_dtype=F)), whole(N("TensorListPopBack", listed(), [2], element_dtype=F)), case("TensorListPopBack", listed(), [2], element_dtype=F), case("TensorListLength", listed()),
    case("TensorListGetItem", listed(), Fed(1), [2], element_dtype=F), case("TensorListGetItem", listed(), Fed(3), [2], element_dtype=F), case("TensorListGetItem", N("TensorListReserve", [2], 3, element_dtype=F, shape_type="int32"), Fed(1), [2], element_dtype=F), whole(N("TensorListSetItem", listed(), Fed(1), ROW, element_dtype=F)),
    whole(N("TensorListSetItem", listed(), Fed(5), ROW, element_dtype=F)), whole(N("TensorListResize", listed(), Fed(2))), case("TensorListGather", listed(), Fed([2, 0]), [2], element_dtype=F), whole(N("TensorListScatter", X, Fed([2, 0, 1]), [2], element_dtype=F, shape_type="int32")),
    whole(N("TensorListScatterV2", X, Fed([2, 0, 3]), [2], Fed(4), element_dtype=F, shape_type="int32")), whole(N("TensorListScatterIntoExistingList", listed(), X, Fed([1, 2, 0]), element_dtype=F)), case("TensorListConcat", listed(Fed(np.arange(12.0).reshape(2, 3, 2)), (3, 2)), element_dtype=F), case("TensorListConcatV2", listed(), [-1], Fed([2, 2, 2]), element_dtype=F, shape_type="int32"),
    whole(N("TensorListSplit", X, [-1, 2], Fed([2, 1]), element_dtype=F, shape_type="int32"), shape=[-1, 2]), whole(N("TensorListConcatLists", listed(), listed(), element_dtype=F)), case("TensorListElementShape", listed(), shape_type="int32"), case("TensorListStack", N("EmptyTensorList", [2], Fed(-1), element_dtype=F, shape_type="int32"), [2], element_dtype=F),
]
for v in ("V2", ""):
    stack = N("Stack" + v, *([Fed(5)] if v else []), elem_type=F)
    CASES += [case("StackPush" + v, stack, X, T=F), case("StackClose" + v, stack)]
    QUEUES = {"FIFOQueue": dict(component_types=[F, "int64"], shapes=[[2], []]), "RandomShuffleQueue": dict(component_types=[F, "int64"], shapes=[[2], []], seed=3, seed2=4),
              "PaddingFIFOQueue": dict(component_types=[F, "int64"], shapes=[[2], []]), "PriorityQueue": dict(component_types=[F], shapes=[[2], []])}
    for name, attrs in QUEUES.items():
        if name == "PriorityQueue":
            attrs = dict(component_types=[F], shapes=[[2]])
        queue = N(name + v, capacity=5, **attrs)
        kinds = ["int64", F] if name == "PriorityQueue" else [F, "int64"]
        given = [Typed("int64", Fed([3, 1, 2])), Typed(F, X)] if name == "PriorityQueue" else [Typed(F, X), Typed("int64", Fed([3, 1, 2]))]
        CASES += [case("QueueSize" + v, queue), case("QueueEnqueueMany" + v, queue, L(*given)), case("QueueIsClosed" + v, queue), case("QueueClose" + v, queue),
                  case("QueueEnqueue" + v, queue, L(*[Typed(g.kind, Fed(np.asarray(g.spec.spec)[0])) for g in given])), case("QueueDequeue" + v, queue, component_types=kinds, after_all=[N("QueueEnqueueMany" + v, queue, L(*given))]),
                  case("QueueDequeueMany" + v, queue, Fed(2), component_types=kinds, after_all=[N("QueueEnqueueMany" + v, queue, L(*given))]), case("QueueDequeueUpTo" + v, queue, Fed(2), component_types=kinds, after_all=[N("QueueEnqueueMany" + v, queue, L(*given))])]
STAGE = dict(dtypes=[F, "int32"], shared_name="s")
staged = N("Stage", L(Typed(F, ROW), Typed("int32", Fed(3))), shared_name="s")
CASES += [case("StageSize", **STAGE), case("Unstage", after_all=[staged], **STAGE), case("StagePeek", Fed(0), after_all=[staged], **STAGE), case("StageClear", **STAGE),
          case("MutexLock", N("MutexV2"), options=("shapes",))]
for prefix in ("", "Resource"):
    accumulator = N(prefix + "ConditionalAccumulator", dtype=F, shape=[2])
    given = N(prefix + "AccumulatorApplyGradient", accumulator, Fed(0), ROW, dtype=F)
    CASES += [case(prefix + "AccumulatorNumAccumulated", accumulator, after_all=[given]), case(prefix + "AccumulatorTakeGradient", accumulator, Fed(1), dtype=F, after_all=[given]), case(prefix + "AccumulatorSetGlobalStep", accumulator, Fed(4))]
rows = N("SparseConditionalAccumulator", dtype=F, shape=[3, 2])
CASES += [case("SparseAccumulatorTakeGradient", rows, Fed(1), dtype=F, after_all=[N("SparseAccumulatorApplyGradient", rows, Fed(0), Fed([2, 0]), Fed([[1.0, 2.0], [3.0, 4.0]]), Fed([3, 2]), dtype=F, has_known_shape=True)])]
KEYS, VALUES = dict(key_dtype="string", value_dtype="int64"), dict(Tin="string", Tout="int64")
WORDS, NUMBERS = Fed(["a", "b", "c"]), Fed([4, 5, 6])
for v in ("V2", ""):
    fixed, loose, many = N("HashTable" + v, **KEYS), N("MutableHashTable" + v, **KEYS), N("MutableHashTableOfTensors" + v, key_dtype="string", value_dtype="int64", value_shape=[2])
    start = N("InitializeTable" + v, fixed, WORDS, NUMBERS, Tkey="string", Tval="int64")
    put = N("LookupTableInsert" + v, loose, WORDS, NUMBERS, **VALUES)
    dense = N("MutableDenseHashTable" + v, Fed(-1), Fed(-2), key_dtype="int64", value_dtype="int64") if v else N("MutableDenseHashTable", Fed(-1), key_dtype="int64", value_dtype="int64")
    CASES += [case("LookupTableFind" + v, fixed, Fed(["c", "z"]), Fed(-1), after_all=[start], **VALUES), case("LookupTableFind" + v, loose, Fed([["c", "z"]]), Fed(-1), after_all=[put], **VALUES), case("LookupTableSize" + v, loose, after_all=[put]), case("LookupTableSize" + v, fixed, after_all=[start]),
              case("LookupTableFind" + v, fixed, Fed(["c"]), Fed(-1), **VALUES), case("LookupTableExport" + v, loose, Tkeys="string", Tvalues="int64", after_all=[N("LookupTableInsert" + v, loose, Fed(["q"]), Fed([9]), **VALUES)]), case("LookupTableImport" + v, loose, WORDS, NUMBERS, **VALUES), case("LookupTableInsert" + v, loose, WORDS, Fed([1, 2]), **VALUES),
              case("LookupTableFind" + v, many, Fed(["b", "x"]), Fed([0, 0]), after_all=[N("LookupTableInsert" + v, many, Fed(["b"]), Fed([[7, 8]]), **VALUES)], **VALUES), case("LookupTableSize" + v, dense, after_all=[N("LookupTableInsert" + v, dense, Fed([1, 2]), Fed([3, 4]), Tin="int64", Tout="int64")])]
CASES += [case("LookupTableSizeV2", N("MutableHashTableV2", **KEYS), after_all=[N("LookupTableRemoveV2", N("MutableHashTableV2", **KEYS), WORDS, Tin="string")]), case("LookupTableSizeV2", N("AnonymousMutableHashTable", **KEYS)), case("LookupTableSizeV2", N("AnonymousHashTable", **KEYS)),
          case("LookupTableSizeV2", N("AnonymousMutableHashTableOfTensors", key_dtype="string", value_dtype="int64", value_shape=[2])), case("LookupTableSizeV2", N("AnonymousMutableDenseHashTable", Fed(-1), Fed(-2), key_dtype="int64", value_dtype="int64"))]
