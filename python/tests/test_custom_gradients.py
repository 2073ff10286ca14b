# SPDX-License-Identifier: Apache-2.0
"""Gradients written in Python."""
import pytest
import thalweg as tw
from thalweg.operations import custom_gradients


@pytest.fixture(autouse=True)
def registry():
    before = dict(custom_gradients._registered)
    yield
    custom_gradients._registered.clear()
    custom_gradients._registered.update(before)


def test_custom_gradient_is_asked(run):
    @tw.custom_gradient
    def softplus(x):
        e = tw.exp(x)
        return tw.log1p(e), lambda dy: dy * (1 - 1 / (1 + e))
    x = tw.constant(100.0)
    assert run(tw.gradients(3 * softplus(2 * x), x)[0]) == 6.0  # NaN without


def test_several_in_a_row_and_beside(run):
    @tw.custom_gradient
    def doubled(x, y):
        return (x + y, x * y), lambda da, db: (2 * da, 10 * db)
    x, y = tw.constant(3.0), tw.constant(4.0)
    a, b = doubled(x, tw.square(y))
    c, _ = doubled(a, b)
    found = tw.gradients(c + x, [x, y])
    # c: 2 for a, and what b gets is 10 * 0; a: 2 * 2 for x, 10 * 0 for y.
    assert run(found) == [5.0, 0.0]


def test_override(run):
    @tw.RegisterGradient("Flipped")
    def flipped(op, grad):
        assert op.type == "Identity"
        return -grad
    x = tw.constant(3.0)
    with tw.get_default_graph().gradient_override_map({"Identity": "Flipped"}):
        y = tw.identity(x * x)
    assert run(tw.gradients(y + tw.identity(x), x)[0]) == -5.0


def test_registered_for_a_type(run):
    @tw.RegisterGradient("Floor")
    def straight_through(op, grad):
        return grad
    v = tw.Variable(2.5)
    assert run(tw.gradients(tw.floor(v) * 3, v)[0]) == 3.0


def test_none(run):
    tw.NotDifferentiable("Square")
    x = tw.constant(3.0)
    assert tw.gradients(tw.square(x), x) == [None]
    assert run(tw.gradients(tw.square(x) + x, x)[0]) == 1.0


def test_bad_input():
    x = tw.constant(1.0)
    with tw.get_default_graph().gradient_override_map({"Identity": "NobodyKnows"}):
        y = tw.identity(x)
    with pytest.raises(LookupError, match="NobodyKnows"):
        tw.gradients(y, x)

    @tw.custom_gradient
    def wrong(x):
        return x, lambda dy: (dy, dy)
    with pytest.raises(ValueError, match="2 gradients for 1 inputs"):
        tw.gradients(wrong(x), x)
    with pytest.raises(TypeError):
        tw.RegisterGradient(3)
