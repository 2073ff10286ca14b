# SPDX-License-Identifier: Apache-2.0
"""Sparse tensors and sets as TF1 programs use them. Values recorded with TensorFlow 1.15."""
import numpy as np
import pytest

import thalweg as tw


@pytest.fixture(autouse=True)
def graph():
    with tw.Graph().as_default() as made:
        yield made


def run(fetches, feeds=None):
    with tw.Session() as session:
        return session.run(fetches, feeds)


def sparse():
    return tw.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])


def ids():
    return tw.SparseTensor([[0, 0], [0, 1], [2, 0]], tw.constant([1, 3, 0], tw.int64), [3, 2])


def weights():
    return tw.SparseTensor([[0, 0], [0, 1], [2, 0]], [2.0, 0.5, 1.0], [3, 2])


def expect(value, indices, values, shape):
    assert value.indices.tolist() == indices
    assert np.allclose(value.values, values)
    assert value.dense_shape.tolist() == shape


EMBEDDING = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("combiner, first, weighted", [
    ("mean", [6, 7, 8], [4.2, 5.2, 6.2]), ("sum", [12, 14, 16], [10.5, 13, 15.5]),
    ("sqrtn", [8.485282, 9.899495, 11.313708], [5.0932484, 6.3059263, 7.5186048])])
def test_embedding_lookup_sparse(combiner, first, weighted):
    table = tw.constant(EMBEDDING)
    plain, by_weight = run([tw.nn.embedding_lookup_sparse(table, ids(), None, combiner=combiner),
                            tw.nn.embedding_lookup_sparse(table, ids(), weights(), combiner=combiner)])
    assert np.allclose(plain, [first, [0, 0, 0], [0, 1, 2]])
    assert np.allclose(by_weight[[0, 2]], [weighted, [0, 1, 2]])


def test_safe_embedding_lookup_sparse():
    table = tw.constant(EMBEDDING)
    assert np.allclose(run(tw.nn.safe_embedding_lookup_sparse(table, ids(), weights())), [[4.2, 5.2, 6.2], [0, 0, 0], [0, 1, 2]])
    assert np.allclose(run(tw.nn.safe_embedding_lookup_sparse([table], ids(), default_id=3)), [[6, 7, 8], [9, 10, 11], [0, 1, 2]])


def test_embedding_trains():
    table = tw.Variable(EMBEDDING)
    loss = tw.reduce_sum(tw.nn.embedding_lookup_sparse(table, ids(), weights(), combiner="sum"))
    train = tw.train.GradientDescentOptimizer(1.0).minimize(loss)
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        session.run(train)
        assert np.allclose(session.run(table), EMBEDDING - np.array([[1], [2], [0], [0.5]]))


def test_feeds_and_fetches():
    fed = tw.sparse_placeholder(tw.float32)
    product = tw.sparse_tensor_dense_matmul(fed, [[1.0], [2.0], [3.0]])
    value = tw.SparseTensorValue([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])
    assert run(product, {fed: value}).tolist() == [[2], [6]]
    fetched = run(fed, {fed: (np.array([[0, 1]]), np.array([5.0]), np.array([1, 2]))})
    expect(fetched, [[0, 1]], [5], [1, 2])


def test_products_have_gradients():
    a, b = sparse(), tw.constant(np.ones((3, 2), np.float32))
    product = tw.sparse.matmul(a, b)
    of_values, of_b = tw.gradients(product, [a.values, b])
    assert [run(product).tolist(), run(of_values).tolist(), run(of_b).tolist()] == \
        [[[1, 1], [5, 5]], [2, 2, 2], [[2, 2], [1, 1], [3, 3]]]


