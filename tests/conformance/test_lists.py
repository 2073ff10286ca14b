# SPDX-License-Identifier: Apache-2.0
"""Programs of operations on TensorArrays and TensorLists in both engines: the values, or the class of the error."""
import numpy as np
import pytest
from both import PLAIN, Outcome, tf

import thalweg as tw

R, F = tf.raw_ops, tf.float32
ROWS, ANY = [[1.0, 2.0], [3.0, 4.0]], np.int32(-1)


def ints(*values):
    return np.array(values, np.int32)


def longs(*values):
    return np.array(values, np.int64)


def reserve(n=3, shape=ints(2)):
    return R.TensorListReserve(element_shape=shape, num_elements=n, element_dtype=F)


def empty(shape=ints(2), most=-1):
    return R.EmptyTensorList(element_shape=shape, max_num_elements=most, element_dtype=F)


def rows(values=ROWS, shape=ints(2)):
    return R.TensorListFromTensor(tensor=values, element_shape=shape)


def stack(handle, shape=ANY, n=-1, dtype=F):
    return R.TensorListStack(input_handle=handle, element_shape=shape, element_dtype=dtype, num_elements=n)


def push(handle, value=(1.0, 2.0)):
    return R.TensorListPushBack(input_handle=handle, tensor=list(value))


def pop(handle, output=1, shape=ANY):
    return R.TensorListPopBack(input_handle=handle, element_shape=shape, element_dtype=F)[output]


def get(handle, i, shape=ANY):
    return R.TensorListGetItem(input_handle=handle, index=i, element_shape=shape, element_dtype=F)


def put(handle, i, value=(7.0, 8.0), grows=False):
    return R.TensorListSetItem(input_handle=handle, index=i, item=list(value), resize_if_index_out_of_bounds=grows)


def gather(handle, *indices, shape=ANY):
    return R.TensorListGather(input_handle=handle, indices=ints(*indices), element_shape=shape, element_dtype=F)


def scatter(n, *indices):
    return R.TensorListScatterV2(tensor=ROWS, indices=ints(*indices), element_shape=ints(2), num_elements=n)


def concat(handle, shape=ANY, lengths=longs(), output=0):
    return R.TensorListConcatV2(input_handle=handle, element_shape=shape, leading_dims=lengths, element_dtype=F)[output]


def split(lengths, shape=ints(-1)):
    return R.TensorListSplit(tensor=[1.0, 2.0, 3.0], element_shape=shape, lengths=longs(*lengths))


def array(n=3, **attrs):
    made = R.TensorArrayV3(size=n, dtype=F, **attrs)
    return made.handle, made.flow


def write(a, i, value):
    return a[0], R.TensorArrayWriteV3(handle=a[0], index=i, value=value, flow_in=a[1])


def read(a, i):
    return R.TensorArrayReadV3(handle=a[0], index=i, flow_in=a[1], dtype=F)


def gathered(a, *indices, **attrs):
    return R.TensorArrayGatherV3(handle=a[0], indices=ints(*indices), flow_in=a[1], dtype=F, **attrs)


def scattered(a, *indices):
    return a[0], R.TensorArrayScatterV3(handle=a[0], indices=ints(*indices), value=ROWS, flow_in=a[1])


def pieces(a, *lengths):
    return a[0], R.TensorArraySplitV3(handle=a[0], value=[1.0, 2.0, 3.0], lengths=longs(*lengths), flow_in=a[1])


def joined(a, output=0):
    return R.TensorArrayConcatV3(handle=a[0], flow_in=a[1], dtype=F)[output]


def size(a):
    return R.TensorArraySizeV3(handle=a[0], flow_in=a[1])


def gradient(a):
    made = R.TensorArrayGradV3(handle=a[0], flow_in=a[1], source="g")
    return made.grad_handle, made.flow_out


