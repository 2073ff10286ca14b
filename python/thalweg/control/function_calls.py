# SPDX-License-Identifier: Apache-2.0
"""Calls of defined functions with the names of tensorflow.python.ops.functional_ops of 1.15: If, While, For, Gradient."""
from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg import dtypes
from thalweg.control import functions
from thalweg.graph import ops
from thalweg.graph.ops import apply, convert_to_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from thalweg.base.typing import DTypeLike, TensorLike
    from thalweg.control.functions import DefinedFunction
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import ConfigProto


def _outputs(function):
    return [dtypes.as_dtype(o.type) for o in function.definition.signature.output_arg]


def _flat(made):
    return list(made) if isinstance(made, (list, tuple)) else made


def If(cond: Any, inputs: Sequence[TensorLike], then_branch: DefinedFunction, else_branch: DefinedFunction,
       name: str | None = None) -> list[Tensor]:
    """What then_branch gives for the inputs where cond is true, else_branch elsewhere."""
    if then_branch.captured_inputs or else_branch.captured_inputs:
        raise ValueError("The branches of If must not read tensors from outside: hand them over as inputs")
    return _flat(apply("If", [cond, [convert_to_tensor(i) for i in inputs]],
                       {"Tout": _outputs(then_branch), "then_branch": then_branch, "else_branch": else_branch}, name))


def While(input_: Sequence[TensorLike], cond: Any, body: DefinedFunction, name: str | None = None,
          hostmem: Sequence[int] | None = None) -> list[Tensor]:
    """The variables after body has been called as long as cond of them is true."""
    if cond.captured_inputs:
        raise ValueError(f"While op 'cond' argument must be a function without implicitly captured inputs: {cond.name}")
    more = body.captured_inputs
    if not more:
        return _flat(apply("While", [[convert_to_tensor(i) for i in input_]], {"cond": cond, "body": body}, name))
    types = [*cond.declared_input_types, *(t.dtype.base_dtype for t in more)]
    count = len(cond.declared_input_types)

    @functions.Defun(*types, func_name=f"{cond.name}_Wrapper")
    def wide_cond(*args):
        return cond(*args[:count])

    @functions.Defun(*types, func_name=f"{body.name}_Wrapper")
    def wide_body(*args):
        graph = functions.graph_module.get_default_graph()
        body.add_to_graph(graph)
        return list(ops.create_node(body.name, "body", list(args), []).outputs) + list(args[count:])
    made = apply("While", [[*map(convert_to_tensor, input_), *more]], {"cond": wide_cond, "body": wide_body}, name)
    return list(made)[:count]


def For(start: TensorLike, limit: TensorLike, delta: TensorLike, inputs: Sequence[TensorLike], body: DefinedFunction,
        name: str | None = None, hostmem: Sequence[int] | None = None, rewrite_with_while: bool | None = None) -> list[Tensor]:
    """The inputs after body(i, *inputs) for i from start to limit in steps of delta."""
    if body.captured_inputs:
        raise ValueError("The body of For must not read tensors from outside: hand them over as inputs")
    return _flat(apply("For", [start, limit, delta, [convert_to_tensor(i) for i in inputs]], {"body": body}, name))


def Gradient(inputs: Sequence[TensorLike], f: DefinedFunction, name: str | None = None) -> Any:
    """The gradients of f's inputs; `inputs` are f's inputs and the gradients of its outputs."""
    return symbolic_gradient(inputs, list(f.declared_input_types), f, name)


def symbolic_gradient(input: Sequence[TensorLike], Tout: Sequence[DTypeLike], f: DefinedFunction, name: str | None = None) -> Any:
    return _flat(apply("SymbolicGradient", [[convert_to_tensor(i) for i in input]], {"Tout": Tout, "f": f}, name))


def remote_call(target: TensorLike, args: Sequence[TensorLike], Tout: Sequence[DTypeLike], f: DefinedFunction,
                name: str | None = None) -> Any:
    return _flat(apply("RemoteCall", [target, [convert_to_tensor(a) for a in args]], {"Tout": Tout, "f": f}, name))


def partitioned_call(args: Sequence[TensorLike], f: DefinedFunction, tout: Sequence[DTypeLike] | None = None,
                     executing_eagerly: bool | None = None, config: ConfigProto | None = None,
                     executor_type: str | None = None) -> Any:
    """A call of f as one operation, with effects where f has stateful ones."""
    stateful = bool(f.stateful_ops)
    return _flat(apply("StatefulPartitionedCall" if stateful else "PartitionedCall",
                       [[*map(convert_to_tensor, args), *f.captured_inputs]], {"Tout": tout or _outputs(f), "f": f}))
