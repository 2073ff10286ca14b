# SPDX-License-Identifier: Apache-2.0
"""Messages: written in Python, read by the core, looked at and changed in Python again."""
import copy
import pickle
import random

import pytest
import thalweg as tw

from thalweg import messages
from thalweg._message_table import TABLE

MESSAGES = sorted(name for name, rows in TABLE.items() if rows.startswith("message"))
NUMBERS = {"int32": (-2**31, 2**31), "int64": (-2**63, 2**63), "uint32": (0, 2**32), "uint64": (0, 2**64), "sint32": (-2**31, 2**31),
           "sint64": (-2**63, 2**63), "fixed32": (0, 2**32), "fixed64": (0, 2**64), "sfixed32": (-2**31, 2**31), "sfixed64": (-2**63, 2**63)}


def scalar(kind, rng):
    if kind in NUMBERS:
        low, high = NUMBERS[kind]
        return rng.choice([0, 1, low, high - 1, rng.randrange(low, high)])
    if kind == "enum":
        return rng.choice([0, 1, 5, 1000])  # also numbers without a name
    return {"bool": rng.random() < 0.5, "string": rng.choice(["", "text", "grün\n"]), "bytes": rng.choice([b"", b"\xff\x00"]),
            "float": rng.choice([0.0, -0.5, float("inf")]), "double": rng.choice([0.0, 1e300])}[kind]


def fill(message, rng, depth):
    """Gives random values to a random part of the fields."""
    for field in message._ordered:
        if rng.random() < 0.4 or depth == 0 and (field.is_message or field.map):
            continue
        if field.map:
            target = getattr(message, field.name)
            for _ in range(rng.randrange(3)):
                key = scalar(field.map[0], rng)
                if field.message_class():
                    fill(target[key], rng, depth - 1)
                else:
                    target[key] = scalar(field.map[1], rng)
        elif field.is_message:
            target = getattr(message, field.name)
            for part in [target.add() for _ in range(rng.randrange(3))] if field.repeated else [target]:
                fill(part, rng, depth - 1)
                part.SetInParent()
        elif field.repeated:
            getattr(message, field.name).extend(scalar(field.kind, rng) for _ in range(rng.randrange(4)))
        else:
            setattr(message, field.name, scalar(field.kind, rng))


def look(message):
    """Asks for every value, so that none is left to the core."""
    for field, value in message.ListFields():
        parts = value.values() if field.map else value if field.repeated else [value]
        for part in parts:
            if isinstance(part, messages.Message):
                look(part)


@pytest.mark.parametrize("name", MESSAGES)
def test_every_type_is_read_as_it_was_written(name):
    rng = random.Random(name)
    for _ in range(20):
        made = messages._class(name)()
        fill(made, rng, 3)
        data = made.SerializeToString()
        read = messages._class(name).FromString(data)
        assert read.SerializeToString() == data  # by the core
        assert str(read) == str(made)
        look(read)
        assert read.SerializeToString() == data and read == made  # in Python


def node(name="n", **attrs):
    made = messages.NodeDef(name=name, op="Const", input=["a", "b"])
    for key, value in attrs.items():
        made.attr[key].i = value
    return made


def test_what_was_read_can_be_changed():
    graph = messages.GraphDef.FromString(messages.GraphDef(node=[node("x", T=1), node("y")]).SerializeToString())
    graph.node[0].attr["T"].i = 7
    graph.node[1].input.append("c")
    graph.node.add(name="z")
    graph.versions.producer = 3
    again = messages.GraphDef.FromString(graph.SerializeToString())
    assert again.node[0].attr["T"].i == 7 and again.node[1].input == ["a", "b", "c"]
    assert [n.name for n in again.node] == ["x", "y", "z"] and again.versions.producer == 3
    assert again.HasField("versions") and not again.HasField("library")
    with pytest.raises(KeyError):  # a map of texts makes none
        messages.JobDef().tasks[3]


