# SPDX-License-Identifier: Apache-2.0
"""Cases of chains of tags, sparsemax, and the older losses and metrics, all below tf.contrib. See symbol_cases.py."""
import numpy as np
from symbol_cases import CASES, fails, numbers

LENGTHS = [5, 3, 1, 0]


def case_of(name):
    """A case under a name that is no function's."""
    def keep(function):
        CASES[name] = function
        return function
    return keep


def chain(tf):
    """Potentials, tags, lengths and transitions."""
    tags = tf.constant(np.arange(20).reshape(4, 5) * 7 % 3)
    return tf.constant(numbers(4, 5, 3) * 3), tags, tf.constant(LENGTHS), tf.constant(numbers(3, 3, start=2) * 2)


@case_of("contrib__crf__crf_log_likelihood")
def likelihood(tf):
    x, tags, lengths, transitions = chain(tf)
    found, given = tf.contrib.crf.crf_log_likelihood(x, tags, lengths, transitions)
    learned, made = tf.contrib.crf.crf_log_likelihood(x, tf.cast(tags, tf.int32), tf.cast(lengths, tf.int64))
    slopes = tf.gradients(found, [x, transitions]) + tf.gradients(learned, [x])
    return [found, given, made.name, str(made.shape), str(learned.shape), *slopes[:2]]


@case_of("contrib__crf__crf_sequence_score")
def scores(tf):
    x, tags, lengths, transitions = chain(tf)
    crf = tf.contrib.crf
    return [crf.crf_unary_score(tags, lengths, x), crf.crf_binary_score(tags, lengths, transitions),
            crf.crf_sequence_score(x, tags, lengths, transitions), crf.crf_log_norm(x, lengths, transitions),
            crf.crf_sequence_score(x[:, :1], tags[:, :1], [1, 1, 0, 1], transitions),
            crf.crf_log_norm(x[:, :1], [1, 1, 0, 1], transitions)]


@case_of("contrib__crf__crf_multitag_sequence_score")
def multitag(tf):
    x, tags, lengths, transitions = chain(tf)
    allowed = tf.logical_or(tf.one_hot(tags, 3, on_value=True, off_value=False), tf.greater(x, 0.5))
    score = tf.contrib.crf.crf_multitag_sequence_score
    return [score(x, allowed, lengths, transitions), score(x[:, :1], allowed[:, :1], [1, 1, 0, 1], transitions)]


@case_of("contrib__crf__crf_decode")
def decode(tf):
    x, _, lengths, transitions = chain(tf)
    found = [*tf.contrib.crf.crf_decode(x, transitions, lengths), *tf.contrib.crf.crf_decode(x[:, :1], transitions, [1, 1, 0, 1])]
    steps = tf.placeholder_with_default(x[:, :1], [None, None, 3])
    unknown = tf.contrib.crf.crf_decode(steps, transitions, lengths)
    more = tf.contrib.crf.crf_decode(tf.placeholder_with_default(x, [None, None, 3]), transitions, lengths)
    return [*found, found[0].dtype.name, str(found[0].shape), *unknown, *more]


@case_of("contrib__crf__viterbi_decode")
def viterbi(tf):
    found = []
    for steps in (1, 2, 6):
        tags, score = tf.contrib.crf.viterbi_decode(numbers(steps, 3) * 3, numbers(3, 3, start=2))
        found += [str([int(t) for t in tags]), tf.constant(float(score))]
    return found


@case_of("contrib__crf__CrfForwardRnnCell")
def cells(tf):
    x, tags, _, transitions = chain(tf)
    crf, found = tf.contrib.crf, []
    pointers = tf.cast(tf.stack([tags[:, 0], tags[:, 1], tags[:, 2]], 1), tf.int32)
    for cell, inputs, state in ((crf.CrfForwardRnnCell(transitions), x[:, 1], x[:, 0]),
                                (crf.CrfDecodeForwardRnnCell(transitions), x[:, 1], x[:, 0]),
                                (crf.CrfDecodeBackwardRnnCell(3), pointers, tf.cast(tags[:, :1], tf.int32))):
        found += [int(cell.state_size), int(cell.output_size), *cell(inputs, state)]
    return found