def test_rearranged():
    st = sparse()
    expect(run(tw.sparse_transpose(st)), [[0, 1], [1, 0], [2, 1]], [2, 1, 3], [3, 2])
    expect(run(tw.sparse_reset_shape(st)), [[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])
    expect(run(tw.sparse.expand_dims(st, 1)), [[0, 0, 1], [1, 0, 0], [1, 0, 2]], [1, 2, 3], [2, 1, 3])
    expect(run(tw.sparse.reshape(st, [3, 2])), [[0, 1], [1, 1], [2, 1]], [1, 2, 3], [3, 2])
    expect(run(tw.sparse_merge(ids(), weights(), 4)), [[0, 1], [0, 3], [2, 0]], [2, 0.5, 1], [3, 4])
    expect(run(tw.sparse_retain(st, [True, False, True])), [[0, 1], [1, 2]], [1, 3], [2, 3])
    expect(run(tw.sparse_concat(1, [st, st])), [[0, 1], [0, 4], [1, 0], [1, 2], [1, 3], [1, 5]], [1, 1, 2, 3, 2, 3], [2, 6])
    first, second = tw.sparse_split(sp_input=st, num_split=2, axis=1)
    expect(run(first), [[0, 1], [1, 0]], [1, 2], [2, 2])
    expect(run(second), [[1, 0]], [3], [2, 1])
    expect(run(tw.sparse.slice(st, [1, 1], [1, 2])), [[0, 1]], [3], [1, 2])
    expect(run(tw.sparse.eye(2, 3)), [[0, 0], [1, 1]], [1, 1], [2, 3])
    expect(run(tw.sparse.from_dense([[0, 2], [3, 0]])), [[0, 1], [1, 0]], [2, 3], [2, 2])


def test_computed():
    st = sparse()
    assert run(tw.sparse_reduce_sum(st)) == 6
    assert run(tw.sparse_reduce_sum(st, 1, keepdims=True)).tolist() == [[1], [5]]
    assert run(tw.sparse.reduce_max(st, 0)).tolist() == [2, 1, 3]
    assert run(tw.sparse_to_indicator(ids(), 5)).tolist() == [[False, True, False, True, False], [False] * 5,
                                                              [True, False, False, False, False]]
    expect(run(tw.sparse_softmax(st)), [[0, 1], [1, 0], [1, 2]], [1, 0.26894143, 0.7310586], [2, 3])
    expect(run(tw.sparse_maximum(st, st)), [[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])
    expect(run(tw.sparse_add(st, st)), [[0, 1], [1, 0], [1, 2]], [2, 4, 6], [2, 3])
    assert run(tw.sparse_add(st, tw.ones([2, 3]))).tolist() == [[1, 2, 1], [3, 1, 4]]
    assert run(tw.sparse_tensor_to_dense(st, -1.0)).tolist() == [[-1, 1, -1], [2, -1, 3]]
    filled, empty = tw.sparse_fill_empty_rows(tw.SparseTensor([[1, 1]], [5.0], [2, 2]), 9.0)
    expect(run(filled), [[0, 0], [1, 1]], [9, 5], [2, 2])
    assert run(empty).tolist() == [True, False]


def test_sets():
    expect(run(tw.sets.set_union([[1, 2]], [[2, 3]])), [[0, 0], [0, 1], [0, 2]], [1, 2, 3], [1, 3])
    expect(run(tw.sets.set_difference([[1, 2]], [[2, 3]])), [[0, 0]], [1], [1, 1])
    assert run(tw.sets.set_size(ids())).tolist() == [2, 0, 1]


# ---- serialized, batched, crossed ----
def test_serialized_tensors_come_back():
    one = tw.serialize_sparse(sparse())
    many = tw.serialize_many_sparse(sparse())
    assert many.shape.as_list() == [2, 3]
    stacked = tw.deserialize_many_sparse(tw.stack([one, one]), tw.float32, rank=3)
    assert stacked.dense_shape.shape.as_list() == [3]
    a, b = run([stacked, tw.io.deserialize_many_sparse(many, tw.float32)])
    expect(a, [[0, 0, 1], [0, 1, 0], [0, 1, 2], [1, 0, 1], [1, 1, 0], [1, 1, 2]], [1, 2, 3, 1, 2, 3], [2, 2, 3])
    expect(b, [[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])


def _batches(out, steps=None):
    got = []
    with tw.Session() as session:
        session.run(tw.local_variables_initializer())
        coordinator = tw.train.Coordinator()
        threads = tw.train.start_queue_runners(session, coordinator)
        try:
            while steps is None or len(got) < steps:
                got.append(session.run(out))
        except tw.errors.OutOfRangeError:
            pass
        coordinator.request_stop()
        coordinator.join(threads)
    return got


def counted(limit):
    n = tw.train.range_input_producer(limit, num_epochs=1, shuffle=False).dequeue()
    wide = tw.cast(n, tw.int64)
    return n, tw.SparseTensor(tw.reshape(wide, [1, 1]), tw.reshape(n, [1]), tw.reshape(wide + 1, [1]))


def test_batches_of_sparse_tensors():
    n, row = counted(4)
    (first, numbers), (second, _) = _batches(tw.train.batch([row, n], 2))
    expect(first, [[0, 0], [1, 1]], [0, 1], [2, 2])
    expect(second, [[0, 2], [1, 3]], [2, 3], [2, 4])
    assert numbers.tolist() == [0, 1]


def test_batches_of_rows_of_sparse_tensors():
    out = tw.train.batch({"x": sparse(), "y": [5, 6]}, 3, enqueue_many=True)
    got = _batches(out, 1)[0]
    expect(got["x"], [[0, 1], [1, 0], [1, 2], [2, 1]], [1, 2, 3, 1], [3, 3])
    assert got["y"].tolist() == [5, 6, 5]


def test_batches_of_chosen_sparse_tensors():
    n, row = counted(6)
    got = _batches(tw.train.maybe_batch([row], tw.equal(n % 2, 1), 3))
    expect(got[0], [[0, 1], [1, 3], [2, 5]], [1, 3, 5], [3, 6])
    kept = tw.train.maybe_batch([sparse()], tw.constant([False, True]), 2, enqueue_many=True)
    expect(_batches(kept, 1)[0], [[0, 0], [0, 2], [1, 0], [1, 2]], [2, 3, 2, 3], [2, 3])


def test_shuffled_and_joined_batches_of_sparse_tensors():
    shuffled = _batches(tw.train.shuffle_batch([counted(6)[1]], 6, capacity=12, min_after_dequeue=6, seed=3))
    assert sorted(shuffled[0].values.tolist()) == list(range(6))
    joined = _batches(tw.train.batch_join([[counted(3)[1]], [counted(3)[1]]], 6))
    assert sorted(joined[0].values.tolist()) == [0, 0, 1, 1, 2, 2]
    with pytest.raises(TypeError):
        tw.train.batch_join([[counted(3)[1]], [counted(3)[0]]], 6)


def test_crosses():
    names = tw.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [2, 2])
    numbers = tw.SparseTensor([[0, 0], [1, 0]], tw.constant([7, 8], tw.int64), [2, 1])
    dense, texts = tw.constant([[3], [4]], tw.int64), tw.constant([["x", "y"], ["z", "w"]])
    joined, hashed, keyed = run([tw.sparse.cross([names, texts]), tw.sparse.cross_hashed([names, numbers, texts, dense], 100),
                                 tw.sparse.cross_hashed([numbers, dense], num_buckets=100, hash_key=5)])
    assert joined.values.tolist() == [b"a_X_x", b"a_X_y", b"b_X_z", b"b_X_w", b"c_X_z", b"c_X_w"]
    assert joined.dense_shape.tolist() == [2, 4]
    assert hashed.values.tolist() == [69, 76, 55, 64, 83, 62]
    assert keyed.values.tolist() == [42, 12]


def test_mask():
    slices = tw.IndexedSlices(tw.constant([[1.0, 2], [3, 4], [5, 6]]), tw.constant([12, 26, 37]), tw.constant([50, 2]))
    for masked in (tw.sparse_mask(slices, [12, 37]), tw.sparse.mask(slices, [12, 37])):
        values, indices = run([masked.values, masked.indices])
        assert values.tolist() == [[3, 4]] and indices.tolist() == [26]
