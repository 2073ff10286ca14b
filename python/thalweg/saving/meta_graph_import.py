# SPDX-License-Identifier: Apache-2.0
"""MetaGraphDefs into the default graph, with their collections."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from thalweg import messages
from thalweg.control import queue_runner  # noqa: F401  (brings what items of its collection are)
from thalweg.graph import graph as graph_module, proto_functions
from thalweg.graph.graph import GraphKeys, prepend_name_scope
from thalweg.graph.graph_import import import_graph_def
from thalweg.saving.saver import Saver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.base.typing import PathLike
    from thalweg.graph.tensor import Tensor
    from thalweg.messages import MetaGraphDef


def _restored(graph, name, definition, import_scope, variables):
    """Items of a collection as objects of the graph; `variables`: those that are made already."""
    kind = definition.WhichOneof("kind")
    listed = list(getattr(definition, kind).value) if kind else []
    from_proto = proto_functions.get_from_proto_function(name)
    if from_proto and kind == "bytes_list":
        known = variables if name in proto_functions.VARIABLES else {}
        for data in listed:
            if data not in known:
                proto = proto_functions.get_collection_proto_type(name).FromString(data)
                known[data] = from_proto(proto, import_scope=import_scope)
        return [known[data] for data in listed]
    if kind == "node_list":
        return [graph.as_graph_element(prepend_name_scope(n, import_scope)) for n in listed]
    return listed


def import_meta_graph(meta_graph_or_file: PathLike | MetaGraphDef, clear_devices: bool = False, import_scope: str | None = None,
                      *, input_map: Mapping[str, Tensor] | None = None, **kwargs: object) -> Saver | None:
    """Adds a graph and its collections to the default graph.

    Parameters
    ----------
    meta_graph_or_file : MetaGraphDef or str or path
        What export_meta_graph() made, or wrote.
    clear_devices : bool
        Whether nodes forget their devices.
    import_scope : str, optional
        Scope to import into.
    input_map : dict, optional
        {tensor of the file: tensor of the graph that its readers read instead}.
    **kwargs
        What does not count here.

    Returns
    -------
    Saver or None
        The saver of the graph, or one of its variables; None where there are none.

    Raises
    ------
    OSError
        If there is no such file.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with tw.Session() as sess:
    ...         v = tw.Variable(5.0, name="v")
    ...         sess.run(v.initializer)
    ...         path = tw.train.Saver().save(sess, os.path.join(folder, "model"))
    ...     with tw.Graph().as_default(), tw.Session() as other:
    ...         tw.train.import_meta_graph(path + ".meta").restore(other, path)
    ...         print(other.run("v:0"))
    5.0
    """
    given = meta_graph_or_file
    if not isinstance(given, messages.Message):
        if not os.path.exists(given):
            raise OSError(f"File {given} does not exist.")
        with open(given, "rb") as f:
            given = messages.MetaGraphDef.FromString(f.read())
    import_parts(given, clear_devices, import_scope, input_map)
    if given.HasField("saver_def"):
        return Saver(saver_def=given.saver_def, name=import_scope)
    return Saver() if graph_module.get_collection(GraphKeys.GLOBAL_VARIABLES) else None


def import_parts(given: MetaGraphDef, clear_devices: bool = False, import_scope: str | None = None,
                 input_map: Mapping[str, Tensor] | None = None) -> None:
    """Adds the graph and the collections of a MetaGraphDef to the default graph."""
    graph = graph_module.get_default_graph()
    if clear_devices:
        for node in given.graph_def.node:
            node.device = ""
    producer = given.meta_info_def.stripped_op_list
    # Names in collections count from where the nodes come to lie: within the scope that is open, beside a scope of the same name.
    inside = graph.unique_name(import_scope, mark_as_used=False) if import_scope else graph.get_name_scope()
    import_graph_def(given.graph_def, input_map, name=import_scope or (f"{inside}/" if inside else ""),
                                  producer_op_list=producer if len(producer.op) else None)
    variables = {}
    for name in sorted(given.collection_def):
        for item in _restored(graph, name, given.collection_def[name], inside, variables):
            graph.add_to_collection(name, item)