@case_of("contrib__sparsemax__sparsemax")
def sparse(tf):
    x = tf.constant(np.concatenate([numbers(4, 5) * 2, [[3, 3, 3, 3, 3], [9, 0, 0, 0, 0]]]).astype(np.float32))
    labels = tf.one_hot([0, 1, 2, 3, 4, 0], 5)
    found = tf.contrib.sparsemax.sparsemax(x)
    loss = tf.contrib.sparsemax.sparsemax_loss(x, found, labels)
    return [found, loss, tf.gradients(found * labels, x)[0], str(found.shape),
            tf.contrib.sparsemax.sparsemax(tf.cast(x, tf.float64)), tf.contrib.sparsemax.sparsemax(tf.constant([[np.inf, 1, 2]]))]


@case_of("contrib__losses")
def losses(tf):
    old = tf.contrib.losses
    x, y = tf.constant(np.abs(numbers(3, 4))), tf.constant((np.abs(numbers(3, 4, start=1)) > 0.4).astype(np.float32))
    rows, all_weights = tf.constant([1.0, 0.0, 2.0]), tf.constant(np.abs(numbers(3, 4, start=4)))
    found = []
    for name in ("absolute_difference", "mean_squared_error", "log_loss", "mean_pairwise_squared_error"):
        loss = getattr(old, name)
        found += [loss(x, y), loss(x, y, weights=rows), loss(x, y, 0.5, scope="some")]
    found += [old.absolute_difference(x, y, all_weights), old.compute_weighted_loss(x, rows), old.compute_weighted_loss(x, all_weights),
              old.hinge_loss(x, y), old.cosine_distance(x, y, 1), old.cosine_distance(x, y, dim=1, weights=rows),
              old.sigmoid_cross_entropy(x, y, label_smoothing=0.1), old.softmax_cross_entropy(x, y, weights=rows),
              old.sparse_softmax_cross_entropy(x, [1, 0, 3]), old.sparse_softmax_cross_entropy(x, tf.constant([1, 0, 3]), rows),
              str(len(old.get_losses())), str(old.get_losses() == tf.get_collection(tf.GraphKeys.LOSSES)), old.get_total_loss()]
    return found + [fails(tf, lambda: old.mean_squared_error(x, y[:2])), fails(tf, lambda: old.cosine_distance(x, y))]


def streaming(name, arguments, variables=True):
    """A case of a metric over three batches: its value and update at each, and its variables."""
    def build(tf):
        batch = tf.placeholder_with_default(0, [])
        found = getattr(tf.contrib.metrics, name)(*arguments(tf, batch))
        results = []
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            for number in range(3):
                results += [session.run(found[1], {batch: number}), session.run(found[0], {batch: number})]
        return [*map(tf.constant, results), *sorted(v.name for v in tf.local_variables() if variables)]
    CASES["contrib__metrics__" + name] = build


def numbers_of(tf, batch, start):
    return tf.constant(np.abs(numbers(3, 4, 2, start=start)))[batch]


def flags_of(tf, batch, start):
    return tf.cast(numbers_of(tf, batch, start) > 0.4, tf.int32)


def two(of):
    return lambda tf, batch: [of(tf, batch, 1), of(tf, batch, 3)]


def weighted(of):
    return lambda tf, batch: [of(tf, batch, 1), of(tf, batch, 3), numbers_of(tf, batch, 5)]


def with_more(*more):
    return lambda tf, batch: [numbers_of(tf, batch, 1), flags_of(tf, batch, 3), *more]


for metric in ("accuracy false_negatives false_positives precision recall true_negatives true_positives false_positive_rate "
               "false_negative_rate").split():
    streaming("streaming_" + metric, weighted(flags_of))
for metric in "mean_absolute_error mean_squared_error root_mean_squared_error covariance pearson_correlation".split():
    streaming("streaming_" + metric, two(numbers_of))
streaming("streaming_auc", with_more())
streaming("streaming_mean_iou", lambda tf, batch: [flags_of(tf, batch, 1), flags_of(tf, batch, 3), 2])
streaming("streaming_mean_relative_error", lambda tf, batch: [numbers_of(tf, batch, s) for s in (1, 2, 3)])
streaming("streaming_mean_cosine_distance", lambda tf, batch: [numbers_of(tf, batch, 1), numbers_of(tf, batch, 2), 1])
for metric in "mean mean_tensor".split():
    streaming("streaming_" + metric, lambda tf, batch: [numbers_of(tf, batch, 1)])
streaming("count", lambda tf, batch: [numbers_of(tf, batch, 1), 2.0])
streaming("streaming_percentage_less", lambda tf, batch: [numbers_of(tf, batch, 1), 0.5])
for metric in ("precision recall false_negatives false_positives true_negatives true_positives").split():
    streaming(f"streaming_{metric}_at_thresholds", with_more([0.1, 0.5]))