def test_a_copy_has_its_own_values():
    read = messages.NodeDef.FromString(node("x", T=1).SerializeToString())
    for other in (copy.deepcopy(read), pickle.loads(pickle.dumps(read)), messages.NodeDef.FromString(read.SerializeToString())):
        other.attr["T"].i = 9
        assert read.attr["T"].i == 1 and other != read


def test_members_of_a_oneof_exclude_each_other_when_they_were_read():
    value = messages.AttrValue.FromString(messages.AttrValue(i=3).SerializeToString())
    value.f = 0.5
    assert value.WhichOneof("value") == "f" and value.SerializeToString() == messages.AttrValue(f=0.5).SerializeToString()
    value.list.i.append(1)
    assert value.WhichOneof("value") == "list"


def test_bytes_are_merged_into_what_is_there():
    value = node("x", T=1)
    value.experimental_debug_info.original_node_names.append("p")
    more = messages.NodeDef(name="y", input=["c"])
    more.attr["U"].s = b"u"
    more.experimental_debug_info.original_node_names.append("q")
    value.MergeFromString(more.SerializeToString())
    assert value.name == "y" and value.op == "Const" and value.input == ["a", "b", "c"]
    assert value.attr["T"].i == 1 and value.attr["U"].s == b"u"
    assert value.experimental_debug_info.original_node_names == ["p", "q"]
    value.ParseFromString(b"")
    assert value == messages.NodeDef()


def test_unknown_fields_are_kept_until_the_message_is_cleared():
    unknown = b"\x9a\x3f\x02hi"  # field 1011
    data = messages.VersionDef(producer=4).SerializeToString() + unknown
    version = messages.VersionDef.FromString(data)
    assert version.SerializeToString() == data and version.producer == 4
    version.producer = 5
    assert version.SerializeToString().endswith(unknown)
    version.Clear()
    assert version.SerializeToString() == b""


def test_a_part_that_was_asked_for_before_is_not_the_one_that_is_read():
    graph = messages.GraphDef()
    versions = graph.versions
    graph.ParseFromString(messages.GraphDef(versions=messages.VersionDef(producer=4)).SerializeToString())
    versions.producer = 9
    assert graph.versions.producer == 4


def test_a_field_is_an_attribute_of_its_class_whose_value_each_message_has():
    assert messages.NodeExecStats.node_name.number == 1
    read = messages.NodeExecStats.FromString(messages.NodeExecStats(node_name="a", thread_id=3).SerializeToString())
    assert (read.node_name, read.thread_id, read.timeline_label, list(read.output)) == ("a", 3, "", [])
    assert messages.NodeExecStats().node_name == ""
    for what in (read, messages.NodeExecStats):
        assert not hasattr(what, "node_names")


def test_two_threads_that_look_at_once_have_the_same_values():
    read = messages.NodeExecStats.FromString(messages.NodeExecStats(node_name="a").SerializeToString())
    part, others = read._part, []

    class Part:
        """Another thread looks while this one reads."""
        def values(self, readers):
            if not others:
                others.append(None)
                others[0] = read._look()
            return part.values(readers)

        def unknown(self):
            return part.unknown()
    read.__dict__["_part"] = Part()
    assert read._values is others[0]
    assert read._look() is others[0] and read.node_name == "a"


def test_what_is_taken_replaces_all():
    metadata, other = messages.RunMetadata(), messages.RunMetadata()
    other.step_stats.dev_stats.add(device="b")
    metadata.MergeFromString(b"\xfa\x3f\x01?")  # a field that the type does not have
    metadata.step_stats.dev_stats.add(device="a")
    metadata._take(other._tree())
    assert metadata == other and [d.device for d in metadata.step_stats.dev_stats] == ["b"]
    metadata._take(messages.RunMetadata()._tree())
    assert metadata.SerializeToString() == b""


