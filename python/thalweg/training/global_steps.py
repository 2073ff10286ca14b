# SPDX-License-Identifier: Apache-2.0
"""The variable that counts steps."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes, logging as tw_logging
from thalweg.graph import graph as graph_module
from thalweg.graph.graph import GraphKeys
from thalweg.variables.init_ops import zeros_initializer
from thalweg.variables.variable_modes import VariableAggregation
from thalweg.variables.variable_scopes import get_variable

if TYPE_CHECKING:
    from thalweg.graph.graph import Graph
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.variables import Variable


def get_global_step(graph: Graph | None = None) -> Variable | Tensor | None:
    """The variable that counts steps, or None where there is none.

    Parameters
    ----------
    graph : Graph, optional
        The default graph by default.

    Returns
    -------
    Variable or Tensor or None
        An integer scalar.

    Raises
    ------
    TypeError
        If what has that name does not count: it is no integer or no scalar.

    Examples
    --------
    >>> print(tw.train.get_global_step())
    None
    >>> made = tw.train.create_global_step()
    >>> tw.train.get_global_step() is made
    True
    """
    target = graph or graph_module.get_default_graph()
    found = target.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        tw_logging.error("Multiple tensors in global_step collection.")
        return None
    if not found:
        try:
            found = [target.get_tensor_by_name("global_step:0")]
        except KeyError:
            return None
    assert_global_step(found[0])
    return found[0]


def assert_global_step(global_step_tensor: Variable | Tensor) -> None:
    """TypeError unless it is a variable or a tensor that counts: an integer scalar."""
    dtype = global_step_tensor.dtype.base_dtype
    if not dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    if global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def create_global_step(graph: Graph | None = None) -> Variable:
    """Makes the variable that counts steps."""
    target = graph or graph_module.get_default_graph()
    if get_global_step(target) is not None:
        raise ValueError('"global_step" already exists.')
    with target.as_default(), target.name_scope(None):
        return get_variable("global_step", shape=[], dtype=dtypes.int64, initializer=zeros_initializer(), trainable=False,
                            aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
                            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph: Graph | None = None) -> Variable | Tensor:
    """The variable that counts steps, made when there is none.

    Parameters
    ----------
    graph : Graph, optional
        The default graph by default.

    Returns
    -------
    Variable or Tensor
        An int64 scalar, in the collections of global variables and of the global step; not trainable.

    Raises
    ------
    TypeError
        If what has that name does not count: it is no integer or no scalar.

    Examples
    --------
    >>> step = tw.train.get_or_create_global_step()
    >>> print(step.name, step.dtype.base_dtype.name, tw.train.get_or_create_global_step() is step)
    global_step:0 int64 True
    """
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess: Session, global_step_tensor: Variable | Tensor) -> int:
    """The number that the variable which counts steps has in a session.

    Parameters
    ----------
    sess : Session
        Where to ask.
    global_step_tensor : Variable or Tensor
        What counts.

    Returns
    -------
    int
        The steps so far.

    Examples
    --------
    >>> step = tw.train.get_or_create_global_step()
    >>> with tw.Session() as sess:
    ...     sess.run(tw.global_variables_initializer())
    ...     print(tw.train.global_step(sess, step))
    0
    """
    return int(sess.run(global_step_tensor))
