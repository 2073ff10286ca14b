# SPDX-License-Identifier: Apache-2.0
"""Boosted trees: ensembles, streams of quantiles, sums and splits."""
import numpy as np
from cases import Fed, L, N, case

RANDOM = np.random.RandomState(5)
ENSEMBLE = N("BoostedTreesEnsembleResourceHandleOp", shared_name="e")
STREAMS = N("BoostedTreesQuantileStreamResourceHandleOp", shared_name="q")
# Two trees of a split each: the first has a bias, the second splits by equality.
GROWN = (b"\n+\n\x17\x12\x06\x10\x05\x18\x01 \x02\xca0\x0c\r\x00\x00\x80?\x12\x05\x1d\x00\x00\xe4\xbf\n\x07\n\x05\x1dff\xca\xbf\n\x07\n\x05\x1d33\x05\xc0"
         b"\n$\n\x10\x1a\x06\x10\x05\x18\x01 \x02\xca0\x05\r\x00\x00\x80?\n\x07\n\x05\x1d\xcd\xccL>\n\x07\n\x05\x1d\x9a\x99\x99\xbe"
         b"\x12\x08\x00\x00\x80?\x00\x00\x00?\x1a\x04\x10\x01\x18\x01\x1a\x02\x10\x01\"\x08\x08\x02\x10\x02\x18\x01 \x03")

# The first of them alone: TensorFlow explains no tree without a bias.
BIASED = GROWN[:45] + b"\x12\x04\x00\x00\x80?" + GROWN[-20:-14] + GROWN[-10:]


def made(message=GROWN):
    return N("BoostedTreesCreateEnsemble", ENSEMBLE, Fed(np.int64(3)), Fed(message))


def streams(count=1, *after):
    return N("BoostedTreesCreateQuantileStreamResource", STREAMS, Fed(0.1), Fed(np.int64(count)), after=after)


BUCKETS = Fed([3, 5, 6, -1])
SPLIT = (L(Fed([1, 2])), L(Fed([1.5, -0.5])), L(Fed([4, 5])), L(Fed([[2.0], [1.0]])), L(Fed([[-3.0], [0.5]])))
SPLIT_V2 = (L(Fed([0])), L(Fed([0, 0])), *SPLIT, L(Fed(["INEQUALITY_DEFAULT_RIGHT", "EQUALITY_DEFAULT_RIGHT"])))
TERMS = (Fed(0.1), Fed(0.2), Fed(0.3), Fed(1.0))
NODES, GRADIENTS, HESSIANS = Fed([0, 1, 0, 2]), Fed([[1.0], [2.0], [3.0], [4.0]]), Fed([[0.1], [0.2], [0.3], [0.4]])
SUMS = RANDOM.standard_normal((4, 2, 5, 2)).astype("f")
SUMS[..., 1] = abs(SUMS[..., 1])
SPARSE = N("BoostedTreesSparseAggregateStats", NODES, GRADIENTS, HESSIANS, Fed([[0, 0], [1, 1], [2, 0], [3, 0]]), Fed([0, 2, 1, 1]), Fed([4, 2]), max_splits=4, num_buckets=3)
VALUES = RANDOM.randint(0, 30, 50).astype("f")
SUMMARY = Fed([[1.0, 1.0, 0.0, 1.0], [2.0, 1.0, 1.0, 2.0], [3.0, 2.0, 2.0, 4.0], [7.0, 1.0, 4.0, 5.0]])
ADDED = N("BoostedTreesQuantileStreamResourceAddSummaries", STREAMS, L(SUMMARY), after=[streams()])
FLUSHED = N("BoostedTreesQuantileStreamResourceFlush", STREAMS, Fed(np.int64(2)), after=[ADDED])


def state(after, op="BoostedTreesSerializeEnsemble"):
    return case(op, ENSEMBLE, after_all=[after])


def boundaries(after, count=1):
    return case("BoostedTreesQuantileStreamResourceGetBucketBoundaries", STREAMS, num_features=count, after_all=[after])


