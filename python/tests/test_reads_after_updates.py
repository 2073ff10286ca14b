# SPDX-License-Identifier: Apache-2.0
"""What reads a reference variable behind an update of it sees the update, and effects on rows of tensors: as in TensorFlow 1.15."""
import numpy as np
import pytest

import thalweg as tw

UPDATES = {
    "assign": (lambda v: tw.assign(v, [5.0, 5.0]), [5.0, 5.0]),
    "computed": (lambda v: tw.assign(v, tw.Variable([7.0, 7.0]) * 2.0), [14.0, 14.0]),
    "assign_add": (lambda v: tw.assign_add(v, [1.0, 1.0]), [2.0, 3.0]),
    "scatter": (lambda v: tw.scatter_add(v, [0], [10.0]), [11.0, 2.0]),
}
READERS = {
    "identity": (tw.identity, lambda x: x),
    "sum": (lambda v: v + 1.0, lambda x: x + 1),
    "reduction": (tw.reduce_sum, lambda x: x.sum()),
    "gather": (lambda v: tw.gather(v, [0]), lambda x: x[:1]),
    "read_value": (lambda v: v.read_value(), lambda x: x),
}


def run(*fetches):
    with tw.Session() as session:
        session.run(tw.global_variables_initializer())
        return session.run(list(fetches))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("update", UPDATES)
def test_a_reader_behind_an_update(update, reader):
    with tw.Graph().as_default():
        v = tw.Variable([1.0, 2.0])
        done, expected = UPDATES[update][0](v), np.array(UPDATES[update][1])
        with tw.control_dependencies([done]):
            read = READERS[reader][0](v)
        np.testing.assert_array_equal(run(read)[0], READERS[reader][1](expected))


def test_what_no_update_leads_to_keeps_its_read():
    with tw.Graph().as_default():
        v = tw.Variable([1.0, 2.0])
        before = v + 0.0
        with tw.control_dependencies([before]):
            done = tw.assign_add(v, [1.0, 1.0])
        with tw.control_dependencies([done]):
            copied = tw.identity(before)
        np.testing.assert_array_equal(run(copied)[0], [1, 2])


def test_gradients_go_through_the_late_read():
    with tw.Graph().as_default():
        v = tw.Variable([1.0, 2.0])
        with tw.control_dependencies([tw.assign_add(v, [1.0, 1.0])]):
            loss = tw.reduce_sum(v * v)
        loss, gradient = run(loss, tw.gradients(loss, v)[0])
        assert loss == 13.0
        assert gradient.shape == (2,)


def test_in_a_branch():
    with tw.Graph().as_default():
        v, pred = tw.Variable(1.0), tw.placeholder(tw.bool, [])

        def updated():
            with tw.control_dependencies([tw.assign_add(v, 10.0)]):
                return tw.identity(v)
        y = tw.cond(pred, updated, lambda: tw.identity(v))
        with tw.Session() as session:
            session.run(v.initializer)
            assert session.run(y, {pred: True}) == 11.0
            assert session.run(y, {pred: False}) == 11.0
            assert session.run(y, {pred: True}) == 21.0


def test_rows_of_tensors_in_group_tuple_and_control_dependencies():
    with tw.Graph().as_default():
        v = tw.Variable([1.0, 2.0, 3.0])
        add = tw.assign_add(v, [1.0, 1.0, 1.0])
        rows = tw.IndexedSlices(tw.constant([10.0]), tw.constant([1]), tw.constant([3]))
        assert isinstance(tw.group(tw.scatter_add(v, rows.indices, rows.values), rows), tw.Operation)
        made = tw.tuple([rows, None, v], control_inputs=[add])
        assert isinstance(made[0], tw.IndexedSlices) and made[1] is None
        with tw.control_dependencies([rows, add]):
            read = tw.identity(v)
        with tw.Session() as session:
            session.run(v.initializer)
            found = session.run([made[0], made[2]])
            np.testing.assert_array_equal(found[0].values, [10])
            np.testing.assert_array_equal(found[1], [2, 3, 4])
            np.testing.assert_array_equal(session.run(read), [3, 4, 5])
        with pytest.raises(ValueError, match="Must have at least one Tensor"):
            tw.tuple([None])
