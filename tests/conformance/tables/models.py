# SPDX-License-Identifier: Apache-2.0
"""Whole models in one operation: dual coordinate ascent, word vectors; collective operations of a group of one; components of composite tensors."""
from cases import Fed, L, N, Typed, case, num, pos, ref

F = "float32"
CASES = [case("SdcaFprint", Fed(["", "a", "feature_1", "b\u00fc"])), case("SdcaFprint", Fed([])), case("SdcaFprint", Fed("a")),
         *[case("SdcaShrinkL1", L(ref(num(3)), ref(num(2))), l1=a, l2=b) for a, b in ((0.5, 1.0), (0.0, 2.0), (10.0, 0.1), (0.1, 0.0))]]

# No two examples share a feature: TensorFlow takes them in an order of its own.
EXAMPLES, FEATURES, ONES = Fed([0, 1, 2, 3]), Fed([0, 1, 2, 3]), Fed([1.0, 1.0, 1.0, 1.0])
DENSE = Fed([[0.5, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.25]])
LABELS, KNOWN = Fed([1.0, 0.0, 1.0, 0.0]), Fed([0, 1, 2, 3])
PLAIN = dict(loss_type="logistic_loss", l1=0.0, l2=1.0, num_loss_partitions=1, num_inner_iterations=2)


def ascent(op="SdcaOptimizerV2", examples=EXAMPLES, features=FEATURES, values=(), dense=(DENSE,), weights=ONES, labels=LABELS, known=KNOWN, state=num(4, 4), options=(), **attrs):
    how = {**PLAIN, "adaptive" if op.endswith("V2") else "adaptative": False, **attrs}
    return case(op, L(examples), L(features), L(*values), L(*dense), weights, labels, L(known), L(Fed([0.1, -0.2, 0.3, 0.4])), L(*[Fed([0.5, 0.0, -0.5, 1.0]) for _ in dense]), state, options=options, **how)


NEW = Fed([[0.0] * 4] * 4)
for op in ("SdcaOptimizer", "SdcaOptimizerV2"):
    CASES += [ascent(op, state=NEW, loss_type=loss) for loss in ("logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss")]
    CASES += [ascent(op, state=NEW, values=(Fed([0.5, 2.0, -1.0, 1.0]),), loss_type="squared_loss", l1=0.3, l2=0.7), ascent(op, state=NEW, dense=(), num_loss_partitions=4), ascent(op, state=NEW, weights=Fed([1.0, 0.0, 2.0, 0.5]), num_inner_iterations=5)]
CASES += [ascent(state=NEW, labels=Fed([1.0, 0.0, 0.5, 0.0])), ascent(state=NEW, features=Fed([0, 1, 7, 2])), ascent(state=NEW, examples=Fed([0, 1, 2, 9])), ascent(state=NEW, weights=Fed([1.0, 1.0])), ascent(state=Fed([[0.0] * 3] * 4)), ascent(state=NEW, l2=-1.0),
          ascent(state=NEW, loss_type="poisson_loss", labels=Fed([-1.0, 0.0, 2.0, 1.0])), ascent(state=NEW, known=Fed([2, 1, 0])), ascent(state=NEW, num_inner_iterations=0), ascent(state=NEW, features=Fed([0, 1, 1, 2]), options=("shapes",)), ascent(state=NEW, adaptive=True, options=("shapes",)), ascent(state=NEW, num_loss_partitions=0)]

TEXT = "../../../LICENSE"  # seen from the folder of the engine
CASES += [case("Skipgram", filename=TEXT, batch_size=4, window_size=w, min_count=m, options=("reserve",)) for w, m in ((2, 28), (5, 41), (1, 62))]  # words that are all of other frequencies
CASES += [case("Skipgram", filename=TEXT, batch_size=4, min_count=100000, options=("reserve",)), case("Skipgram", filename="there is none", batch_size=4), case("NegTrain", ref(num(3, 2)), ref(num(3, 2)), Fed([0, 2]), Fed([1, 1]), Fed(0.1), vocab_count=[0, 4, 0], num_negative_samples=2),
          *[case("NegTrain", ref(num(3, 2)), ref(num(3, 2)), Fed(e), Fed(l), Fed(0.1), vocab_count=[1, 4, 2], num_negative_samples=2) for e, l in (([0, 3], [1, 1]), ([0], [1, 1]), ([0, 1], [1, -1]))], case("NegTrain", ref(num(3, 2)), ref(num(3, 2)), Fed([0]), Fed([1]), Fed(0.1), vocab_count=[1, 4], num_negative_samples=2)]

ALONE = (Fed(1), Fed(1), Fed(1))
KEYS = dict(group_size=1, group_key=1, instance_key=1)
X = pos(3, 2)
for merge in ("Add", "Mul", "Min", "Max"):
    CASES += [case("CollectiveReduce", X, merge_op=merge, final_op="Id", subdiv_offsets=[0], **KEYS), case("CollectiveReduceV2", X, *ALONE, L(), merge_op=merge, final_op="Id")]
CASES += [case("CollectiveReduce", X, merge_op="Add", final_op="Div", subdiv_offsets=[0], **KEYS), case("CollectiveReduceV2", X, *ALONE, L(), merge_op="Add", final_op="Div"), case("CollectiveGather", X, shape=[3, 2], **KEYS), case("CollectiveGather", X, shape=[6, 2], **KEYS), case("CollectiveGatherV2", X, *ALONE, L()),
          case("CollectiveBcastSend", X, shape=[3, 2], **KEYS), case("CollectiveBcastSend", X, shape=[2, 2], **KEYS), case("CollectiveBcastSendV2", X, *ALONE), *[case("CollectiveAssignGroupV2", Fed([[0, 1], [2, 3]]), Fed(i), Fed(5)) for i in (2, 0, 7)], case("CollectiveAssignGroupV2", Fed([0, 1]), Fed(0), Fed(5))]

PARTS = N("CompositeTensorVariantFromComponents", L(Typed(F, num(3)), Typed("int64", Fed([4]))), metadata="")
CASES += [case("CompositeTensorVariantToComponents", PARTS, metadata="", Tcomponents=kinds) for kinds in ([F, "int64"], [F], ["int64", F], [F, "int64", F])] + [case("CompositeTensorVariantToComponents", N("TensorListFromTensor", num(3), [], element_dtype=F, shape_type="int32"), metadata="", Tcomponents=[F])]
