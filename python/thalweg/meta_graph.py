# SPDX-License-Identifier: Apache-2.0
"""MetaGraphDef: a graph with its collections, as files beside checkpoints have it."""
import functools
import os

from thalweg import graph as graph_module
from thalweg import messages
from thalweg.graph import GraphKeys
from thalweg.variables import Variable


def _collection(items):
    """A CollectionDef, or None for items that have no message."""
    made = messages.CollectionDef()
    if all(isinstance(i, Variable) for i in items):
        made.bytes_list.value.extend(i.to_proto().SerializeToString() for i in items)
    elif all(hasattr(i, "graph") and isinstance(getattr(i, "name", None), str) for i in items):
        made.node_list.value.extend(i.name for i in items)
    elif all(isinstance(i, bool) or isinstance(i, int) for i in items):
        made.int64_list.value.extend(int(i) for i in items)
    elif all(isinstance(i, float) for i in items):
        made.float_list.value.extend(items)
    elif all(isinstance(i, (str, bytes)) for i in items):
        made.bytes_list.value.extend(i.encode() if isinstance(i, str) else i for i in items)
    else:
        return None
    return made


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, as_text=False,
                      graph=None, export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False, **kwargs):
    """The MetaGraphDef of a graph, also written to `filename`. `saver`, a keyword, gives the saver_def."""
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
    made.meta_info_def.stripped_op_list.MergeFromString(_definitions_of(made.graph_def))
    if clear_devices:
        for node in made.graph_def.node:
            node.device = ""
    saver_def = saver.to_proto() if saver is not None else saver_def
    if saver_def is not None:
        made.saver_def.CopyFrom(saver_def)
    for name in graph.get_all_collection_keys() if collection_list is None else collection_list:
        items = graph.get_collection(name)
        definition = _collection(items) if items else None
        if definition is not None:
            made.collection_def[name] = definition
    if filename is not None:
        write_bytes(filename, str(made).encode() if as_text else made.SerializeToString())
    return made


@functools.cache
def _definitions():
    """{operation: its OpDef as a field of an OpList}, cut without reading more than the names."""
    data, place, found = graph_module.environment().op_list(False), 0, {}
    while place < len(data):
        start = place
        _, place = messages._read_varint(data, place)
        size, place = messages._read_varint(data, place)
        length, begin = messages._read_varint(data, place + 1)  # the name comes first
        found[data[begin:begin + length].decode()] = data[start:place + size]
        place += size
    return found


def _definitions_of(graph_def):
    """An OpList of what the graph uses: other releases leave out attributes that they do not know, where these are defaults."""
    used = {n.op for n in graph_def.node} | {n.op for f in graph_def.library.function for n in f.node_def}
    return b"".join(_definitions()[op] for op in sorted(used) if op in _definitions())


def write(filename, graph, saver=None):
    write_bytes(filename, export_meta_graph(graph=graph, saver=saver).SerializeToString())


def write_bytes(filename, data):
    with open(filename, "wb") as f:
        f.write(data)


def _restored(graph, definition, prefix):
    """Items of a collection as objects of the graph."""
    kind = definition.WhichOneof("kind")
    if kind == "node_list":
        return [graph.as_graph_element(prefix + n) for n in definition.node_list.value]
    return list(getattr(definition, kind).value) if kind else []


def _variable(graph, data, prefix):
    proto = messages.VariableDef.FromString(data)
    handle = graph.get_tensor_by_name(prefix + proto.variable_name)
    value = graph.get_tensor_by_name(prefix + proto.snapshot_name)
    made = Variable._of(handle, graph.get_operation_by_name(prefix + proto.initializer_name), value)
    made._trainable = proto.trainable
    return made


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds the graph and its collections to the default graph; gives a Saver of its variables."""
    from thalweg.saver import Saver
    given = meta_graph_or_file
    if not isinstance(given, messages.Message):
        if not os.path.exists(given):
            raise OSError(f"File {given} does not exist.")
        with open(given, "rb") as f:
            given = messages.MetaGraphDef.FromString(f.read())
    import_parts(given, clear_devices, import_scope)
    return Saver(name="save") if graph_module.get_collection(GraphKeys.GLOBAL_VARIABLES) else None


def import_parts(given, clear_devices=False, import_scope=None):
    """Adds the graph and the collections of a MetaGraphDef to the default graph."""
    graph = graph_module.get_default_graph()
    if clear_devices:
        for node in given.graph_def.node:
            node.device = ""
    graph_module.import_graph_def(given.graph_def, name=import_scope or "")
    prefix = import_scope + "/" if import_scope else ""
    variables = {}
    for name in sorted(given.collection_def):
        definition = given.collection_def[name]
        if definition.WhichOneof("kind") == "bytes_list" and name in (
                GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES, GraphKeys.LOCAL_VARIABLES,
                GraphKeys.MODEL_VARIABLES, GraphKeys.MOVING_AVERAGE_VARIABLES, GraphKeys.GLOBAL_STEP):
            items = []
            for data in definition.bytes_list.value:
                if data not in variables:
                    variables[data] = _variable(graph, data, prefix)
                items.append(variables[data])
        else:
            items = _restored(graph, definition, prefix)
        for item in items:
            graph.add_to_collection(name, item)
