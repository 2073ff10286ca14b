# SPDX-License-Identifier: Apache-2.0
"""Mistakes with queues, tables, functions in Python, datasets, layers and recurrent networks, as in mistakes_in_programs.py."""
import numpy as np

from mistakes_in_programs import mistake, simply


# ---- queues ----
@mistake
def queue_that_is_closed_and_empty(tf):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]], name="q")
    yield queue.close()
    yield queue.dequeue()


@mistake
def queue_that_is_closed_with_too_few(tf):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]], name="q")
    yield queue.enqueue(1.0)
    yield queue.close()
    yield queue.dequeue_many(2)


@mistake
def queue_that_is_filled_when_closed(tf):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]], name="q")
    yield queue.close()
    yield queue.enqueue(1.0)


@mistake
def queue_of_another_shape(tf):
    yield tf.FIFOQueue(2, tf.float32, shapes=[[2]], name="q").enqueue([[1.0]])


@mistake
def queue_of_another_shape_that_is_fed(tf):
    x = tf.placeholder(tf.float32, name="x")
    yield tf.FIFOQueue(2, tf.float32, shapes=[[2]], name="q").enqueue([x]), {x: 1.0}


@mistake
def queue_of_another_type(tf):
    yield tf.FIFOQueue(2, tf.float32, shapes=[[]], name="q").enqueue(tf.constant(1))


@mistake
def queue_of_another_number_of_values(tf):
    yield tf.FIFOQueue(2, [tf.float32, tf.float32], shapes=[[], []], name="q").enqueue(1.0)


@mistake
def many_from_a_queue_of_no_shapes(tf):
    yield tf.FIFOQueue(2, tf.float32, name="q").dequeue_many(2)


@mistake
def batch_of_elements_of_another_size(tf):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[2]], name="q")
    yield queue.enqueue_many([[[1.0, 2.0, 3.0]]])


@mistake
def random_queue_of_more_kept_than_it_holds(tf):
    yield tf.RandomShuffleQueue(2, 3, tf.float32, shapes=[[]], name="q").size()


@mistake
def batch_of_an_unknown_shape(tf):
    yield tf.train.batch([tf.placeholder(tf.float32)], 2)


@mistake
def names_of_files_that_are_none(tf):
    yield tf.train.string_input_producer([])


@mistake
def staging_area_of_another_type(tf):
    yield tf.contrib.staging.StagingArea([tf.float32]).put([tf.constant(1)])


# ---- tables ----
def table(tf, **arguments):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([1, 2])), -1, **arguments)


@mistake
def table_without_values(tf):
    yield table(tf).lookup(tf.constant(["a"]))


@mistake
def size_of_a_table_without_values(tf):
    yield table(tf).size()


@mistake
def table_of_other_keys(tf):
    yield table(tf).lookup(tf.constant([1]))


@mistake
def table_of_the_same_key_twice(tf):
    made = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "a"], np.array([1, 2])), -1)
    yield tf.tables_initializer()
    yield made.size()


@mistake
def table_of_other_counts(tf):
    made = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], np.array([1, 2, 3])), -1)
    yield tf.tables_initializer()
    yield made.size()


@mistake
def vocabulary_that_is_not_there(tf):
    tf.contrib.lookup.index_table_from_file("./none.txt")
    yield tf.tables_initializer()


@mistake
def vocabulary_without_a_name(tf):
    yield tf.contrib.lookup.index_table_from_file("")


@mistake
def vocabulary_of_nothing(tf):
    yield tf.contrib.lookup.index_table_from_tensor(None)


@mistake
def vocabulary_shorter_than_said(tf):
    with open("words.txt", "w") as f:
        f.write("a\nb\n")
    tf.contrib.lookup.index_table_from_file("words.txt", vocab_size=3)
    yield tf.tables_initializer()


@mistake
def mutable_table_of_another_type(tf):
    yield tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1).insert(tf.constant(["a"]), tf.constant([1.5]))


# ---- functions in Python ----
def raising(error):
    def function(*arguments):
        raise error
    return function


simply(
    py_func_of_another_type=lambda tf: tf.py_func(lambda: np.float64(1.0), [], tf.float32),
    py_func_of_too_many=lambda tf: tf.py_func(lambda: (np.float32(1.0), np.float32(2.0)), [], [tf.float32]),
    py_func_of_too_few=lambda tf: tf.py_func(lambda: np.float32(1.0), [], [tf.float32, tf.float32]),
    py_func_of_other_arguments=lambda tf: tf.py_func(lambda a: a, [1.0, 2.0], tf.float32),
    py_func_that_raises_a_value_error=lambda tf: tf.py_func(raising(ValueError("no good")), [1.0], tf.float32),
    py_func_that_raises_a_type_error=lambda tf: tf.py_func(raising(TypeError("no good")), [1.0], tf.float32),
    py_func_that_raises_an_index_error=lambda tf: tf.py_func(raising(IndexError("no good")), [1.0], tf.float32),
    py_func_that_raises_a_key_error=lambda tf: tf.py_func(raising(KeyError("no good")), [1.0], tf.float32),
    py_func_that_raises_a_runtime_error=lambda tf: tf.py_func(raising(RuntimeError("no good")), [1.0], tf.float32),
    py_func_that_stops=lambda tf: tf.py_func(raising(StopIteration("no more")), [1.0], tf.float32),
    py_func_that_is_not_implemented=lambda tf: tf.py_func(raising(NotImplementedError("no good")), [1.0], tf.float32),
    py_func_of_a_dictionary=lambda tf: tf.py_func(lambda: {"a": 1}, [], tf.float32),
)


