# SPDX-License-Identifier: Apache-2.0
"""Random programs of the operations of boosted trees, whose ensembles, predictions, boundaries and splits TensorFlow 1.15 has recorded
in boosted_trees_recorded.json.

With the real one: python boosted_trees_cases.py > boosted_trees_recorded.json
Each case is a function of tensorflow and a seed; what it gives must be the same bit by bit.
"""
import json

import numpy as np

TYPES = [b"INEQUALITY_DEFAULT_LEFT", b"INEQUALITY_DEFAULT_RIGHT", b"EQUALITY_DEFAULT_RIGHT"]


class Program(object):
    """Operations one after the other, each run when it is called; `handle` comes first."""

    def __init__(self, tf, handle=None):
        self.tf, self.session = tf, tf.Session()
        self.handle = getattr(tf.raw_ops, handle)(container="", shared_name="program") if handle else None

    def __call__(self, op, **arguments):
        if self.handle is not None:
            first = "quantile_stream_resource_handle" if "Quantile" in op else "tree_ensemble_handle"
            arguments[first] = self.handle
        made = getattr(self.tf.raw_ops, op)(**arguments)
        found = self.session.run(list(made) if isinstance(made, tuple) else made)
        return plain(found)


def plain(value):
    """As JSON has it."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value


def proposals(draw, first, last, features):
    """Splits that features propose for nodes [first, last)."""
    found = dict((k, []) for k in ("node_ids", "gains", "thresholds", "left_node_contribs", "right_node_contribs", "dimension_ids",
                                   "split_types"))
    for _ in range(features):
        nodes = np.array([n for n in range(first, last) if draw.rand() < 0.8], np.int32)
        count = len(nodes)
        found["node_ids"].append(nodes)
        found["gains"].append(draw.randint(-2, 4, count).astype(np.float32))
        found["thresholds"].append(draw.randint(0, 6, count).astype(np.int32))
        found["left_node_contribs"].append(draw.randn(count, 1).astype(np.float32))
        found["right_node_contribs"].append(draw.randn(count, 1).astype(np.float32))
        found["dimension_ids"].append(draw.randint(0, 2, count).astype(np.int32))
        found["split_types"].append(np.array([TYPES[i] for i in draw.randint(0, 3, count)], object).reshape(count))
    return found


def growth(tf, seed):
    """An ensemble that grows for eight layers, and examples that are followed through it."""
    draw = np.random.RandomState(seed)
    features, depth, pruning, second = draw.randint(1, 4), int(draw.randint(1, 4)), seed % 3, seed % 2 == 1
    run = Program(tf, "BoostedTreesEnsembleResourceHandleOp")
    run("BoostedTreesCreateEnsemble", stamp_token=3, tree_ensemble_serialized=b"")
    kept = []
    if seed % 4 == 0:
        for _ in range(2):
            mean = draw.randn(1, 1).astype(np.float32)
            kept.append(run("BoostedTreesCenterBias", mean_gradients=mean, mean_hessians=abs(mean) + np.float32(1), l1=0.1, l2=0.2))
    buckets = [draw.randint(-1, 7, 7).astype(np.int32) for _ in range(features)]
    trees, nodes, layer = np.zeros(7, np.int32), np.full(7, -1, np.int32), [0, 1]
    for _ in range(8):
        given = proposals(draw, layer[0], layer[1], features)
        if not second:
            del given["dimension_ids"], given["split_types"]
        ids = draw.permutation(features).astype(np.int32)
        run("BoostedTreesUpdateEnsembleV2" if second else "BoostedTreesUpdateEnsemble", feature_ids=[ids] if second and newer(tf) else ids,
            max_depth=depth, learning_rate=0.3, pruning_mode=pruning, **given)
        states = run("BoostedTreesGetEnsembleStates")
        layer = states[4]
        sums = run("BoostedTreesPredict", bucketized_features=buckets, logits_dimension=1)
        moved = run("BoostedTreesTrainingPredict", cached_tree_ids=trees, cached_node_ids=nodes, bucketized_features=buckets,
                    logits_dimension=1)
        kept.append([states, run("BoostedTreesSerializeEnsemble"), sums, moved])
        if draw.rand() < 0.7:
            trees, nodes = np.array(moved[1], np.int32), np.array(moved[2], np.int32)
    return kept


def newer(tf):
    """Whether features come in groups, as 2.21 has them."""
    return tf.__name__ != "tensorflow"


def streams(tf, seed):
    """Summaries of random values, and boundaries of what they add up to."""
    draw = np.random.RandomState(seed)
    run = Program(tf, "BoostedTreesQuantileStreamResourceHandleOp")
    alone = Program(tf)
    run("BoostedTreesCreateQuantileStreamResource", epsilon=float([0.01, 0.1, 0.3][seed % 3]), num_streams=2,
        max_elements=[1 << 40, 100][seed % 2])
    kept = []
    for _ in range(draw.randint(2, 9)):
        count = draw.randint(1, 120)
        values = [(draw.randn(count) * 9).astype(np.float32), draw.randint(0, 40, count).astype(np.float32)]
        made = alone("BoostedTreesMakeQuantileSummaries", float_values=values, example_weights=draw.rand(count).astype(np.float32),
                     epsilon=0.1)
        run("BoostedTreesQuantileStreamResourceAddSummaries", summaries=[np.array(m, np.float32) for m in made])
        kept.append(made)
    if seed % 3 == 0:
        kept.append(run("BoostedTreesFlushQuantileSummaries", num_features=2))
    run("BoostedTreesQuantileStreamResourceFlush", num_buckets=int(draw.randint(3, 30)), generate_quantiles=seed % 2 == 1)
    return kept + [run("BoostedTreesQuantileStreamResourceGetBucketBoundaries", num_features=2)]


def splits(tf, seed):
    """Splits by random sums."""
    draw = np.random.RandomState(seed)
    run = Program(tf)
    terms = dict(l1=[0.0, 0.5][seed % 2], l2=0.7, tree_complexity=0.25, min_node_weight=1.0)
    sums = draw.randn(4, 2, draw.randint(2, 7), 2).astype(np.float32)
    sums[..., 1] = abs(sums[..., 1])
    found = [run("BoostedTreesCalculateBestFeatureSplit", node_id_range=[0, 4], stats_summary=sums, logits_dimension=1, split_type=kind,
                 **terms) for kind in ("inequality", "equality")]
    found.append(run("BoostedTreesCalculateBestGainsPerFeature", node_id_range=[1, 4], stats_summary_list=[sums[:, 0], sums[:, 1]],
                     max_splits=4, **terms))
    there = [(i, k) for i in range(20) for k in range(2) if draw.rand() < 0.5]
    sparse = run("BoostedTreesSparseAggregateStats", node_ids=draw.randint(0, 4, 20).astype(np.int32),
                 gradients=draw.randn(20, 1).astype(np.float32), hessians=draw.rand(20, 1).astype(np.float32),
                 feature_indices=np.array(there, np.int32), feature_values=draw.randint(0, 3, len(there)).astype(np.int32),
                 feature_shape=[20, 2], max_splits=4, num_buckets=3)
    found.append(sparse)
    found.append(run("BoostedTreesSparseCalculateBestFeatureSplit", node_id_range=[0, 4], stats_summary_indices=np.array(sparse[0], np.int32),
                     stats_summary_values=np.array(sparse[1], np.float32), stats_summary_shape=sparse[2], logits_dimension=1, **terms))
    return found


# TensorFlow ends its own process in other programs.
CASES = [(case, seed) for case, seeds in ((growth, (0, 1, 2, 3, 4, 6, 7)), (streams, (0, 1, 2, 4, 5, 6, 7)), (splits, range(8))) for seed in seeds]


def results(tf, case, seed):
    with tf.Graph().as_default():
        return case(tf, seed)


if __name__ == "__main__":
    import tensorflow
    rows = []
    for chosen, number in CASES:
        rows.append(json.dumps("%s_%d" % (chosen.__name__, number)) + ": " + json.dumps(results(tensorflow, chosen, number),
                                                                                       separators=(",", ":")))
    print("{\n" + ",\n".join(rows) + "\n}")