def test_an_error_leaves_the_message_and_says_where():
    value = node("x")
    with pytest.raises(messages.DecodeError, match="NodeDef"):
        value.MergeFromString(b"\x0a\x05ab")
    assert value == node("x")
    with pytest.raises(TypeError):
        value.MergeFromString("text")


def test_what_does_not_fit_a_field_is_refused_by_its_name():
    node = messages.NodeDef()
    node.input.append(3)
    with pytest.raises(TypeError, match='3 has type int, but expected one of: bytes, str, for field "input"'):
        node.SerializeToString()
    attr = messages.AttrValue()
    attr.list.i.append(2**63)
    with pytest.raises(ValueError, match='Value out of range: 9223372036854775808, for field "i"'):
        attr.SerializeToString()
    graph = messages.GraphDef()
    graph.node.append(messages.AttrValue(i=3))
    with pytest.raises(TypeError, match='NodeDef, for field "node"'):
        messages.GraphDef().CopyFrom(graph)
    kept = messages.NodeDef(name="kept")
    with pytest.raises(TypeError, match="a NodeDef takes the fields of another one, not of a GraphDef"):
        kept.CopyFrom(messages.GraphDef())
    assert kept.name == "kept"


def test_the_last_member_of_a_oneof_is_written_also_when_it_was_only_filled():
    attr = messages.AttrValue()
    attr.list.i.append(3)
    attr.s = b"later"
    assert messages.AttrValue.FromString(attr.SerializeToString()).WhichOneof("value") == "s"


def test_copies_of_what_was_only_read_change_alone():
    read = messages.NodeDef.FromString(messages.NodeDef(name="n", input=["a"]).SerializeToString())
    first, second = messages.NodeDef(), messages.NodeDef(op="Add")
    first.CopyFrom(read)
    second.MergeFrom(read)
    first.input.append("b")
    assert (read.input, first.input, second.input, second.op) == (["a"], ["a", "b"], ["a"], "Add")


def test_a_message_within_itself_is_an_error():
    graph = messages.NameAttrList()
    graph.attr["f"].func.CopyFrom(messages.NameAttrList(name="g"))
    graph.attr["f"].func.attr["again"] = graph.attr["f"]
    with pytest.raises(RecursionError):
        graph.SerializeToString()


def test_messages_of_protobuf_are_copied():
    class VersionDef:  # as protobuf's own would be
        def SerializeToString(self):
            return b"\x08\x07"

    made = messages.VersionDef()
    made.CopyFrom(VersionDef())
    assert made.producer == 7
    with pytest.raises(TypeError):
        made.CopyFrom(messages.GraphDef())


def test_threads_that_ask_for_a_class_at_once_get_the_same(monkeypatch):
    """One has begun to make it when the other has it: a message of the one would be refused where the other reads."""
    field, first = messages.Field, []

    def slow(row):
        if not first:
            first.append(None)
            first[0] = messages._class("tensorflow.AttrValue")
        return field(row)
    monkeypatch.setattr(messages, "_classes", {})
    monkeypatch.setattr(messages, "Field", slow)
    made = messages._class("tensorflow.AttrValue")
    assert made is first[0] and made.ListValue is messages._class("tensorflow.AttrValue.ListValue")
    assert made(list=made.ListValue(i=[3])).list.i == [3]


def test_a_traced_step_gives_its_bytes_as_they_came():
    """Without a tree of it; what was read, or is asked for in order, says the same."""
    with tw.Session() as session:
        metadata = tw.RunMetadata()
        x = tw.placeholder(tw.float32, [2])
        session.run(tw.add(x, 2.0), {x: [1, 2]}, tw.RunOptions(trace_level=tw.RunOptions.FULL_TRACE), metadata)
    came = metadata.SerializeToString()
    assert metadata._part is not None, "nobody has looked at it"
    again = tw.RunMetadata.FromString(came)
    assert again == metadata and again.SerializeToString(deterministic=True) == metadata.SerializeToString(deterministic=True)
    assert metadata.step_stats.dev_stats[0].node_stats and metadata == again
