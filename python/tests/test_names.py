# SPDX-License-Identifier: Apache-2.0
"""Names of TensorFlow 1.15: aliases, single operations, and what is said of those that are missing."""
import inspect

import pytest
import thalweg as tw
from thalweg.base import later
from thalweg.graph import single_operations


def test_aliases_are_the_same_functions():
    assert tw.linalg.inv is tw.matrix_inverse
    assert tw.random.normal is tw.random_normal
    assert tw.dtypes.cast is tw.cast
    assert tw.math.log is tw.log or inspect.signature(tw.math.log) == inspect.signature(tw.log)
    assert tw.initializers.global_variables is tw.global_variables_initializer
    assert tw.manip.reshape is tw.reshape


@pytest.mark.parametrize("path", ["io.decode_proto", "test.benchmark_config", "saved_model.load_v2"])
def test_a_missing_symbol_says_so_when_it_is_used(path):
    space, name = path.split(".")
    taken = getattr(getattr(tw, space), name)
    with pytest.raises(NotImplementedError, match=f"tf.{path} of TensorFlow 1.15 is not implemented in Thalweg"):
        taken()
    assert later.is_stand_in(taken) and name not in dir(getattr(tw, space))


def test_a_wrong_name_is_a_plain_error():
    for module in (tw, tw.math, tw.strings, tw.train):
        with pytest.raises(AttributeError, match="no attribute 'matmull'") as error:
            module.matmull  # noqa: B018
        assert error.type is AttributeError


@pytest.mark.parametrize("path", sorted(single_operations.table()))
def test_single_operations_have_signatures_that_fit(path):
    op, renames = single_operations.table()[path]
    function = single_operations.function(path)
    from thalweg.graph.ops import schema_of
    schema = schema_of(op)
    given = set(inspect.signature(function).parameters)
    needed = {renames.get(i.name, i.name) for i in schema.inputs} | {
        renames.get(a.name, a.name) for a in schema.parameters() if not a.has_default}
    known = needed | {renames.get(a.name, a.name) for a in schema.parameters()} | {"name"}
    assert needed <= given <= known


def test_single_operation_works(run):
    assert run(tw.conj(x=tw.constant(1 + 2j))) == 1 - 2j
    assert run(tw.unsorted_segment_max([1.0, 5.0, 2.0], [0, 0, 1], num_segments=2)).tolist() == [5, 2]
