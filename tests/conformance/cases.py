# SPDX-License-Identifier: Apache-2.0
"""Cases of operations: what is fed to one node, and the GraphDef that holds it. No engine is asked to make it.

    case("ConcatV2", L(num(2, 3), num(2, 3)), 1)         # values of the node's element type; a literal is a constant
    case("ScatterSub", ref(num(4, 2)), [1, 3], num(2, 2))  # a variable, read after the node ran
    case("TensorListStack", N("TensorListFromTensor", num(3, 2), [2], element_dtype="$element_dtype"), [2])

Attributes that are not given are those of the types, or have their defaults. A string "$A" is the type of attribute A of the node.
"""
import collections
import json
import os
import zlib

import ml_dtypes
import numpy as np

import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "string": object, "qint8": np.int8, "quint8": np.uint8, "qint32": np.int32, "qint16": np.int16,
         "quint16": np.uint16, "bool": np.bool_}
PREFERRED = ("float32", "int32", "int64", "complex64", "float64", "bool", "string", "uint8", "qint8", "quint8", "qint32")
ANY_TYPE = ("float32", "float64", "int32", "int64", "bool", "string", "complex64", "float16", "uint8")
NARROW = ("float8", "float4", "int4", "uint4", "int2", "uint2")  # types that no model computes with


def is_fed(kind):
    return kind not in ("resource", "variant") and not kind.startswith(NARROW)


def numpy_type(kind):
    return NUMPY.get(kind) or np.dtype(kind)


def load_facts():
    with open(os.path.join(ROOT, "tools", "tf_facts", "ops.jsonl"), encoding="utf-8") as f:
        return {op["name"]: op for op in map(json.loads, f)}


FACTS = load_facts()


class Gen:
    """Numbers of a shape; `way`: which."""

    def __init__(self, way, shape):
        self.way, self.shape = way, tuple(shape)

    def make(self, kind, random):
        dtype, way, shape = numpy_type(kind), self.way, self.shape
        if kind == "string":
            return np.array([b"s%d" % v for v in random.randint(0, 4, int(np.prod(shape)))], object).reshape(shape)
        if kind == "bool":
            return np.asarray(random.rand(*shape) < 0.5)
        if np.dtype(dtype).kind in "iu":
            low = 1 if way in ("pos", "unit") else 0 if np.dtype(dtype).kind == "u" else -9
            return self.awkward(random.randint(low, 10, shape).astype(dtype), [np.iinfo(dtype).max, np.iinfo(dtype).min, 0])
        if way in ("pos", "unit"):
            made = random.uniform(0.1, 0.9, shape)
        elif way == "spread":  # no two alike, so that the largest is nobody's choice
            made = (random.permutation(int(np.prod(shape))) * 0.37 - 0.18 * np.prod(shape)).reshape(shape)
        else:
            made = random.standard_normal(shape) * 2
        if np.dtype(dtype).kind == "c":
            made = made + 1j * random.standard_normal(shape)
        made = self.awkward(np.asarray(made), [0.0, -0.0, 1.0, np.nan, np.inf, -np.inf] if np.dtype(dtype).kind != "c" else [0.0, 1.0])
        return np.asarray(made).astype(dtype)

    def awkward(self, made, values):
        made = np.array(made)
        if self.way == "awkward" and made.size >= 7:
            with np.errstate(invalid="ignore"):
                made.reshape(-1)[:len(values)] = np.array(values).astype(made.dtype)
        return made


def num(*shape):
    return Gen("num", shape)


def pos(*shape):
    return Gen("pos", shape)


def awk(*shape):
    return Gen("awkward", shape)


def spread(*shape):
    return Gen("spread", shape)


class L(list):
    """The elements of an input that is a list."""

    def __init__(self, *elements):
        super().__init__(elements)


Typed = collections.namedtuple("Typed", "kind spec")  # an element of a list of types
Fed = collections.namedtuple("Fed", "spec")  # a literal that is fed instead of constant
Variable = collections.namedtuple("Variable", "spec kind")  # kind: "ref" or "resource"