# ---- datasets ----
def next_of(tf, dataset):
    return tf.data.make_one_shot_iterator(dataset).get_next() if hasattr(tf.data, "make_one_shot_iterator") else dataset.make_one_shot_iterator().get_next()


@mistake
def iterator_before_it_is_started(tf):
    yield tf.data.make_initializable_iterator(tf.data.Dataset.range(3)).get_next()


@mistake
def dataset_that_ends(tf):
    element = next_of(tf, tf.data.Dataset.range(1))
    yield element
    yield element


simply(
    slices_of_other_lengths=lambda tf: next_of(tf, tf.data.Dataset.from_tensor_slices((np.zeros(2), np.zeros(3)))),
    slices_of_a_scalar=lambda tf: next_of(tf, tf.data.Dataset.from_tensor_slices(1)),
    batch_of_other_shapes=lambda tf: next_of(tf, tf.data.Dataset.range(1, 3).map(lambda i: tf.fill([i], 0)).batch(2)),
    batch_of_none=lambda tf: next_of(tf, tf.data.Dataset.range(3).batch(0)),
    shuffle_of_none=lambda tf: next_of(tf, tf.data.Dataset.range(3).shuffle(0)),
    padded_batch_shorter_than_its_elements=lambda tf: next_of(tf, tf.data.Dataset.range(4, 6).map(lambda i: tf.fill([i], 0)).padded_batch(2, [3])),
    map_of_an_element_that_fails=lambda tf: next_of(tf, tf.data.Dataset.range(3).map(lambda i: tf.check_numerics(1.0 / tf.cast(i, tf.float32), "the quotient"))),
    map_of_other_arguments=lambda tf: next_of(tf, tf.data.Dataset.range(3).map(lambda a, b: a)),
    filter_by_a_number=lambda tf: next_of(tf, tf.data.Dataset.range(3).filter(lambda i: i)),
    flat_map_to_a_tensor=lambda tf: next_of(tf, tf.data.Dataset.range(3).flat_map(lambda i: i)),
    concatenation_of_other_types=lambda tf: next_of(tf, tf.data.Dataset.range(3).concatenate(tf.data.Dataset.from_tensors(1.0))),
    zip_of_a_number=lambda tf: next_of(tf, tf.data.Dataset.zip((tf.data.Dataset.range(3), 1))),
    records_that_are_not_there=lambda tf: next_of(tf, tf.data.TFRecordDataset("none.records")),
    lines_that_are_not_there=lambda tf: next_of(tf, tf.data.TextLineDataset("none.txt")),
    generator_of_another_type=lambda tf: next_of(tf, tf.data.Dataset.from_generator(lambda: iter(["a"]), tf.float32)),
    generator_of_another_shape=lambda tf: next_of(tf, tf.data.Dataset.from_generator(lambda: iter([[1.0, 2.0]]), tf.float32, [3])),
    generator_that_raises=lambda tf: next_of(tf, tf.data.Dataset.from_generator(raising(ValueError("no good")), tf.float32)),
    generator_that_is_none=lambda tf: tf.data.Dataset.from_generator([1, 2], tf.float32),
    one_shot_iterator_of_a_placeholder=lambda tf: next_of(tf, tf.data.Dataset.from_tensors(tf.placeholder(tf.float32, [], name="x"))),
    iterator_of_another_structure=lambda tf: tf.data.Iterator.from_structure(tf.int64, []).make_initializer(tf.data.Dataset.from_tensors(1.0)),
)


@mistake
def records_that_are_damaged(tf):
    with open("damaged.records", "wb") as f:
        f.write(b"these bytes are no records at all, but they are many")
    yield next_of(tf, tf.data.TFRecordDataset("damaged.records"))


@mistake
def records_that_are_cut(tf):
    with tf.python_io.TFRecordWriter("cut.records") as writer:
        writer.write(b"a record")
    with open("cut.records", "rb") as f:
        data = f.read()
    with open("cut.records", "wb") as f:
        f.write(data[:-6])
    yield next_of(tf, tf.data.TFRecordDataset("cut.records"))