CASES = [
    state(made()), state(made(b"")), state(made(b"abc")), state(made(), "BoostedTreesGetEnsembleStates"), state(made(b""), "BoostedTreesGetEnsembleStates"), state(made(), "IsBoostedTreesEnsembleInitialized"),
    case("IsBoostedTreesEnsembleInitialized", ENSEMBLE), case("IsBoostedTreesEnsembleInitialized", ENSEMBLE, after_all=[N("BoostedTreesDeserializeEnsemble", ENSEMBLE, Fed(np.int64(9)), Fed(b""), after=[made()])]),
    state(N("BoostedTreesDeserializeEnsemble", ENSEMBLE, Fed(np.int64(9)), Fed(b""), after=[made()])),
    case("BoostedTreesPredict", ENSEMBLE, L(BUCKETS), logits_dimension=1, after_all=[made()]), case("BoostedTreesPredict", ENSEMBLE, L(BUCKETS), logits_dimension=1, after_all=[made(b"")]),
    case("BoostedTreesTrainingPredict", ENSEMBLE, Fed([0, 0, 0, 1]), Fed([-1, 1, 2, 0]), L(BUCKETS), logits_dimension=1, after_all=[made()]),
    case("BoostedTreesTrainingPredict", ENSEMBLE, Fed([0, 0, 0, 0]), Fed([-1, -1, -1, -1]), L(BUCKETS), logits_dimension=1, after_all=[made(b"")]),
    case("BoostedTreesExampleDebugOutputs", ENSEMBLE, L(BUCKETS), logits_dimension=1, after_all=[made(BIASED)]),
    case("BoostedTreesCenterBias", ENSEMBLE, Fed([[2.0]]), Fed([[3.0]]), Fed(0.1), Fed(0.2), after_all=[made(b"")]),
    state(N("BoostedTreesCenterBias", ENSEMBLE, Fed([[2.0]]), Fed([[3.0]]), Fed(0.1), Fed(0.2), after=[made(b"")])),
    *[state(N("BoostedTreesUpdateEnsemble", ENSEMBLE, Fed([0]), *SPLIT, Fed(2), Fed(0.1), pruning_mode=mode, after=[made()])) for mode in (0, 1, 2)],
    *[state(N("BoostedTreesUpdateEnsembleV2", ENSEMBLE, *SPLIT_V2, Fed(2), Fed(0.1), Fed(mode), after=[made()])) for mode in (0, 1, 2)],
    case("BoostedTreesMakeStatsSummary", NODES, GRADIENTS, HESSIANS, L(Fed([0, 1, 2, 1]), Fed([2, 2, 0, 1])), max_splits=3, num_buckets=3),
    case("BoostedTreesAggregateStats", NODES, GRADIENTS, HESSIANS, Fed([[0, 1], [-1, 2], [2, 0], [1, 1]]), max_splits=3, num_buckets=3),
    *[case("BoostedTreesSparseAggregateStats", *SPARSE.inputs, max_splits=4, num_buckets=3)],
    case("BoostedTreesCalculateBestGainsPerFeature", Fed([0, 3]), L(Fed(SUMS[:, 0]), Fed(SUMS[:, 1])), *TERMS, max_splits=4),
    *[case("BoostedTreesCalculateBestFeatureSplit", Fed([0, 4]), Fed(SUMS), *TERMS, logits_dimension=1, split_type=kind) for kind in ("inequality", "equality")],
    case("BoostedTreesCalculateBestFeatureSplitV2", Fed([0, 4]), L(Fed(SUMS), Fed(SUMS[::-1].copy())), Fed(["inequality", "equality"]), Fed([7, 9]), *TERMS, logits_dimension=1),
    case("BoostedTreesSparseCalculateBestFeatureSplit", Fed([0, 4]), SPARSE, SPARSE[1], SPARSE[2], *TERMS[:3], Fed(0.0), logits_dimension=1),
    case("BoostedTreesBucketize", L(Fed([0.0, 1.0, 1.5, 9.0])), L(Fed([1.0, 2.0, 3.0]))),
    case("BoostedTreesMakeQuantileSummaries", L(Fed(VALUES)), Fed(np.float32(1).repeat(50)), Fed(0.1)), case("BoostedTreesMakeQuantileSummaries", L(Fed(VALUES), Fed(VALUES * 2)), Fed([2.0]), Fed(0.3)),
    case("IsBoostedTreesQuantileStreamResourceInitialized", STREAMS), case("IsBoostedTreesQuantileStreamResourceInitialized", STREAMS, after_all=[streams()]),
    boundaries(streams(2), 2), boundaries(FLUSHED), boundaries(N("BoostedTreesQuantileStreamResourceDeserialize", STREAMS, L(Fed([1.0, 2.0])), after=[streams()])),
    boundaries(N("BoostedTreesQuantileStreamResourceFlush", STREAMS, Fed(np.int64(4)), generate_quantiles=True, after=[ADDED])),
    case("BoostedTreesFlushQuantileSummaries", STREAMS, num_features=1, after_all=[ADDED]),
]
