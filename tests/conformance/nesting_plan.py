# SPDX-License-Identifier: Apache-2.0
"""Plans of random programs: blocks of statements in each other, as plain lists and dictionaries. Python 3.7 and later.

    plan = random_plan(7)
    plan["form"]       # "v1", "v2": control flow of the graph itself; "function": all of it in one tf.function
    plan["body"]       # [{"do": "while", "trips": "fed", "body": [...]}, {"do": "write", ...}, ...]
    for smaller in smaller_plans(plan): ...  # each a step simpler

Every statement takes the vector x and makes the next one of it; `nesting_graph` says what each does.
"""
import copy
import random

FORMS = ("v1", "v2", "function")
DEPTH = 4
# How often each statement is drawn.
SIMPLE = {"math": 3, "mix": 2, "read": 3, "gather": 4, "shape": 2, "write": 3, "scatter": 2, "log": 3}
NESTING = {"while": 5, "cond": 4, "case": 2, "call": 6, "gradient": 2, "map": 1, "list": 3, "python": 3}
# What plans for a graph library of 1.15's form are made of: frames, no functions; and values that come from outside of a loop.
OLD_SIMPLE = dict(SIMPLE, outside=4)
OLD_NESTING = {"while": 6, "cond": 4, "gradient": 2, "map": 1, "list": 2, "python": 4}
# What the gradients that are written in Python do.
GRADIENTS = ("scaled", "input", "output", "loop", "cond", "python", "derived")


class _Drawn:
    def __init__(self, seed, simple=None, nesting=None):
        self.random = random.Random(seed)
        self.simple, self.nesting = simple or SIMPLE, nesting or NESTING
        self.left = self.random.randint(3, 16)  # statements

    def pick(self, values):
        return values[self.random.randrange(len(values))]

    def weighted(self, weights):
        names = sorted(weights)
        return self.random.choices(names, [weights[n] for n in names])[0]

    def block(self, depth, pure):
        made = []
        for _ in range(self.random.randint(1, 3)):
            if self.left > 0 or not made:
                made.append(self.statement(depth, pure))
        return made

    def statement(self, depth, pure):
        """Pure: without writes, and without reads of what is written elsewhere; "closed": without any of variables."""
        self.left -= 1
        weights = dict(self.simple)
        if depth < DEPTH and self.left > 0:
            weights.update({k: v * (3 if depth == 0 else 1) for k, v in self.nesting.items()})
        do = self.weighted(weights)
        if pure and do in ("write", "scatter", "log"):
            do = "gather"
        if pure == "closed" and do in ("gather", "read", "shape"):
            do = "math"
        return getattr(self, "_" + do)(depth, pure)

    def _math(self, depth, pure):
        return {"do": "math", "way": self.pick(["tanh", "sin", "scale"])}

    def _mix(self, depth, pure):
        return {"do": "mix", "level": self.random.randrange(4)}

    def _outside(self, depth, pure):
        return {"do": "outside", "level": self.random.randrange(4), "way": self.pick(["itself", "tanh"])}

    def _read(self, depth, pure):
        return {"do": "read", "of": "w" if pure else self.pick("wv")}

    def _gather(self, depth, pure):
        return {"do": "gather", "of": "e" if pure else self.pick("et"), "by": self.pick(["constant", "counter", "sign"])}

    def _shape(self, depth, pure):
        return {"do": "shape", "of": self.pick("wevt"), "way": self.pick(["size", "zeros"])}

    def _write(self, depth, pure):
        return {"do": "write", "way": self.pick(["assign", "assign_add", "assign_sub"])}

    def _scatter(self, depth, pure):
        return {"do": "scatter", "by": self.pick(["constant", "counter"])}

    def _log(self, depth, pure):
        return {"do": "log", "code": self.random.randrange(1, 100)}

    def _while(self, depth, pure):
        return {"do": "while", "trips": self.pick(["0", "1", "2", "3", "fed", "data"]), "carries": self.pick(["x", "xy", "xk"]),
                "parallel": self.pick([1, 10]), "limit": self.pick([False, False, True]), "body": self.block(depth + 1, pure)}

    def _cond(self, depth, pure):
        return {"do": "cond", "when": self.pick(["fed", "even", "positive"]), "results": self.pick([1, 2]),
                "then": self.block(depth + 1, pure), "else": self.block(depth + 1, pure)}

    def _case(self, depth, pure):
        return {"do": "case", "when": self.pick(["fed", "counter"]), "branches": [self.block(depth + 1, pure) for _ in range(self.random.randint(2, 3))]}

    def _call(self, depth, pure):
        kind = self.pick(["function"] * 5 + ["defun", "simple"])
        if kind == "simple":  # all that TensorFlow's own derivatives of a Defun know
            return {"do": "call", "kind": "defun", "results": self.pick([1, 2]), "void": False, "times": self.pick([1, 2]), "body": [self._math(0, True), self._mix(0, True)]}
        pure = pure or kind == "defun"
        return {"do": "call", "kind": kind, "results": self.pick([1, 2]), "void": not pure and self.pick([False, False, False, True]), "times": self.pick([1, 1, 2]),
                "body": self.block(depth + 1, pure)}

    def _gradient(self, depth, pure):
        return {"do": "gradient", "way": self.pick(["gradients", "tape"]), "by": self.pick(["x", "variable"]), "body": self.block(depth + 1, pure)}

    def _python(self, depth, pure):
        made = {"do": "python", "way": self.pick(["function", "function", "override"]), "grad": self.pick(GRADIENTS)}
        return dict(made, body=self.block(depth + 1, "closed")) if made["way"] == "function" else made

    def _map(self, depth, pure):
        return {"do": "map", "way": self.pick(["map", "scan"]), "body": self.block(depth + 1, pure or True)}

    def _list(self, depth, pure):
        return {"do": "list", "trips": self.pick(["2", "3", "fed"]), "reads": self.pick([False, True]), "grows": self.pick([False, True]),
                "inside": self.pick(["plain", "cond"]), "body": self.block(depth + 1, pure)}


