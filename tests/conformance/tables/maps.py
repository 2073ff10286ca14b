# SPDX-License-Identifier: Apache-2.0
"""Barriers, staging areas with keys, maps of tensors, pops of stacks, the TensorArrays of old."""
from cases import Fed, L, N, Typed, case

F = "float32"
X = Fed([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ROW = Fed([7.0, 8.0])
CASES = []

KINDS = dict(component_types=[F, "int64"], shapes=[[2], []])
barrier = N("Barrier", capacity=-1, **KINDS)
first = N("BarrierInsertMany", barrier, Fed(["a", "b", "c"]), X, T=F, component_index=0)
second = N("BarrierInsertMany", barrier, Fed(["b", "a"]), Fed([5, 4]), T="int64", component_index=1, after=())
CASES += [case("BarrierReadySize", barrier, after_all=[first, second], options=("waits",)), case("BarrierIncompleteSize", barrier, after_all=[first, second], options=("waits",)), case("BarrierInsertMany", barrier, Fed(["a", "b", "c"]), X, T=F, component_index=0), case("BarrierClose", barrier),
          case("BarrierInsertMany", barrier, Fed(["a"]), Fed([4]), T="int64", component_index=7), case("BarrierInsertMany", barrier, Fed(["a"]), Fed([4]), T="int64", component_index=0), case("BarrierInsertMany", barrier, Fed(["a", "a"]), Fed([4, 5]), T="int64", component_index=1),
          case("BarrierTakeMany", barrier, Fed(2), component_types=[F, "int64"], options=("waits",), after_all=[first, second]), case("BarrierTakeMany", barrier, Fed(0), component_types=[F, "int64"], options=("waits",)), case("BarrierTakeMany", barrier, Fed(2), component_types=[F], options=("waits",))]

for prefix in ("", "Ordered"):
    AREA = dict(dtypes=[F, "int32"], shared_name=prefix + "area")

    def stage(key, numbers, *values, prefix=prefix, area=AREA):
        return N(prefix + "MapStage", Fed(key), Fed(numbers), L(*values), **area)
    whole = stage(3, [0, 1], Typed(F, ROW), Typed("int32", Fed(9)))
    part = stage(3, [1], Typed("int32", Fed(9)))
    CASES += [case(prefix + "MapSize", after_all=[whole], options=("waits",), **AREA), case(prefix + "MapIncompleteSize", after_all=[part], options=("waits",), **dict(AREA, shared_name=prefix + "half")), case(prefix + "MapClear", **AREA), case(prefix + "MapPeek", Fed(3), Fed([0, 1]), after_all=[whole], options=("waits",), **AREA),
              case(prefix + "MapUnstage", Fed(3), Fed([0, 1]), after_all=[whole], options=("waits",), **AREA), case(prefix + "MapUnstageNoKey", Fed([0, 1]), after_all=[whole], options=("waits",), **AREA), case(prefix + "MapPeek", Fed(3), Fed([1, 5]), after_all=[whole], options=("waits",), **AREA),
              case(prefix + "MapStage", Fed(3), Fed([0, 1]), L(Typed(F, ROW), Typed("int32", Fed(9))), **AREA), case(prefix + "MapStage", Fed(3), Fed([0, 0]), L(Typed(F, ROW), Typed(F, ROW)), **AREA), case(prefix + "MapStage", Fed(3), Fed([2]), L(Typed(F, ROW)), **AREA)]

MAP = dict(key_dtype="string", value_dtype=F)
held = N("TensorMapInsert", N("TensorMapInsert", N("EmptyTensorMap"), Fed("a"), ROW, **MAP), Fed("b"), X, **MAP)
CASES += [case("TensorMapSize", N("EmptyTensorMap")), case("TensorMapSize", held), case("TensorMapLookup", held, Fed("b"), **MAP), case("TensorMapLookup", held, Fed("z"), **MAP), case("TensorMapHasKey", held, Fed("a"), key_dtype="string"), case("TensorMapHasKey", held, Fed("z"), key_dtype="string"),
          case("TensorMapSize", N("TensorMapErase", held, Fed("a"), **MAP)), case("TensorMapSize", N("TensorMapErase", held, Fed("z"), **MAP)), case("TensorMapStackKeys", N("TensorMapInsert", N("EmptyTensorMap"), Fed("a"), ROW, **MAP), key_dtype="string"), case("TensorMapStackKeys", N("EmptyTensorMap"), key_dtype="string"),
          case("TensorMapLookup", N("TensorMapInsert", held, Fed("a"), X, **MAP), Fed("a"), **MAP)]

for v in ("V2", ""):
    stack = N("Stack" + v, *([Fed(5)] if v else []), elem_type=F)
    CASES += [case("StackPop" + v, stack, elem_type=F, after_all=[N("StackPush" + v, stack, X, T=F)]), case("StackPop" + v, stack, elem_type=F)]
array = N("TensorArrayV3", 3, dtype=F, clear_after_read=False)
grad = N("TensorArrayGradWithShape", array, array[1], Fed([4]), source="g")
CASES += [case("TensorArraySizeV3", grad, grad[1])]
