# SPDX-License-Identifier: Apache-2.0
"""What the layers share: names of variables, collections."""
from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from thalweg.contrib.framework import variables
from thalweg.graph import graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from thalweg.base.typing import Getter
    from thalweg.graph.tensor import Tensor
    from thalweg.variables.layer import Layer
    from thalweg.variables.variable_scopes import VariableScope


def getter_of(renames: Mapping[str, str]) -> Getter:
    """A getter that makes model variables, under other names."""
    def getter(original, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
               caching_device=None, partitioner=None, use_resource=None, reuse=None, **unused):
        scope, _, last = name.rpartition("/")
        full = f"{scope}/{renames.get(last, last)}" if scope else renames.get(last, last)
        return variables.model_variable(full, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                                        collections=collections, trainable=trainable, caching_device=caching_device,
                                        partitioner=partitioner, custom_getter=_of(original, reuse), use_resource=use_resource)
    return getter


def _of(original, reuse):
    """`original` takes full names, where get_variable adds the scope's."""
    return lambda _, name, **kwargs: original(name, reuse=reuse, **kwargs)


def variable_names(collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None,
                   name: str) -> Sequence[str] | str | None:
    """The collections for variables of a name: a list for all, or a dict."""
    if isinstance(collections, dict):
        return collections.get(name)
    return collections


def collect_variables(layer: Layer, collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None) -> None:
    """Weights and biases of a layer to their collections."""
    for variable in layer.variables:
        name = variable.op.name.rpartition("/")[2]
        wanted = variable_names(collections, "biases" if name == "biases" else "weights")
        for collection in [wanted] if isinstance(wanted, str) else wanted or []:
            if variable not in graph.get_collection(collection):
                graph.add_to_collection(collection, variable)


def collect(collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None, scope: str | VariableScope,
            outputs: Tensor) -> Tensor:
    """The outputs, in their collections under the name of the scope."""
    return collect_named_outputs(collections, scope if isinstance(scope, str) else scope.name, outputs)


def collect_named_outputs(collections: str | Sequence[str] | Mapping[str, Sequence[str]] | None, alias: str,
                          outputs: Tensor) -> Tensor:
    """The outputs, in the collections under a name; convert_collection_to_dict gives them by it."""
    if collections:
        append_tensor_alias(outputs, alias)
        graph.add_to_collections([collections] if isinstance(collections, str) else collections, outputs)
    return outputs


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Gives the tensor one more name, in its `aliases`."""
    alias = alias.removesuffix("/")
    tensor.aliases = [*getattr(tensor, "aliases", []), alias]
    return tensor


def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """The names that a tensor has been given, or else that of its operation."""
    return getattr(tensor, "aliases", None) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Tensor]) -> list[str]:
    """The names of several tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Tensor]:
    """The tensors of a collection by their names."""
    tensors = graph.get_collection(collection)
    if clear_collection:
        graph.get_default_graph().clear_collection(collection)
    return OrderedDict((alias, t) for t in tensors for alias in get_tensor_aliases(t))


def as_channels(data_format: str | None) -> str:
    """"NCHW" as "channels_first"."""
    if data_format not in (None, "NHWC", "NCHW", "NWC", "NCW", "NDHWC", "NCDHW"):
        raise ValueError(f"data_format has to be either NCHW or NHWC, got {data_format}.")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"