def random_plan(seed, form=None, kind="float64"):
    drawn = _Drawn(seed)
    body = []
    while drawn.left > 0:
        body += drawn.block(0, False)
    return {"form": form or drawn.pick(FORMS), "kind": kind, "body": body}


def random_old_plan(seed, kind, form):
    drawn = _Drawn(seed, OLD_SIMPLE, OLD_NESTING)
    body = []
    while drawn.left > 0:
        body += drawn.block(0, False)
    return {"form": form, "kind": kind, "body": body}


# What is simpler, of each choice that a statement has.
SIMPLER = {"trips": "1", "carries": "x", "parallel": 1, "limit": False, "results": 1, "void": False, "times": 1, "reads": False, "grows": False, "inside": "plain",
           "by": {"gather": "constant", "scatter": "constant", "gradient": "x"}, "when": "fed", "kind": "function", "grad": "scaled", "way": {"gradient": "gradients", "map": "map", "outside": "itself"}}
BLOCKS = ("body", "then", "else")


def blocks_of(statement):
    return [statement[k] for k in BLOCKS if k in statement] + statement.get("branches", [])


def all_blocks(block):
    """This block and those in it, from outside."""
    yield block
    for statement in block:
        for inner in blocks_of(statement):
            for found in all_blocks(inner):
                yield found


def derivations_of_loops(plan):
    """How often a loop may be derived before the plan as a whole is: by a statement that holds it, or comes behind it."""
    statements = statements_of(plan)
    return statements.count("gradient") if {"while", "map", "list"} & set(statements) else 0


def statements_of(plan):
    return [s["do"] for b in all_blocks(plan["body"]) for s in b]


def size(plan):
    return sum(len(b) for b in all_blocks(plan["body"]))


def is_whole(plan):
    """Whether no block is empty: each has something to do."""
    return all(all_blocks(plan["body"])) and bool(plan["body"])


def _edits(statement):
    """What a statement may become: lists of statements."""
    yield []
    for inner in blocks_of(statement):
        yield inner
    for name, simple in SIMPLER.items():
        simple = simple.get(statement["do"]) if isinstance(simple, dict) else simple
        if name in statement and simple is not None and statement[name] != simple:
            yield [dict(statement, **{name: simple})]
    if statement["do"] in ("write", "scatter") or statement["do"] == "gather":
        yield [{"do": "math", "way": "scale"}]
    if blocks_of(statement) and any(b != [{"do": "math", "way": "scale"}] for b in blocks_of(statement)):
        for name in BLOCKS:
            if name in statement and statement[name] != [{"do": "math", "way": "scale"}]:
                yield [dict(statement, **{name: [{"do": "math", "way": "scale"}]})]


def smaller_plans(plan):
    """Plans that are one step simpler, those with most taken away first."""
    for at in range(sum(1 for _ in all_blocks(plan["body"]))):
        length = len(list(all_blocks(plan["body"]))[at])
        for i in range(length):
            made = copy.deepcopy(plan)
            block = list(all_blocks(made["body"]))[at]
            for edit in list(_edits(block[i])):
                candidate = copy.deepcopy(plan)
                inside = list(all_blocks(candidate["body"]))[at]
                inside[i:i + 1] = copy.deepcopy(edit)
                if is_whole(candidate):
                    yield candidate


def text_of(block, indent=2):
    """The plan in lines, for a report."""
    lines = []
    for statement in block:
        options = ", ".join("%s=%s" % (k, v) for k, v in sorted(statement.items()) if k not in BLOCKS + ("do", "branches"))
        lines.append(" " * indent + statement["do"] + (" (" + options + ")" if options else ""))
        for name in BLOCKS:
            if name in statement:
                lines.append(" " * indent + "  " + name + ":")
                lines += text_of(statement[name], indent + 4)
        for i, branch in enumerate(statement.get("branches", [])):
            lines.append(" " * indent + "  branch %d:" % i)
            lines += text_of(branch, indent + 4)
    return lines
