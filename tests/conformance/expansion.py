# SPDX-License-Identifier: Apache-2.0
"""All generated requests: cases in each of their types, and each case spoiled in every way that is known."""
import collections
import importlib

import numpy as np
from cases import FACTS, Built, kernels, type_choices

import thalweg as tw
from thalweg.graph import graph as graph_module

TABLES = ("array", "math", "nn", "state", "trees", "sparse", "strings", "containers", "random_numbers", "linalg", "maps", "matrices", "quantized", "vision",
          "pictures", "sounds_and_files", "files", "ragged", "models", "parsing")
Item = collections.namedtuple("Item", "key case types make releases derivatives")


def implemented():
    return {op.name for op in tw.messages.OpList.FromString(graph_module.environment().op_list(True)).op}


def all_cases():
    """(number within the operation, case)"""
    there, seen = implemented(), collections.Counter()
    tables = [importlib.import_module(f"tables.{t}").CASES for t in TABLES]
    made_simply, at_kinks = importlib.import_module("tables.simple").made(there), importlib.import_module("tables.kinks").CASES
    for made in [*(c for t in tables for c in t), *made_simply, *at_kinks]:
        if made.op in there:
            yield seen[made.op], made
            seen[made.op] += 1


def has_types(op, types, release):
    """Whether the release has a CPU kernel of these types."""
    return any(all(t in kernel.get(a, [t]) for a, t in types.items()) for kernel in kernels(op, release))


def has_attrs(made, types, release):
    if release != "1.15":
        return True
    old = FACTS[made.op].get("was_1.15", {}).get("attrs") or {}
    defaults = {a["name"]: a.get("default") for a in FACTS[made.op]["attrs"]}
    if any(a in old and old[a] is None and v != defaults[a] for a, v in {**types, **made.attrs}.items()):
        return False  # an attribute that came later
    return all("allowed" not in old.get(a, {}) or v in old[a]["allowed"] for a, v in {**types, **{k: v for k, v in made.attrs.items() if isinstance(v, str)}}.items() if old.get(a))


def releases_of(made, types, ops):
    return [r for r in ("2.21", "1.15") if all(r in FACTS[op]["in"] for op in ops) and has_types(made.op, {a: t for a, t in types.items()}, r) and has_attrs(made, types, r)]


def items(chosen=None):
    for number, made in all_cases():
        choices = type_choices(made)
        if number and "all types" not in made.options:  # the first case of each operation has all types
            choices = choices[:1] + [t for t in choices[1:] if t == {**choices[0], **{a: "float64" for a in ("T", "dtype", "Tparams") if a in t}}]
        for types in choices:
            key = f"{made.op}/{number}/{','.join(types.values())}"
            if chosen and not chosen(key):
                continue
            real = types.get("T") or types.get("dtype") or types.get("Tparams") or next(iter(types.values()), "float32")
            derivatives = FACTS[made.op]["gradient"] == "yes" and real in ("float64", "complex128", "float32") and "shapes" not in made.options
            if "awkward" in {getattr(i, "way", "") for i in made.inputs}:
                derivatives = False
            if "derivatives" in made.options and not derivatives:
                continue
            yield Item(key, made, types, lambda made=made, types=types, key=key: Built(made, types, key), None, derivatives)


def first(value):
    return value[0] if value.ndim and value.shape[0] else None


def filled(number):
    return lambda v: np.full(v.shape, number).astype(v.dtype) if v.dtype.kind == "i" and v.size else None


# How a value that fits is spoiled; None: not this one.
CHANGES = {
    "rank+1": lambda v: v[None], "rank-1": first, "scalar": lambda v: v.reshape(-1)[0] if v.ndim and v.size else None,
    "empty": lambda v: v[:0] if v.ndim and v.shape[0] else None, "longer": lambda v: np.concatenate([v, v[:1]]) if v.ndim and v.shape[0] else None,
    "negative": filled(-7), "beyond": filled(77), "huge": lambda v: np.full(v.shape, np.iinfo(v.dtype).max, v.dtype) if v.dtype.kind == "i" and v.size else None,
}
ATTR_CHANGES = {"negative": lambda v: -3, "zero": lambda v: 0, "huge": lambda v: 1 << 40}


def spoiled(chosen=None):
    """Bad input for the first case of each operation, in its usual types: values of other ranks and sizes, and other numbers."""
    done = collections.Counter()
    for number, made in all_cases():
        if done[made.op] >= 1 or not type_choices(made) or "2.21" not in FACTS[made.op]["in"]:
            continue
        done[made.op] += 1
        if "waits" in made.options or (chosen and not chosen(f"{made.op}/{number}/bad")):
            continue
        types = type_choices(made)[0]
        plain = Built(made, types, made.op, fed=True)
        for i, (_, value) in enumerate(plain.values):
            for name, change in CHANGES.items():
                if change(value) is None:
                    continue
                key = f"{made.op}/{number}/bad/{i}:{name}"
                yield Item(key, made, types, lambda made=made, types=types, i=i, change=change: Built(made, types, made.op, fed=True, change=(i, lambda v: np.asarray(change(v)))), ["2.21"], False)
        counts = {o.get("number_attr") for o in FACTS[made.op]["inputs"] + FACTS[made.op]["outputs"]}
        for a in FACTS[made.op]["attrs"]:
            if a["name"] in counts:
                continue
            value = made.attrs.get(a["name"], a.get("default"))
            if a["type"] not in ("int", "list(int)") or value is None or a["name"] in ("seed", "seed2") or (a["type"] == "list(int)" and not value):
                continue
            for name, change in ATTR_CHANGES.items():
                key = f"{made.op}/{number}/bad/{a['name']}:{name}"
                other = made._replace(attrs={**made.attrs, a["name"]: change(value) if a["type"] == "int" else [*value[:-1], change(value[-1])]})
                yield Item(key, other, types, lambda other=other, types=types: Built(other, types, other.op, fed=True), ["2.21"], False)