def ref(spec):
    return Variable(spec, "ref")


def res(spec):
    return Variable(spec, "resource")


class N:
    """Another node; n[1] is its second output."""

    def __init__(self, op, *inputs, output=0, after=(), **attrs):
        self.op, self.inputs, self.attrs, self.output, self.after = op, inputs, attrs, output, after

    def __getitem__(self, output):
        made = N(self.op, *self.inputs, output=output, after=self.after, **self.attrs)
        made.same_as = getattr(self, "same_as", self)
        return made


Case = collections.namedtuple("Case", "op inputs attrs options after_all")


def case(op, *inputs, options=(), after_all=(), **attrs):
    """after_all: nodes that run before this one; options: words of OPTIONS in compare.py, which say how it is compared."""
    return Case(op, inputs, attrs, options, after_all)


def needed(facts, attr):
    """Whether a node of either release must have this attribute: without a default in one of them."""
    old = facts.get("was_1.15", {}).get("attrs") or {}
    return "default" not in attr or "default" not in (old.get(attr["name"]) or attr)


class Built:
    """A case as GraphDefs and feeds."""

    def __init__(self, case, types, seed, fed=False, change=None):
        """types: {attribute: type} of the node; fed: constants are fed too, all of unknown shapes unless "shaped"; change: (number of the value, function)."""
        types = {**types, **{a["name"]: case.attrs[a["name"]] for a in FACTS[case.op]["attrs"] if a["type"] == "type" and a["name"] in case.attrs}}
        self.case, self.fed, self.change = case, fed, change
        self.attrs_of, self.late, self.values = {}, [], []
        self.random = np.random.RandomState(zlib.crc32(seed.encode()))
        self.graph, self.feeds, self.init, self.reads, self.by = tw.GraphDef(), {}, [], [], []
        self.made, self.count = {}, 0
        self.ops = set()
        self.node("op", case.op, case.inputs, case.attrs, types)
        for other in case.after_all:
            self.graph.node[self.at].input.append("^" + self.source(other, None, types, {}).partition(":")[0])
        self.fetches = self.reads + [f"op:{i}" for i, kind in enumerate(self.outputs(case.op, self.attrs_of["op"])) if is_fed(kind)]
        for name in self.late:
            self.graph.node.add().CopyFrom(name)
        self.graph.versions.producer = min(FACTS[o]["flags"].get("deprecated", {}).get("version", 28) for o in self.ops) - 1

    def node(self, name, op, inputs, attrs, types, after=()):
        facts = FACTS[op]
        self.ops.add(op)
        known = {a["name"]: a.get("default") for a in facts["attrs"]}
        known.update(types if name == "op" else {})
        known.update({k: types.get(v[1:], v) if isinstance(v, str) and v.startswith("$") else v for k, v in attrs.items()})
        sources = []
        for arg, spec in zip(facts["inputs"], inputs):
            if "type_list_attr" in arg:
                known[arg["type_list_attr"]] = [e.kind for e in spec]
            if "number_attr" in arg:
                known[arg["number_attr"]] = len(spec)
            for e in spec if isinstance(spec, L) else [spec]:
                kind = arg.get("type") or known.get(arg.get("type_attr"))
                if isinstance(e, Typed):
                    kind, e = e.kind, e.spec
                sources.append(self.source(e, kind, types, arg))
        self.attrs_of[name] = known
        sources += ["^" + self.source(other, None, types, {}).partition(":")[0] for other in after]
        if name == "op":
            self.at = len(self.graph.node)
        made = self.graph.node.add()
        made.name, made.op = name, op
        made.input.extend(sources)
        for a in facts["attrs"]:
            value = known.get(a["name"])
            if needed(facts, a) or isinstance(value, np.ndarray) or value != a["default"]:
                encode(made.attr[a["name"]], a["type"], value)
        return name

    def source(self, spec, kind, types, arg):
        """The name of the tensor."""
        if isinstance(spec, N):
            first = getattr(spec, "same_as", spec)
            if id(first) not in self.made:
                self.count += 1
                self.made[id(first)] = self.node(f"n{self.count}_{spec.op}", spec.op, spec.inputs, spec.attrs, types, spec.after)
            return f"{self.made[id(first)]}:{spec.output}"
        if isinstance(spec, Variable):
            return self.variable(spec, kind if kind != "resource" else self.held_type(types))
        self.count += 1
        name = f"x{self.count}"
        literal = not isinstance(spec, Gen)
        if isinstance(spec, Fed):
            literal, spec = False, spec.spec
        if isinstance(spec, Gen):
            value = spec.make(kind, self.random)
        else:
            value = np.array(spec, object) if kind == "string" else np.asarray(spec).astype(numpy_type(kind))
        if self.change and self.change[0] == len(self.values):
            value = self.change[1](value)
        self.values.append((kind, value))
        node = self.graph.node.add()
        node.name = name
        node.attr["dtype"].type = type_number(kind)
        if literal and not self.fed:
            node.op = "Const"
            fill_tensor(node.attr["value"].tensor, value, kind)
            return name
        node.op = "Placeholder"
        set_shape(node.attr["shape"].shape, None if self.fed and "shaped" not in self.case.options else value.shape)
        self.feeds[f"{name}:0"] = (kind, value)
        if (kind.startswith("float") or kind.startswith("complex")) and not arg.get("is_ref"):
            self.by.append(f"{name}:0")
        return name

    def held_type(self, types):
        """The type of a resource variable that is an input."""
        if "int64 state" in self.case.options:
            return "int64"
        return next((types[a] for a in ("dtype", "T", "Tparams") if a in types), "float32")

    def variable(self, spec, kind):
        """A variable that is set before the step and read after the node."""
        self.count += 1
        name = f"v{self.count}"
        literal = spec.spec.spec if isinstance(spec.spec, Fed) else spec.spec
        value = literal.make(kind, self.random) if isinstance(literal, Gen) else np.asarray(literal).astype(numpy_type(kind))
        resource = spec.kind == "resource"
        node, start, given = (self.graph.node.add() for _ in range(3))
        node.name, node.op = name, "VarHandleOp" if resource else "VariableV2"
        node.attr["dtype"].type = type_number(kind)
        set_shape(node.attr["shape"].shape, value.shape)
        given.name, given.op = f"{name}_value", "Placeholder"
        given.attr["dtype"].type = type_number(kind)
        set_shape(given.attr["shape"].shape, value.shape)
        self.feeds[f"{name}_value:0"] = (kind, value)
        start.name, start.op = f"{name}_start", "AssignVariableOp" if resource else "Assign"
        start.attr["dtype" if resource else "T"].type = type_number(kind)
        start.input.extend([name, f"{name}_value"])
        self.init.append(f"{name}_start")
        read = tw.NodeDef()
        read.name, read.op = f"{name}_read", "ReadVariableOp" if resource else "Identity"
        read.attr["dtype" if resource else "T"].type = type_number(kind)
        read.input.extend([name, "^op"])
        if "no read" in self.case.options:
            return name
        self.late.append(read)
        self.reads.append(f"{name}_read:0")
        if resource:
            node.attr["shared_name"].s = name.encode()
        return name

    def outputs(self, op, attrs):
        """The types of a node's outputs."""
        for arg in FACTS[op]["outputs"]:
            if "type_list_attr" in arg:
                yield from attrs[arg["type_list_attr"]]
            else:
                yield from [arg.get("type") or attrs[arg["type_attr"]]] * (attrs[arg["number_attr"]] if "number_attr" in arg else 1)

    def request(self, key, derivatives=False, relaxed=False):
        """(header, blocks) for a worker."""
        from wire import pack_array
        blocks = [self.graph.SerializeToString()]
        made = {"id": key, "graph": 0, "init": self.init, "fetches": self.fetches, "targets": [] if self.fetches else ["op"], "shapes": not self.fed,
                "feeds": {n: pack_array(v, kind, blocks) for n, (kind, v) in self.feeds.items()}}
        if derivatives and self.by:
            made["by"] = self.by
            made["magnitudes"] = "signs" in self.case.options
        if relaxed:
            made["relaxed"] = []
            for way in ("partial", "unknown"):
                made["relaxed"].append(len(blocks))
                blocks.append(self.relaxed(way))
        return made, blocks

    def relaxed(self, way):
        """The graph with placeholders of less known shapes."""
        graph = tw.GraphDef()
        graph.CopyFrom(self.graph)
        for node in graph.node:
            if node.op == "Placeholder":
                shape = node.attr["shape"].shape
                rank = len(shape.dim)
                if way == "unknown":
                    set_shape(shape, None)
                elif rank:
                    shape.dim[0].size = -1
        return graph.SerializeToString()


