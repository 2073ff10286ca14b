# SPDX-License-Identifier: Apache-2.0
"""Messages begin with the words that TensorFlow 1.15 has for them: programs look for these."""
import numpy as np
import pytest

import thalweg as tw


def failing(error, fetch, feeds=None):
    """The message of a step that fails."""
    with tw.Session() as session:
        with pytest.raises(error) as caught:
            session.run(fetch, feeds)
    return str(caught.value)


@pytest.fixture(autouse=True)
def _graph():
    with tw.Graph().as_default():
        yield


def test_a_variable_without_value():
    v, r = tw.Variable([1.0], name="v"), tw.Variable([1.0], name="r", use_resource=True)
    for use in (v + 1.0, v.read_value(), tw.assign_add(v, [1.0]), tw.scatter_add(v, [0], [1.0])):
        assert failing(tw.errors.FailedPreconditionError, use).startswith("Attempting to use uninitialized value v")
    assert failing(tw.errors.FailedPreconditionError, r + 1.0).startswith("Error while reading resource variable r from Container: localhost.")


def test_the_failing_operation_is_known():
    v = tw.Variable([1.0], name="v")
    with tw.Session() as session:
        with pytest.raises(tw.errors.FailedPreconditionError) as caught:
            session.run(tw.assign_add(v, [1.0], name="more"))
    assert caught.value.op.name in ("v/read", "more")


@pytest.mark.parametrize("dtype, shape, words", [
    (tw.float32, [None, 3], "float and shape [?,3]"), (tw.float64, [2], "double and shape [2]"), (tw.float16, [1], "half and shape [1]"),
    (tw.int32, [], "int32"), (tw.string, None, "string")])
def test_a_placeholder_without_value(dtype, shape, words):
    x = tw.placeholder(dtype, shape, name="x")
    message = failing(tw.errors.InvalidArgumentError, tw.identity(x))
    assert message.startswith(f"You must feed a value for placeholder tensor 'x' with dtype {words}")
    assert "shape" in words or "and shape" not in message


STATIC = {
    "rank": (lambda a, b: tw.matmul(a[0], b), "Shape must be rank 2 but is rank 1 for 'MatMul' (op: 'MatMul') with input shapes: [3], [2,3]."),
    "broadcast": (lambda a, b: tw.add(a, b[:, :2]), "Dimensions must be equal, but are 3 and 2 for 'Add' (op: 'Add') with input shapes: [2,3], [2,2]."),
    "product": (tw.matmul, "Dimensions must be equal, but are 3 and 2 for 'MatMul' (op: 'MatMul') with input shapes: [2,3], [2,3]."),
    "pack": (lambda a, b: tw.stack([a, b[:1]]), "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2,3] and [1,3]."),
    "concat": (lambda a, b: tw.concat([a, b[:, :2]], 0), "Dimension 0 in both shapes must be equal, but are 3 and 2. Shapes are [3] and [2]."),
    "ranks": (lambda a, b: tw.stack([a, b[0]]), "Shapes must be equal rank, but are 2 and 1"),
    "reshape": (lambda a, b: tw.reshape(a, [4, -1]), "Dimension size must be evenly divisible by 4 but is 6 for 'Reshape' (op: 'Reshape')"),
    "square": (lambda a, b: tw.cholesky(a), "Dimensions must be equal, but are 2 and 3"),
    "transpose": (lambda a, b: tw.transpose(a, [0, 1, 2]), "Dimension must be 2 but is 3"),
    "perm": (lambda a, b: tw.transpose(a, [0, 7]), "perm dim 7 is out of range of input rank 2"),
    "tile": (lambda a, b: tw.tile(a, [1]), "Shape must be rank 2 but is rank 1"),
    "pad": (lambda a, b: tw.pad(a, [[1, 1]]), "Shape must be rank 1 but is rank 2"),
    "split": (lambda a, b: tw.split(a, 2, 1), "Dimension size must be evenly divisible by 2 but is 3"),
    "size": (lambda a, b: tw.random_uniform([2, -7]), "Invalid value in tensor used for shape: -7"),
    "axis": (lambda a, b: tw.reduce_sum(a, 5), "Invalid reduction dimension 5 for input with 2 dimensions"),
    "segments": (lambda a, b: tw.unsorted_segment_sum(a, [0, 1, 0], 2), "Dimensions must be equal, but are 2 and 3"),
    "einsum": (lambda a, b: tw.einsum("ij,jk->ik", a, b), "Dimensions must be equal, but are 3 and 2"),
    "einsum rank": (lambda a, b: tw.raw_ops.Einsum(inputs=[a, b[0]], equation="ij,jk->ik"), "Shape must be rank 2 but is rank 1"),
    "cross": (lambda a, b: tw.raw_ops.Cross(a=a[0, 0], b=b), "Shape must be at least rank 1 but is rank 0"),
    "condition": (lambda a, b: tw.raw_ops.Select(condition=[True], x=a, y=b), "Dimension 0 in both shapes must be equal, but are 1 and 2. Shapes are [1] and [2]."),
    "boxes": (lambda a, b: tw.image.crop_and_resize(tw.zeros([1, 4, 4, 1]), a, [0, 0], [2, 2]), "Dimension must be 4 but is 3"),
    "update": (lambda a, b: tw.scatter_update(tw.Variable(a), [0], b), "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are [2,3] and [1,3]."),
    "gradient": (lambda a, b: tw.raw_ops.ApplyGradientDescent(var=tw.Variable(a)._ref(), alpha=1.0, delta=b[0]),
                 "Shapes must be equal rank, but are 2 and 1"),
}


