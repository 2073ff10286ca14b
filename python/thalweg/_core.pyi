# SPDX-License-Identifier: Apache-2.0
# What the extension has (python/src/), as type checkers see it.
from typing import Any

from thalweg.base.typing import Array, FeedDict, Fetches
from thalweg.graph import graph as _graph, tensor as _tensor
from thalweg.messages import RunMetadata, RunOptions

RECORD_HEADER: int
RECORD_FOOTER: int

class Operation:
    @property
    def graph(self) -> _graph.Graph:
        """The graph that the operation is in."""
    @property
    def name(self) -> str:
        """The name of the operation."""
    @property
    def type(self) -> str:
        """What it computes, such as "MatMul"."""
    @property
    def device(self) -> str:
        """The device asked for, "" for any."""
    @property
    def site(self) -> str:
        """The line that made it."""
    @property
    def inputs(self) -> list[_tensor.Tensor]:
        """The tensors it reads."""
    @property
    def control_inputs(self) -> list[_tensor.Operation]:
        """Operations that run before it."""
    @property
    def outputs(self) -> list[_tensor.Tensor]:
        """The tensors it makes."""
    @property
    def _id(self) -> int: ...
    @property
    def _num_outputs(self) -> int: ...
    def _output(self, i: int) -> _tensor.Tensor: ...
    def _attr(self, name: str) -> bytes: ...
    def _node_def(self) -> bytes: ...

class Tensor:
    @property
    def graph(self) -> _graph.Graph:
        """The graph that the tensor is in."""
    @property
    def op(self) -> _tensor.Operation:
        """The operation that makes the tensor."""
    @property
    def value_index(self) -> int:
        """Which output of the operation it is."""
    @property
    def name(self) -> str:
        """ "operation:index"."""
    @property
    def _dtype(self) -> int: ...
    @property
    def _dims(self) -> tuple[int | None, ...] | None: ...

class Graph:
    def __init__(self, environment: Environment) -> None: ...
    def _add_node(self, *args: Any) -> _tensor.Operation: ...
    def _num_nodes(self) -> int: ...
    def _set_aside(self, first: int) -> None: ...
    def _node(self, i: int) -> _tensor.Operation: ...
    def _nodes(self, begin: int = 0, end: int = ...) -> list[_tensor.Operation]: ...
    def _find(self, name: str) -> _tensor.Operation | None: ...
    def _nearest(self, name: str) -> str: ...
    def _has(self, name: str) -> bool: ...
    def _export(self, text: bool) -> bytes: ...
    def _export_library(self) -> bytes: ...
    def _import(self, *args: Any) -> Any: ...
    def _set_shape(self, tensor: _tensor.Tensor, dims: tuple[int | None, ...] | None) -> None: ...
    def _function_definition(self, name: str, arguments: list[_tensor.Tensor], results: list[_tensor.Tensor],
                             result_names: list[str]) -> bytes: ...
    def _expand_call(self, call: _tensor.Operation, prefix: str) -> list[_tensor.Tensor]: ...
    def _gradients(self, *args: Any) -> Any: ...
    def _set_back_edge(self, merge: _tensor.Operation, index: int, source: _tensor.Tensor) -> None: ...
    def _set_input(self, node: _tensor.Operation, index: int, source: _tensor.Tensor) -> None: ...
    def _add_control_input(self, node: _tensor.Operation, before: _tensor.Operation) -> None: ...
    def _set_device(self, node: _tensor.Operation, device: str) -> None: ...
    def _set_container(self, node: _tensor.Operation, container: str) -> None: ...
    def _set_annotation(self, node: _tensor.Operation, name: str, value: bytes) -> None: ...

class Session:
    @property
    def graph(self) -> _graph.Graph:
        """The graph that is run."""
    def run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None,
            run_metadata: RunMetadata | None = None) -> Any:
        """Runs what the fetches need and gives their values in the structure of the fetches."""
    def close(self) -> None:
        """Cancels what runs, frees what the session holds."""
    def explain_placement(self, node: str) -> str:
        """Where a node would run and why, as text."""
    def _end(self) -> None: ...
    def _devices(self) -> bytes: ...
    def _prepare(self, fetches: Fetches, feed_list: list[str | _tensor.Tensor]) -> Any: ...
    def _partial_run(self, fetches: Fetches, feed_list: list[str | _tensor.Tensor]) -> Any: ...

class Environment:
    def devices(self) -> list[tuple[str, str]]:
        """(name, type) of each device."""
    def memory(self) -> tuple[int, int, int]:
        """(bytes in use, the most so far, limit)."""
    def reset(self, containers: list[str]) -> None:
        """Drops all state of the named containers."""
    def load_library(self, path: str) -> Any:
        """Loads operations of a shared object."""
    def is_differentiable(self, op: str) -> bool:
        """Whether nobody said that the operation has no gradient."""
    def op_list(self, implemented_only: bool) -> bytes:
        """An OpList message."""

class Checkpoint:
    def __init__(self, path: str) -> None: ...
    def tensors(self) -> list[tuple[str, int, tuple[int, ...]]]:
        """(name, element type, shape) of each tensor."""
    def read(self, i: int) -> Array:
        """The value of tensor i."""

class ModelFunction:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

class Model:
    def __new__(cls, environment: Environment, path: str, tags: list[str], map_weights: bool = False) -> Model: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _prepare(self, name: str | None) -> ModelFunction: ...
    def _convert(self, name: str | None, path: Any, saved_model: bool, keep_batch_norms: bool) -> None: ...
    def _costs(self, name: str | None, batch: int, shapes: dict[str, list[int]]) -> str: ...
    def _verify(self, name: str | None, inputs: dict[str, Any], values: dict[str, Any], atol: float, rtol: float) -> str: ...
    def _fetch(self, name: str | None, fetches: list[str], inputs: dict[str, Any]) -> list[Any]: ...
    def _describe(self, i: int) -> tuple[str, str, list[Any], list[Any], str]: ...
    def _facts(self) -> tuple[int, str, str, str]: ...

class EventFile:
    def __init__(self, folder: str, suffix: str) -> None: ...
    @property
    def path(self) -> str:
        """Where it is."""
    def append(self, data: bytes) -> None:
        """Writes whole records; where that fails, the file is as it was before."""
    def close(self) -> None:
        """Closes the file."""

class Server:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def target(self) -> str:
        """grpc://HOST:PORT, grpcs:// with TLS"""
    def stop(self) -> None:
        """Ends all sessions and calls and frees the port."""
    def join(self) -> None:
        """Waits until the server is stopped."""

def __getattr__(name: str) -> Any: ...
