# SPDX-License-Identifier: Apache-2.0
"""Blocks, diagonals, patches and search against numpy."""
import numpy as np
import pytest

import thalweg as tw


def run(fetches):
    with tw.Session() as session:
        return session.run(fetches)


def test_blocks_and_back():
    x = np.arange(2 * 4 * 6 * 3).reshape(2, 4, 6, 3)
    blocks = tw.space_to_batch(x, [[0, 0], [1, 1]], block_size=2)
    assert blocks.shape.as_list() == [8, 2, 4, 3]
    assert np.array_equal(run(tw.batch_to_space(blocks, [[0, 0], [1, 1]], block_size=2)), x)
    depth = tw.space_to_depth(x, 2)
    assert np.array_equal(run(tw.depth_to_space(depth, 2)), x)
    with pytest.raises(ValueError):
        tw.space_to_batch(x, [[0, 0], [1, 1]])


def test_diagonals():
    x = np.arange(12).reshape(3, 4)
    assert np.array_equal(run(tw.matrix_diag_part(x)), np.diag(x))
    assert np.array_equal(run(tw.matrix_diag_part(x, k=1)), np.diag(x, 1))
    assert np.array_equal(run(tw.matrix_diag([5, 6], k=-1)), np.diag([5, 6], -1))
    assert np.array_equal(run(tw.matrix_diag([5, 6])), np.diag([5, 6]))
    assert np.array_equal(run(tw.matrix_band_part(x, 0, -1)), np.triu(x))
    assert np.array_equal(np.diag(run(tw.matrix_set_diag(x, [7, 8, 9]))), [7, 8, 9])
    assert np.array_equal(run(tw.diag_part(tw.diag([1, 2, 3]))), [1, 2, 3])


def test_elements_are_moved():
    x = np.arange(12).reshape(3, 4)
    assert np.array_equal(run(tw.roll(x, [1, -1], [0, 1])), np.roll(x, (1, -1), (0, 1)))
    turned = run(tw.reverse_sequence(x, [1, 4, 2], seq_axis=1))
    assert np.array_equal(turned, [[0, 1, 2, 3], [7, 6, 5, 4], [9, 8, 10, 11]])
    patches = tw.extract_image_patches(x.reshape(1, 3, 4, 1), [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
    assert run(patches)[0, 1, 2].tolist() == [6, 7, 10, 11]


def test_search_and_sets():
    rows, values = np.sort(np.arange(20).reshape(2, 10) * 7 % 20), np.array([[0, 9, 25], [3, 3, -1]])
    for side in ("left", "right"):
        expected = [np.searchsorted(r, v, side) for r, v in zip(rows, values)]
        assert np.array_equal(run(tw.searchsorted(rows, values, side)), expected)
    difference = tw.setdiff1d([1, 2, 3, 4, 3], [2, 4])
    assert [v.tolist() for v in run([difference.out, difference.idx])] == [[1, 3, 3], [0, 2, 4]]
    y, index, count = run(tw.unique_with_counts([7, 8, 7, 7]))
    assert (y.tolist(), index.tolist(), count.tolist()) == ([7, 8], [0, 1, 0, 0], [3, 1])
    assert run(tw.unravel_index([5, 11], [3, 4])).tolist() == [[1, 2], [1, 3]]


def test_sparse_arguments():
    assert run(tw.sparse_to_dense([1, 3], [4], [5.0, 6.0], 1.0)).tolist() == [1, 5, 1, 6]
    a = tw.SparseTensor([[0, 0], [0, 1]], ["a", "b"], [1, 2])
    b = tw.SparseTensor([[0, 0], [0, 1]], ["a", "c"], [1, 2])
    assert run(tw.edit_distance(a, b)).tolist() == [0.5]


def test_ensure_shape():
    x = tw.placeholder(tw.float32)
    y = tw.ensure_shape(x, [None, 2])
    assert y.shape.as_list() == [None, 2]
    with tw.Session() as session:
        assert session.run(y, {x: np.ones((3, 2))}).shape == (3, 2)
        with pytest.raises(tw.errors.InvalidArgumentError, match="not compatible with expected shape"):
            session.run(y, {x: np.ones(3)})