def set_shape(message, shape):
    made = tw.messages.TensorShapeProto()
    if shape is None:
        made.unknown_rank = True
    else:
        for d in shape:
            made.dim.add().size = -1 if d is None else int(d)
    message.CopyFrom(made)


def type_number(kind):
    return tw.as_dtype({"float16": "half"}.get(kind, kind)).as_datatype_enum


def fill_tensor(message, value, kind):
    value = np.asarray(value)
    message.dtype = type_number(kind)
    for d in value.shape:
        message.tensor_shape.dim.add().size = d
    if kind == "string":
        message.string_val.extend([v if isinstance(v, bytes) else str(v).encode() for v in value.reshape(-1).tolist()])
    else:
        message.tensor_content = np.ascontiguousarray(value).tobytes()


def encode(message, kind, value):
    """An attribute's value."""
    listed = kind.startswith("list(")
    if listed:
        message.list.SetInParent() if hasattr(message.list, "SetInParent") else None
        kind = kind[5:-1]
        for v in value:
            target = {"int": "i", "float": "f", "bool": "b", "string": "s", "type": "type"}.get(kind)
            if target:
                getattr(message.list, target).append(v.encode() if kind == "string" and isinstance(v, str) else type_number(v) if kind == "type" else v)
            elif kind == "shape":
                set_shape(message.list.shape.add(), v)
            elif kind == "func":
                message.list.func.add().name = v
            else:
                raise ValueError(kind)
    elif kind == "type":
        message.type = type_number(value)
    elif kind == "shape":
        set_shape(message.shape, value)
    elif kind == "func":
        message.func.name = value
    elif kind == "tensor":
        fill_tensor(message.tensor, value, {"float16": "float16"}.get(value.dtype.name, value.dtype.name))
    elif kind == "string":
        message.s = value.encode() if isinstance(value, str) else value
    else:
        setattr(message, {"int": "i", "float": "f", "bool": "b"}[kind], value)