@pytest.mark.parametrize("case", STATIC)
def test_shapes_that_are_known(case):
    make, words = STATIC[case]
    with pytest.raises(ValueError) as caught:
        make(tw.zeros([2, 3]), tw.zeros([2, 3]))
    assert words in str(caught.value)


A, B = np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32)
RUNNING = {
    "broadcast": (lambda a, b: a + b, "Incompatible shapes: [2,3] vs. [4,5]"),
    "product": (tw.matmul, "Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]"),
    "gather": (lambda a, b: tw.gather(a, [0, 7]), "indices[1] = 7 is not in [0, 2)"),
    "concat": (lambda a, b: tw.concat([a, b], 0), "ConcatOp : Dimensions of inputs should match: shape[0] = [2,3] vs. shape[1] = [4,5]"),
    "pack": (lambda a, b: tw.stack([a, b]), "Shapes of all inputs must match: values[0].shape = [2,3] != values[1].shape = [4,5]"),
    "slice": (lambda a, b: tw.slice(a, tw.placeholder_with_default([0], None), tw.placeholder_with_default([1], None)),
              "Expected begin and size arguments to be 1-D tensors of size 2"),
    "reshape": (lambda a, b: tw.reshape(a, tw.placeholder_with_default([7], None)), "Input to reshape is a tensor with 6 values, but the requested shape has 7"),
    "sum": (lambda a, b: tw.reduce_sum(a, tw.placeholder_with_default([5], None)), "Invalid reduction dimension (5 for input with 2 dimension(s)"),
    "square": (lambda a, b: tw.cholesky(a), "Input matrix must be square"),
    "matrices": (lambda a, b: tw.matrix_solve(a[0], b), "Input tensor 0 must have rank >= 2, got 1"),
    "transpose": (lambda a, b: tw.transpose(a, [0, 1, 2]), "transpose expects a vector of size 2. But input(1) is a vector of size 3"),
    "concat axis": (lambda a, b: tw.concat([a, b], tw.placeholder_with_default(9, [])), "ConcatOp : Expected concatenating dimensions in the range [-2, 2), but got 9"),
    "axis": (lambda a, b: tw.argmax(a, tw.placeholder_with_default(9, [])), "Expected dimension in the range [-2, 2), but got 9"),
    "pad": (lambda a, b: tw.pad(a, [[1, 1]]), "The first dimension of paddings must be the rank of inputs[1,2] [2,3]"),
    "top": (lambda a, b: tw.nn.top_k(a, 9)[0], "input must have at least k columns. Had 3, needed 9"),
    "sparse": (lambda a, b: tw.sparse_reorder(tw.SparseTensor(tw.placeholder_with_default(tw.zeros([2, 2], tw.int64), None), [1.0], [2, 2])).values,
               "indices and values rows (indexing dimension) must match. (indices = 2, values = 1)"),
    "addn": (lambda a, b: tw.add_n([a, b]), "Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: [2,3] != input 1: [4,5]"),
}


@pytest.mark.parametrize("case", RUNNING)
def test_shapes_that_are_not_known_before(case):
    make, words = RUNNING[case]
    a, b = tw.placeholder(tw.float32), tw.placeholder(tw.float32)
    assert failing(tw.errors.InvalidArgumentError, make(a, b), {a: A, b: B}).startswith(words)


def test_a_kernel_that_cannot_be_made():
    y = tw.raw_ops.Bucketize(input=tw.placeholder_with_default([1.0], None), boundaries=[2.0, 1.0], name="grid")
    with tw.Session() as session:
        with pytest.raises(tw.errors.InvalidArgumentError, match=r"^Expected sorted boundaries\n\t \[\[Bucketize 'grid', ") as caught:
            session.run(y)
    assert caught.value.op.name == "grid"


def test_an_axis_given_twice_is_refused_by_the_step_alone():
    """1.15 takes it once, 2.21 refuses it when it runs: graphs of each are made here."""
    x = tw.ones([2, 3])
    y = tw.reduce_sum(x, [0, 0])
    assert y.shape.as_list() == [3]
    assert failing(tw.errors.InvalidArgumentError, y).startswith("Invalid reduction arguments: Axes contains duplicate dimension: 0")
    old = tw.get_default_graph().as_graph_def()
    old.versions.producer = 134
    with tw.Graph().as_default(), tw.Session() as session:
        again, = tw.import_graph_def(old, name="", return_elements=[y.name])
        assert session.run(again).tolist() == [2, 2, 2]


def test_elements_of_an_array_have_one_shape():
    array = tw.TensorArray(tw.float32, 2, element_shape=[2])
    with pytest.raises(ValueError, match=r"Inconsistent shapes: saw \(3,\) but expected \(2,\)"):
        array.write(0, tw.zeros([3]))


def test_elements_of_a_list_have_one_type():
    made = tw.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tw.float32)
    with pytest.raises(ValueError, match="^Trying to push to list with wrong element dtype. List has type float but trying to push element "
                                         "with type int32"):
        tw.raw_ops.TensorListPushBack(input_handle=made, tensor=[1])
    with pytest.raises(ValueError, match="^Expected list with element dtype int32 but got list with element dtype float"):
        tw.raw_ops.TensorListGetItem(input_handle=made, index=0, element_shape=-1, element_dtype=tw.int32)


def test_keys_of_another_type():
    table = tw.lookup.StaticHashTable(tw.lookup.KeyValueTensorInitializer(["a"], [1], tw.string, tw.int64), -1)
    with pytest.raises(TypeError, match="^Signature mismatch. Keys must be dtype <dtype: 'string'>, got <dtype: 'int32'>."):
        table.lookup(tw.constant([1]))