PROGRAMS = {
    "add": lambda: stack(R.AddN(inputs=[rows(), rows(), reserve(2)])),
    "add_lengths": lambda: stack(R.AddN(inputs=[rows(), reserve(3)])),
    "array": lambda: read(write(array(), 2, 5.0), 2),
    "array_adds": lambda: read(write(write(gradient(array()), 1, 5.0), 1, 6.0), 1),
    "array_adds_shapes": lambda: read(write(write(gradient(array()), 1, 5.0), 1, [6.0]), 1),
    "array_concat": lambda: joined(pieces(array(), 1, 0, 2)),
    "array_concat_lengths": lambda: joined(pieces(array(), 1, 0, 2), 1),
    "array_concat_none": lambda: joined(array(0)),
    "array_concat_scalars": lambda: joined(write(array(1), 0, 5.0)),
    "array_gather": lambda: gathered(scattered(array(), 2, 0), 0, 2),
    "array_gather_again": lambda: gathered(scattered(array(), 2, 0), 0, 0),
    "array_gather_beyond": lambda: gathered(scattered(array(), 2, 0), 3),
    "array_gather_none": lambda: gathered(array(), element_shape=[2, 3]),
    "array_gather_none_unknown": lambda: gathered(array()),
    "array_gather_unset": lambda: gathered(scattered(array(), 2, 0), 1),
    "array_gradient_of_what_nobody_wrote": lambda: read(gradient(write(array(), 1, [5.0, 6.0])), 1),
    "array_grows": lambda: size(write(array(1, dynamic_size=True), 6, 5.0)),
    "array_negative_size": lambda: size(array(-1)),
    "array_read_beyond": lambda: read(array(), 3),
    "array_read_unset_known": lambda: read(array(element_shape=[2]), 1),
    "array_scatter_beyond": lambda: size(scattered(array(), 0, 4)),
    "array_scatter_twice": lambda: size(scattered(array(), 0, 0)),
    "array_split_sizes": lambda: size(pieces(array(), 1, 2)),
    "array_split_sum": lambda: size(pieces(array(), 1, 2, 1)),
    "array_write_beyond": lambda: size(write(array(), 3, 5.0)),
    "array_write_twice": lambda: size(write(write(array(), 0, 5.0), 0, 5.0)),
    "concat": lambda: concat(split([1, 2])),
    "concat_lengths": lambda: concat(split([1, 2]), output=1),
    "concat_none": lambda: concat(empty(ints(-1, 2))),
    "concat_none_unknown": lambda: concat(empty(ANY)),
    "concat_scalars": lambda: concat(rows([1.0, 2.0], ANY)),
    "concat_unset": lambda: concat(reserve(2, ints(-1)), lengths=longs(1, 2)),
    "concat_unset_few": lambda: concat(reserve(2, ints(-1)), lengths=longs(1)),
    "element_shape": lambda: R.TensorListElementShape(input_handle=rows(shape=ints(-1)), shape_type=tf.int64),
    "element_shape_unknown": lambda: R.TensorListElementShape(input_handle=rows(shape=ANY), shape_type=tf.int32),
    "from_other_shape": lambda: stack(rows(shape=ints(3))),
    "gather": lambda: gather(rows(), 1, 0, 1),
    "gather_beyond": lambda: gather(rows(), 2),
    "gather_none": lambda: gather(rows()),
    "gather_unset": lambda: gather(reserve(), 1),
    "gather_unset_unknown": lambda: gather(reserve(shape=ANY), 1),
    "get": lambda: get(rows(), 1),
    "get_beyond": lambda: get(rows(), 2),
    "get_negative": lambda: get(rows(), -1),
    "get_unset": lambda: get(put(reserve(3, ANY), 1), 0),
    "get_unset_unknown": lambda: get(reserve(3, ANY), 0),
    "join": lambda: stack(R.TensorListConcatLists(input_a=rows(), input_b=rows(), element_dtype=F)),
    "length": lambda: R.TensorListLength(input_handle=reserve(5)),
    "pop": lambda: pop(rows()),
    "pop_list": lambda: stack(pop(rows(), 0)),
    "pop_none": lambda: pop(empty()),
    "push": lambda: stack(push(push(empty()), [3.0, 4.0])),
    "push_full": lambda: stack(push(push(empty(most=1)))),
    "push_other_shape": lambda: stack(push(empty(), [1.0])),
    "reserve_negative": lambda: stack(reserve(-1)),
    "resize": lambda: stack(R.TensorListResize(input_handle=rows(), size=3)),
    "resize_negative": lambda: stack(R.TensorListResize(input_handle=rows(), size=-1)),
    "scatter": lambda: stack(scatter(-1, 2, 0)),
    "scatter_beyond": lambda: stack(scatter(2, 2, 0)),
    "scatter_negative": lambda: stack(scatter(-1, -1, 0)),
    "scatter_sized": lambda: stack(scatter(4, 2, 0)),
    "set": lambda: stack(put(rows(), 0)),
    "set_beyond": lambda: stack(put(rows(), 2)),
    "set_grows": lambda: stack(put(rows(), 3, grows=True)),
    "split_sum": lambda: concat(split([1, 1])),
    "stack_count": lambda: stack(rows(), n=3),
    "stack_none": lambda: stack(empty()),
    "stack_none_unknown": lambda: stack(empty(ANY)),
    "stack_uneven": lambda: stack(push(push(empty(ANY)), [1.0])),
    "stack_unset": lambda: stack(reserve()),
    "zeros": lambda: stack(R.ZerosLike(x=rows())),
}


def outcome(run, errors):
    try:
        return Outcome(run())
    except errors as error:
        return Outcome(error=error)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_same(name):
    with tf.Graph().as_default() as graph:
        try:
            output = PROGRAMS[name]()
        except ValueError as error:
            pytest.skip(f"TensorFlow refuses the graph: {error}")
        definition = graph.as_graph_def().SerializeToString()
        with tf.Session(config=PLAIN) as session:
            wanted = outcome(lambda: session.run(output), tf.errors.OpError)
    with tw.Graph().as_default():
        def run():
            tw.import_graph_def(tw.GraphDef.FromString(definition), name="")
            with tw.Session() as session:
                return session.run(output.name)
        got = outcome(run, (tw.errors.OpError, ValueError))
    assert bool(got.error) == bool(wanted.error), f"TensorFlow: {wanted}, here: {got}"
    if not wanted.error:
        np.testing.assert_array_equal(got.outputs, wanted.outputs)
        assert got.outputs.dtype == wanted.outputs.dtype
    elif not isinstance(got.error, ValueError):  # refused when the node is made: always InvalidArgument
        assert type(got.error).__name__ == type(wanted.error).__name__, f"TensorFlow: {wanted}, here: {got}"