for metric in "sensitivity_at_specificity specificity_at_sensitivity".split():
    streaming("streaming_" + metric, with_more(0.5))
streaming("streaming_recall_at_k", lambda tf, batch: [numbers_of(tf, batch, 1), [0, 1, 1, 0], 1])
for metric in "average_precision precision recall".split():
    streaming(f"streaming_sparse_{metric}_at_k", lambda tf, batch: [numbers_of(tf, batch, 1), tf.constant([[0], [1], [1], [0]], tf.int64), 1],
              variables=metric != "average_precision")
streaming("streaming_sparse_precision_at_top_k", lambda tf, batch: [tf.constant([[0], [1], [0], [0]], tf.int64) + tf.cast(batch * 0, tf.int64),
                                                                    tf.constant([[0], [1], [1], [0]], tf.int64)])


@case_of("contrib__metrics__accuracy")
def accuracy(tf):
    metrics = tf.contrib.metrics
    x, y = tf.constant([1, 2, 3, 4]), tf.constant([1, 3, 3, 4])
    return [metrics.accuracy(x, y), metrics.accuracy(x, y, [1.0, 2.0, 0.5, 0.0]), str(metrics.aggregate_metrics((1, 2), (3, 4))),
            str(metrics.aggregate_metric_map({"a": (1, 2), "b": (3, 4)})), fails(tf, lambda: metrics.aggregate_metrics()),
            fails(tf, lambda: metrics.accuracy(x, tf.cast(y, tf.float32))), metrics.confusion_matrix(x, y),
            fails(tf, lambda: metrics.streaming_accuracy(x)), metrics.set_size(metrics.set_union([[1, 2]], [[2, 3]]))]


MEANS, SIZES = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]], np.float32), np.array([0.5, 1.5, 2.0], np.float32)


@case_of("contrib__distributions__MultivariateNormalDiag")
def vectors(tf):
    kinds = tf.contrib.distributions
    made = [kinds.MultivariateNormalDiag(MEANS, SIZES), kinds.MultivariateNormalDiag(scale_diag=MEANS + 4),
            kinds.MultivariateNormalDiag(MEANS), kinds.MultivariateNormalDiag(MEANS, scale_identity_multiplier=2.0),
            kinds.MultivariateNormalDiag(MEANS[0], SIZES, 0.5), kinds.MultivariateNormalDiagWithSoftplusScale(MEANS, SIZES)]
    found = []
    for d in made:
        found += [d.log_prob(MEANS * 2), d.prob(MEANS * 0.5), d.mean(), d.stddev(), d.variance(), d.mode(), d.entropy(), d.covariance(),
                  str(d.batch_shape), str(d.event_shape), d.dtype.name, d.batch_shape_tensor(), d.event_shape_tensor(),
                  str(d.sample(7).shape), kinds.kl_divergence(d, made[0])]
    draws = made[0].sample([20000], seed=3)
    return found + [tf.round(tf.reduce_mean(draws, 0) * 5) / 5, tf.gradients(made[0].log_prob(MEANS[0]), made[0].loc)[0],
                    fails(tf, lambda: kinds.MultivariateNormalDiag())]


@case_of("contrib__distributions__Normal")
def scalars(tf):
    kinds = tf.contrib.distributions
    soft = kinds.NormalWithSoftplusScale(MEANS, SIZES)
    return [soft.log_prob(0.3), soft.stddev(), soft.mean(), kinds.Normal(MEANS, SIZES).log_prob(0.3), kinds.softplus_inverse(SIZES),
            kinds.kl_divergence(kinds.Normal(MEANS, SIZES), soft), kinds.Bernoulli(logits=MEANS).entropy(),
            str(kinds.Normal is tf.distributions.Normal), str(kinds.Categorical is tf.distributions.Categorical)]


@case_of("contrib__util")
def util(tf):
    tools = tf.contrib.util
    kept = tools.make_tensor_proto([[1.0, 2.0]], tf.float32)
    total = tf.constant(1.0) - 2.0
    return [tf.constant(tools.make_ndarray(kept)), str(tools.constant_value(total)), tf.constant(tools.constant_value(tf.constant([3, 4]))),
            str(sorted(tools.ops_used_by_graph_def(tf.get_default_graph().as_graph_def()))),
            tf.contrib.signal.stft(tf.constant(numbers(40)), 16, 8), tf.contrib.signal.hann_window(6)]
