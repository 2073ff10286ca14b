# SPDX-License-Identifier: Apache-2.0
"""Arguments with an old name and a new one: either serves, both are an error in the words of 1.15."""
import numpy as np
import pytest
import thalweg as tf

X = np.arange(6.0, dtype=np.float32).reshape(2, 3)

# What takes them; the new and the old name; a value.
CASES = [
    ("reduce_sum", lambda **given: tf.reduce_sum(X, **given), "axis", "reduction_indices", 0),
    ("reduce_sum", lambda **given: tf.reduce_sum(X, **given), "keepdims", "keep_dims", True),
    ("reduce_logsumexp", lambda **given: tf.reduce_logsumexp(X, **given), "keepdims", "keep_dims", True),
    ("count_nonzero", lambda **given: tf.count_nonzero(X, **given), "axis", "reduction_indices", 1),
    ("argmax", lambda **given: tf.argmax(X, **given), "axis", "dimension", 1),
    ("argmin", lambda **given: tf.argmin(X, **given), "axis", "dimension", 0),
    ("squeeze", lambda **given: tf.squeeze(X[None], **given), "axis", "squeeze_dims", 0),
    ("expand_dims", lambda **given: tf.expand_dims(X, **given), "axis", "dim", 1),
    ("softmax", lambda **given: tf.nn.softmax(X, **given), "axis", "dim", 0),
    ("log_softmax", lambda **given: tf.nn.log_softmax(X, **given), "axis", "dim", 0),
    ("l2_normalize", lambda **given: tf.nn.l2_normalize(X, **given), "axis", "dim", 0),
    ("cross_entropy", lambda **given: tf.nn.softmax_cross_entropy_with_logits_v2(labels=X, logits=X, **given), "axis", "dim", 0),
    ("moments", lambda **given: tf.nn.moments(X, [0], **given)[1], "keepdims", "keep_dims", True),
    ("weighted_moments", lambda **given: tf.nn.weighted_moments(X, [0], 1.0, **given)[1], "keepdims", "keep_dims", True),
    ("reduce_join", lambda **given: tf.reduce_join([["a", "b"], ["c", "d"]], **given), "axis", "reduction_indices", 0),
    ("string_split", lambda **given: tf.string_split(["a,b"], **given).values, "sep", "delimiter", ","),
    ("sparse_concat", lambda **given: tf.sparse_concat(sp_inputs=[tf.SparseTensor([[0]], [1.0], [2])] * 2, **given).values,
     "axis", "concat_dim", 0),
]


@pytest.mark.parametrize("name, call, new, old, value", CASES, ids=[f"{case[0]}-{case[3]}" for case in CASES])
def test_either_name_serves_and_both_are_refused(name, call, new, old, value):
    if name == "sparse_concat":  # the new name has no default
        by_old = call(**{new: None, old: value})
    else:
        by_old = call(**{old: value})
    with tf.Session() as session:
        one, other = session.run([call(**{new: value}), by_old])
    np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=f"Cannot specify both '{old}' and '{new}'"):
        call(**{new: value, old: value})