# ---- layers, losses, recurrent networks ----
simply(
    dense_layer_of_an_unknown_size=lambda tf: tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 2),
    dense_layer_of_a_vector=lambda tf: tf.layers.dense(tf.zeros([3]), 2),
    convolution_layer_of_a_matrix=lambda tf: tf.layers.conv2d(tf.zeros([3, 3]), 2, 3),
    convolution_layer_of_another_padding=lambda tf: tf.layers.conv2d(tf.zeros([1, 5, 5, 3]), 2, 3, padding="full"),
    convolution_layer_of_three_numbers=lambda tf: tf.layers.conv2d(tf.zeros([1, 5, 5, 3]), 2, [3, 3, 3]),
    layer_of_a_name_twice=lambda tf: [tf.layers.dense(tf.zeros([1, 3]), 2, name="d"), tf.layers.dense(tf.zeros([1, 3]), 2, name="d")],
    loss_of_other_shapes=lambda tf: tf.losses.mean_squared_error(tf.zeros([2]), tf.zeros([3])),
    loss_of_nothing=lambda tf: tf.losses.mean_squared_error(None, tf.zeros([3])),
    loss_of_weights_of_another_shape=lambda tf: tf.losses.absolute_difference(tf.zeros([2, 3]), tf.zeros([2, 3]), weights=tf.zeros([2])),
    cross_entropy_by_position=lambda tf: tf.nn.softmax_cross_entropy_with_logits_v2(tf.zeros([2, 3])),
    sparse_cross_entropy_by_position=lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(tf.zeros([2, 3]), [0, 1]),
    sparse_cross_entropy_of_fractions=lambda tf: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0.0, 1.0], logits=tf.zeros([2, 3])),
    network_without_a_type=lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([1, 2, 3])),
    network_of_a_matrix=lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 3]), dtype=tf.float32),
    network_of_an_unknown_depth=lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.placeholder(tf.float32, [None, None, None]), dtype=tf.float32),
    network_of_no_cell=lambda tf: tf.nn.dynamic_rnn(2, tf.zeros([1, 2, 3]), dtype=tf.float32),
    network_of_lengths_of_another_batch=lambda tf: tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 2, 3]), dtype=tf.float32, sequence_length=[1, 1, 1])[0],
    static_network_of_a_tensor=lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(2), tf.zeros([2, 1, 3]), dtype=tf.float32),
    static_network_of_nothing=lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(2), [], dtype=tf.float32),
    cells_of_nothing=lambda tf: tf.nn.rnn_cell.MultiRNNCell([]),
    cells_that_are_no_list=lambda tf: tf.nn.rnn_cell.MultiRNNCell(tf.nn.rnn_cell.BasicRNNCell(2)),
    cell_of_a_state_of_another_size=lambda tf: tf.nn.rnn_cell.BasicLSTMCell(2)(tf.zeros([1, 3]), tf.zeros([1, 5])),
    dropout_of_nothing_kept=lambda tf: tf.nn.dropout(tf.zeros([2]), keep_prob=0.0),
    dropout_of_integers=lambda tf: tf.nn.dropout(tf.constant([1, 2]), keep_prob=0.5),
    sampled_loss_of_a_vector_of_labels=lambda tf: tf.nn.sampled_softmax_loss(tf.zeros([9, 3]), tf.zeros([9]), tf.constant([1, 2]), tf.zeros([2, 3]), 2, 9),
    embedding_of_nothing=lambda tf: tf.nn.embedding_lookup(None, [1]),
    embedding_of_fractions=lambda tf: tf.nn.embedding_lookup(tf.zeros([4, 2]), [0.5]),
    summary_of_a_vector=lambda tf: tf.summary.scalar("s", tf.constant([1.0, 2.0])),
    summary_of_a_matrix_as_an_image=lambda tf: tf.summary.image("i", tf.zeros([2, 2])),
    histogram_of_what_is_not_finite=lambda tf: tf.summary.histogram("h", tf.constant([1.0, np.nan])),
    metric_of_other_shapes=lambda tf: tf.metrics.accuracy(tf.zeros([2]), tf.zeros([3])),
    metric_before_its_variables_have_values=lambda tf: tf.metrics.mean(tf.zeros([2]))[1],
    clip_of_a_single_tensor=lambda tf: tf.clip_by_global_norm(tf.zeros([2]), 1.0),
    piecewise_rate_of_other_counts=lambda tf: tf.train.piecewise_constant(tf.constant(1), [1, 2], [0.1, 0.2]),
    decay_without_a_step=lambda tf: tf.train.exponential_decay(0.1, None, 10, 0.9),
    minimum_of_an_unknown_optimizer=lambda tf: tf.contrib.layers.optimize_loss(tf.constant(1.0), tf.train.create_global_step(), 0.1, "NoSuch"),
)
