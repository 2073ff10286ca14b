# SPDX-License-Identifier: Apache-2.0
"""Gradients through maps of tensors; numbers are those of TensorFlow 2.21."""
import pytest

import thalweg as tw

R = tw.raw_ops


def insert(handle, key, value):
    return R.TensorMapInsert(input_handle=handle, key=key, value=value)


def lookup(handle, key):
    return R.TensorMapLookup(input_handle=handle, key=key, value_dtype=tw.float32)


@pytest.mark.parametrize("what, wanted", [("one", [2, 0]), ("both", [2, 5]), ("replaced", [0, 7]), ("erased", [0, 5])])
def test_gradients_through_a_map(what, wanted):
    with tw.Graph().as_default(), tw.Session() as sess:
        x, y = tw.constant(3.0), tw.constant(4.0)
        two = insert(insert(R.EmptyTensorMap(), 1, x * 2.0), 2, y * 5.0)
        target = {"one": lambda: lookup(two, 1), "both": lambda: lookup(two, 1) + lookup(two, 2),
                  "replaced": lambda: lookup(insert(two, 1, y * 7.0), 1),
                  "erased": lambda: lookup(R.TensorMapErase(input_handle=two, key=1, value_dtype=tw.float32), 2)}[what]()
        zero = 0 * (x + y)  # both have a gradient
        assert sess.run(tw.gradients(target + zero, [x, y])) == wanted


def test_gradients_through_components():
    with tw.Graph().as_default(), tw.Session() as sess:
        x, y = tw.constant([3.0, 1.0]), tw.constant(4.0)
        packed = R.CompositeTensorVariantFromComponents(components=[x, y], metadata="")
        a, b = R.CompositeTensorVariantToComponents(encoded=packed, metadata="", Tcomponents=[tw.float32, tw.float32])
        got = sess.run(tw.gradients(a * 2.0 * b, [x, y]))
        assert got[0].tolist() == [8, 8] and got[1] == 8
