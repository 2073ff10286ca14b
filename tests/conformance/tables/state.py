# SPDX-License-Identifier: Apache-2.0
"""Variables, their scattered updates, optimizers; reference and resource variables."""
import numpy as np
from cases import Fed, L, N, case, num, pos, ref, res

V, IDS = (4, 2), [3, 0, 3]
CASES = []
for kind, var in (("", ref), ("Resource", res)):
    for way in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update"):
        CASES += [case(f"{kind}Scatter{way}", var(pos(*V)), Fed(IDS), pos(3, 2)), case(f"{kind}Scatter{way}", var(pos(*V)), Fed([[1], [2]]), pos()), case(f"{kind}Scatter{way}", var(pos(*V)), Fed([4]), pos(1, 2))]
    for way in ("Add", "Sub", "Update", "Min", "Max"):
        CASES += [case(f"{kind}ScatterNd{way}", var(num(*V)), Fed([[3], [0], [3]]), num(3, 2)), case(f"{kind}ScatterNd{way}", var(num(*V)), Fed([[3, 0]]), num(1)), case(f"{kind}ScatterNd{way}", var(num(*V)), Fed([[0, 2]]), num(1))]
    CASES += [case(f"{kind}StridedSliceAssign", var(num(4, 3)), [1, 0], [4, 3], [2, 1], num(2, 3))]


def optimizers():
    """(name, slots, scalars before the gradient, scalars after it, options, whether there is a sparse form)"""
    yield "GradientDescent", 0, (0.1,), (), {}, False
    yield "Momentum", 1, (0.1,), (0.9,), {}, True
    yield "Momentum", 1, (0.1,), (0.9,), {"use_nesterov": True}, True
    yield "KerasMomentum", 1, (0.1,), (0.9,), {"use_nesterov": True}, True
    yield "Adagrad", 1, (0.1,), (), {}, True
    yield "AdagradV2", 1, (0.1, 1e-3), (), {}, True
    yield "ProximalGradientDescent", 0, (0.1, 0.01, 0.02), (), {}, True
    yield "ProximalAdagrad", 1, (0.1, 0.01, 0.02), (), {}, True
    yield "Adadelta", 2, (0.1, 0.9, 1e-3), (), {}, True
    yield "RMSProp", 2, (0.1, 0.9, 0.5, 1e-3), (), {}, True
    yield "CenteredRMSProp", 3, (0.1, 0.9, 0.5, 1e-1), (), {}, True
    yield "Adam", 2, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-3), (), {}, False
    yield "Adam", 2, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-3), (), {"use_nesterov": True}, False
    yield "AdamWithAmsgrad", 3, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-3), (), {}, False
    yield "AdaMax", 2, (0.9, 0.1, 0.9, 0.99, 1e-3), (), {}, False
    yield "AddSign", 1, (0.1, 1.0, 0.5, 0.9), (), {}, False
    yield "PowerSign", 1, (0.1, 2.0, 0.5, 0.9), (), {}, False



for prefix, var in (("", ref), ("Resource", res)):
    for name, slots, before, after, options, sparse in optimizers():
        if not prefix and name in ("KerasMomentum", "AdamWithAmsgrad"):
            continue
        states = [var(pos(*V)) for _ in range(slots + 1)]
        dense = (*states, *before, pos(*V), *after)
        if name == "GradientDescent":
            dense = (*states, 0.1, pos(*V))
        CASES.append(case(f"{prefix}Apply{name}", *dense, **options))
        if sparse:
            rows = (*states, *before, pos(3, 2), Fed([0, 3, 0]), *after)
            CASES.append(case(f"{prefix}SparseApply{name}", *rows, **options))
            CASES.append(case(f"{prefix}SparseApply{name}", *states, *before, pos(1, 2), Fed([4]), *after, **options))
    CASES += [case(f"{prefix}ApplyAdagradDA", var(pos(*V)), var(pos(*V)), var(pos(*V)), pos(*V), 0.1, 0.01, 0.02, 3), case(f"{prefix}SparseApplyAdagradDA", var(pos(*V)), var(pos(*V)), var(pos(*V)), pos(2, 2), Fed([3, 0]), 0.1, 0.01, 0.02, 3)]
    for v, shrink in (("", ()), ("V2", (0.03,))):
        CASES += [case(f"{prefix}ApplyFtrl{v}", var(pos(*V)), var(pos(*V)), var(pos(*V)), pos(*V), 0.1, 0.01, 0.02, *shrink, -0.5), case(f"{prefix}SparseApplyFtrl{v}", var(pos(*V)), var(pos(*V)), var(pos(*V)), pos(2, 2), Fed([3, 0]), 0.1, 0.01, 0.02, *shrink, -0.5)]
HANDLE = dict(dtype="float32", shape=[None, 2])
CASES += [
    case("Assign", ref(num(*V)), num(*V)), case("AssignAdd", ref(num(*V)), num(*V)), case("AssignSub", ref(num(*V)), num(*V)), case("Assign", ref(num(*V)), num(3, 2)), case("Assign", ref(num(*V)), num(3, 2), validate_shape=False, options=("no read",)), case("AssignAdd", ref(num(*V)), num(2)),
    case("AssignVariableOp", res(num(*V)), num(*V)), case("AssignAddVariableOp", res(num(*V)), num(*V)), case("AssignSubVariableOp", res(num(*V)), num(*V)), case("AssignAddVariableOp", res(num(*V)), num(2)), case("AssignVariableOp", res(num(*V)), num(3, 2)), case("ReadVariableOp", res(num(*V))), case("ReadVariableOp", N("VarHandleOp", **HANDLE), dtype="float32"),
    case("VarIsInitializedOp", res(num(2)), dtype="float32", options=("typed",)), case("VarIsInitializedOp", N("VarHandleOp", **HANDLE)), case("VariableShape", N("VarHandleOp", **HANDLE)), case("VariableShape", res(num(2, 3))), case("IsVariableInitialized", ref(num(2))), case("IsVariableInitialized", N("VariableV2", shape=[2], dtype="float32"), dtype="float32"), case("IsVariableInitialized", N("Variable", shape=[2], dtype="float32"), dtype="float32"),
    case("CountUpTo", ref(Fed(3)), limit=5), case("CountUpTo", ref(Fed(5)), limit=5), case("ResourceCountUpTo", res(Fed(3)), limit=5), case("ResourceGather", res(num(4, 3)), Fed([3, 0])), case("ResourceGather", res(num(4, 3)), Fed([4])), case("ResourceGatherNd", res(num(4, 3)), Fed([[3, 1], [0, 0]])), case("RefIdentity", ref(num(2))), case("RefSelect", Fed(1), L(ref(num(2)), ref(num(2)))),
    case("RefSwitch", ref(num(2)), Fed(True), options=("shapes",)), case("RefMerge", L(ref(num(2)))), case("DestroyTemporaryVariable", N("Assign", N("TemporaryVariable", shape=[2], dtype="float32", var_name="t"), Fed([1, 2]), T="float32"), var_name="t", T="float32"), case("DisableCopyOnRead", res(num(2)), options=("typed",)),
    case("TensorStridedSliceUpdate", num(4), [1], [3], [1], num(2)), case("ResourceGather", res(num(2, 3, 2)), Fed([[0], [2]]), batch_dims=1), case("Variable", shape=[2], dtype="float32"), case("DestroyResourceOp", N("VarHandleOp", **HANDLE)), case("ResourceGatherNd", res(num(4)), Fed(np.zeros((2, 0)))),
]