def kernels(op, release):
    """[{attribute: types}] of the release's CPU kernels; empty where it has none."""
    facts = FACTS[op]
    if release not in facts["in"]:
        return []
    found = facts["cpu_types"]
    if release == "1.15":
        found = facts.get("was_1.15", {}).get("cpu_types", found)
    return found or []


def type_choices(made):
    """[{type attribute: type}]: each attribute in each of its types, the others as usual."""
    facts = FACTS[made.op]
    kinds = [a for a in facts["attrs"] if a["type"] == "type" and a["name"] not in made.attrs]
    found = []
    for kernel in kernels(made.op, "2.21") or kernels(made.op, "1.15") or [{}]:
        choices = {}
        for a in kinds:
            types = kernel.get(a["name"]) or a.get("allowed") or (ANY_TYPE if "default" not in a else [a["default"]])
            choices[a["name"]] = [t for t in types if is_fed(t)]
        if not all(choices.values()):
            continue
        usual = {a["name"]: a["default"] if a.get("default") in choices[a["name"]] else
                 next((t for t in PREFERRED if t in choices[a["name"]]), choices[a["name"]][0]) for a in kinds}
        found.append(usual)
        found += [dict(usual, **{name: t}) for name, types in choices.items() for t in types]
    unique = {json.dumps({**c, **{k: v for k, v in made.attrs.items() if isinstance(v, str) and v in PREFERRED}}, sort_keys=True): c for c in found}
    return list(unique.values())
