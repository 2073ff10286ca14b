# SPDX-License-Identifier: Apache-2.0
"""MetaGraphDef: a graph with its collections, as files beside checkpoints have it."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import logging, messages
from thalweg.graph import graph as graph_module, proto_functions
from thalweg.graph.op_definitions import definitions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.base.typing import PathLike
    from thalweg.graph.graph import Graph
    from thalweg.messages import GraphDef, MetaGraphDef, SaverDef
    from thalweg.saving.saver import Saver


def _collection(name, items):
    """A CollectionDef; None, and a warning, where an item is nothing that a message has a place for."""
    made = messages.CollectionDef()
    to_proto = proto_functions.get_to_proto_function(name)
    try:
        if to_proto:
            protos = [to_proto(i, export_scope=None) for i in items]
            made.bytes_list.value.extend(p.SerializeToString() for p in protos if p is not None)
        elif isinstance(items[0], (str, bytes)):
            made.bytes_list.value.extend(i.encode() if isinstance(i, str) else bytes(i) for i in items)
        elif isinstance(items[0], int):
            made.int64_list.value.extend(int(i) for i in items if _is(i, int))
        elif isinstance(items[0], float):
            made.float_list.value.extend(float(i) for i in items if _is(i, (int, float)))
        else:
            made.node_list.value.extend(_element_name(i) for i in items)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if name != graph_module.GraphKeys.SAVEABLE_OBJECTS:  # the SaverDef names the nodes that save and restore these
            logging.warning(f"The collection {name!r} is left out of the MetaGraph, which has no place for its items: {error}")
        return None
    return made


def _is(item, kind):
    if not isinstance(item, kind):
        raise TypeError(f"{item!r} stands beside numbers of another kind")
    return True


def _element_name(item):
    """The name by which as_graph_element finds a tensor, an operation or a variable (its tensor)."""
    if not hasattr(item, "graph") or item.graph is None:
        raise TypeError(f"{item!r} is not in a graph")
    return item.graph.as_graph_element(item.name).name


def export_meta_graph(filename: PathLike | None = None, meta_info_def: MetaGraphDef.MetaInfoDef | None = None,
                      graph_def: GraphDef | None = None, saver_def: SaverDef | None = None,
                      collection_list: Sequence[str] | None = None, as_text: bool = False, graph: Graph | None = None,
                      export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
                      strip_default_attrs: bool = False, save_debug_info: bool = False,
                      **kwargs: object) -> messages.MetaGraphDef:
    """The MetaGraphDef of a graph: its nodes, its collections and its saver.

    Parameters
    ----------
    filename : str or path, optional
        A file that it is written to as well.
    meta_info_def : MetaGraphDef.MetaInfoDef, optional
        What the message begins with.
    graph_def : GraphDef, optional
        The nodes; those of `graph` by default.
    saver_def : SaverDef, optional
        The saver.
    collection_list : list of str, optional
        The collections; all of them by default.
    as_text : bool
        Whether the file is text, or the message's bytes.
    graph : Graph, optional
        The default graph by default.
    export_scope : str, optional
        Not there yet.
    clear_devices : bool
        Whether nodes forget their devices.
    clear_extraneous_savers, strip_default_attrs, save_debug_info : bool
        Of no effect here.
    **kwargs
        `saver`: a Saver, for its saver_def.

    Returns
    -------
    MetaGraphDef
        The message.

    Raises
    ------
    NotImplementedError
        If `export_scope` is given.
    TypeError
        If there are other arguments.

    Examples
    --------
    >>> v = tw.Variable(1.0, name="v")
    >>> made = tw.train.export_meta_graph()
    >>> "v" in [node.name for node in made.graph_def.node], sorted(made.collection_def)
    (True, ['trainable_variables', 'variables'])
    """
    saver = kwargs.pop("saver", None)
    if kwargs:
        raise TypeError(f"export_meta_graph() got an unexpected keyword argument '{sorted(kwargs)[0]}'")
    if export_scope is not None:
        raise NotImplementedError("export_meta_graph of one scope is not there yet")
    graph = graph or graph_module.get_default_graph()
    made = messages.MetaGraphDef()
    if meta_info_def is not None:
        made.meta_info_def.CopyFrom(meta_info_def)
    made.meta_info_def.tensorflow_version = "1.15.0"
    made.graph_def.ParseFromString(graph._export(False) if graph_def is None else graph_def.SerializeToString())
    made.meta_info_def.stripped_op_list.CopyFrom(definitions_of(made.graph_def))
    if clear_devices:
        for node in made.graph_def.node:
            node.device = ""
    saver_def = saver.to_proto() if saver is not None else saver_def
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    for name in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = graph.get_collection(name)
        definition = _collection(name, items) if items else None
        if definition is not None:
            made.collection_def[name] = definition
    if filename is not None:
        write_bytes(filename, str(made).encode() if as_text else made.SerializeToString())
    return made


def write(filename: PathLike, graph: Graph, saver: Saver | None = None) -> None:
    """Writes the MetaGraphDef of a graph and its saver."""
    write_bytes(filename, export_meta_graph(graph=graph, saver=saver).SerializeToString())


def write_bytes(filename: PathLike, data: bytes) -> None:
    """Writes a file anew."""
    with open(filename, "wb") as f:
        f.write(data)


def write_graph(graph_or_graph_def: Graph | GraphDef, logdir: PathLike, name: str, as_text: bool = True) -> str:
    """Writes the GraphDef of a graph to a file.

    Parameters
    ----------
    graph_or_graph_def : Graph or GraphDef
        The graph.
    logdir : str or path
        The directory, which is made.
    name : str
        Name of the file.
    as_text : bool
        Whether it is text, or the message's bytes.

    Returns
    -------
    str
        The path of the file.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = tw.train.write_graph(tw.get_default_graph(), folder, "graph.pbtxt")
    ...     os.path.basename(path), os.path.exists(path)
    ('graph.pbtxt', True)
    """
    logdir = os.fsdecode(logdir)
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    if isinstance(graph_or_graph_def, graph_module.Graph):
        data = graph_or_graph_def._export(as_text)
    else:
        data = str(graph_or_graph_def).encode() if as_text else graph_or_graph_def.SerializeToString()
    with open(path, "wb") as f:
        f.write(data)
    return path
