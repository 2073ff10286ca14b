# SPDX-License-Identifier: Apache-2.0
"""Cases of tf.contrib.data and of losses of embeddings. See symbol_cases.py."""
import numpy as np
from symbol_cases import case, fails, numbers, shows

LABELS = ([0, 0, 1, 1, 2, 2], [3, 1, 2, 3, 1, 2], [0, 1, 2, 3, 4, 0])
SHARED = [[0, 1], [1], [2, 3], [0], [1, 3], [0, 1, 5]]


def elements(tf, dataset, count):
    """The first elements, as constants."""
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        return [tf.constant(np.asarray(session.run(following))) for _ in range(count)]


def with_slopes(tf, losses, x):
    return [part for loss in losses for part in (loss, tf.gradients(loss, x)[0])]


def embeddings(tf):
    return tf.constant(numbers(6, 4) * 2), tf.constant(numbers(6, 4, start=2))


@case
def contrib__losses__metric_learning__contrastive_loss(tf):
    x, y = embeddings(tf)
    loss = tf.contrib.losses.metric_learning.contrastive_loss(tf.constant([0, 1, 1, 0, 1, 0]), x, y, margin=3.0)
    return [loss.name, *with_slopes(tf, [loss], x)]


@case
def contrib__losses__metric_learning__triplet_semihard_loss(tf):
    x, _ = embeddings(tf)
    return with_slopes(tf, [tf.contrib.losses.metric_learning.triplet_semihard_loss(tf.constant(labels), x * size, margin)
                            for labels in LABELS for size, margin in ((1.0, 1.0), (0.3, 0.5))], x)


@case
def contrib__losses__metric_learning__lifted_struct_loss(tf):
    x, _ = embeddings(tf)
    return with_slopes(tf, [tf.contrib.losses.metric_learning.lifted_struct_loss(tf.constant(labels), x, margin)
                            for labels in LABELS for margin in (1.0, 3.0)], x)


@shows("contrib.losses.metric_learning.npairs_loss_multilabel")
def contrib__losses__metric_learning__npairs_loss(tf):
    x, y = embeddings(tf)
    learning = tf.contrib.losses.metric_learning
    shared = [tf.SparseTensor([[at] for at in places], [1] * len(places), [6]) for places in SHARED]
    return with_slopes(tf, [*(learning.npairs_loss(tf.constant(labels), x, y, 0.1) for labels in LABELS),
                            learning.npairs_loss_multilabel(shared, x, y)], x)


@shows("contrib.data.padded_batch_and_drop_remainder contrib.data.map_and_batch contrib.data.unbatch")
def contrib__data__batch_and_drop_remainder(tf):
    data, numbers_ = tf.contrib.data, tf.data.Dataset.range(7)
    whole = numbers_.apply(data.batch_and_drop_remainder(3))
    padded = tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n)).apply(data.padded_batch_and_drop_remainder(2, [None]))
    doubled = numbers_.apply(data.map_and_batch(lambda x: x * 2, 2))
    return [str(whole.output_shapes), str(padded.output_shapes), str(doubled.output_shapes), *elements(tf, whole, 2), *elements(tf, padded, 2),
            *elements(tf, doubled, 4), *elements(tf, whole.apply(data.unbatch()), 6)]


@case
def contrib__data__sliding_window_batch(tf):
    slide, dataset = tf.contrib.data.sliding_window_batch, tf.data.Dataset.range(9)
    pairs = tf.data.Dataset.zip((dataset, dataset)).apply(slide(2))
    return [str(dataset.apply(slide(3)).output_shapes), *elements(tf, dataset.apply(slide(3)), 7), *elements(tf, dataset.apply(slide(3, 2)), 4),
            *elements(tf, dataset.apply(slide(3, window_shift=2, window_stride=2)), 3), *elements(tf, pairs, 4),
            fails(tf, lambda: slide(3, 2, 2) and None)]


@shows("contrib.data.Reducer contrib.data.reduce_dataset")
def contrib__data__group_by_window(tf):
    data, dataset = tf.contrib.data, tf.data.Dataset.range(12)
    groups = dataset.apply(data.group_by_window(lambda x: x % 3, lambda key, group: group.batch(2), 2))
    total = data.reduce_dataset(dataset, data.Reducer(lambda key: np.int64(0), lambda state, x: state + x, lambda state: state * 2))
    return [*elements(tf, groups, 6), total]


@shows("contrib.data.sloppy_interleave")
def contrib__data__parallel_interleave(tf):
    data, dataset = tf.contrib.data, tf.data.Dataset.range(3)

    def twice(x):
        return tf.data.Dataset.from_tensors(x).repeat(2)
    return [*elements(tf, dataset.apply(data.parallel_interleave(twice, 2)), 6), *elements(tf, dataset.apply(data.sloppy_interleave(twice, 1)), 6)]


@case
def contrib__data__assert_element_shape(tf):
    shape, dataset = tf.contrib.data.assert_element_shape, tf.data.Dataset.range(4)

    def of(expected):
        return dataset.batch(3).apply(shape(expected))
    return [*elements(tf, dataset.apply(shape([])), 4), str(of([3]).output_shapes), *elements(tf, of([3]), 1),
            fails(tf, lambda: dataset.apply(shape([2])) and None)]
