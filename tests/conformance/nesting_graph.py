# SPDX-License-Identifier: Apache-2.0
"""A plan of `nesting_plan` as a graph of the real TensorFlow, 1.15 or 2.21. Python 3.7 and later.

    made = NestingGraph(plan)
    made.forward             # bytes of the GraphDef without gradients
    made.definition          # with them; as `forward` where TensorFlow cannot make them (made.refused says why)
    made.gradients           # names, by made.by; None where there is no path

Effects have one order: that of the plan. In a tf.function TensorFlow's own control edges make it, elsewhere those of this file.
"""
import contextlib

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function as old_functions

WIDTH, ROWS = 3, 4
PRIME = 9973.0
CONDITIONALS = ("If", "StatelessIf", "Case", "StatelessCase")
NUMBERS = np.array([0.3, -0.8, 1.1])
OURS = tf.Graph.__module__.startswith("thalweg")  # whose loops are frames, in no order but that of this file
_REGISTERED = []  # gradients: a process has one name for each


class Place:
    """Where statements are being written: what they may read, and after what an effect comes."""

    def __init__(self, ordered, counter=None, outer=(), old=False, taped=None):
        self.ordered = ordered  # by TensorFlow
        self.taped = ordered if taped is None else taped  # gradients may be those of tapes
        self.counter, self.outer, self.last = counter, list(outer), None
        self.old = old  # loops are frames, not functions

    def inner(self, x, counter=None, ordered=None, old=None):
        return Place(self.ordered if ordered is None else ordered, self.counter if counter is None else counter, self.outer + [x],
                     self.old if old is None else old, self.taped if ordered is None else ordered)

    def iteration(self, x, counter, v):
        """Of a loop that v goes round in: its effects come after those of the iteration before."""
        made = self.inner(x, counter)
        if not self.ordered:
            made.mark(v.op)
        return made

    def mark(self, op):
        """What comes next waits for op, also where it reads op's result: TensorFlow then leaves the control edge out, and a conditional's
        branch, once lowered, waits for no more than what it reads itself."""
        with tf.control_dependencies([op]):
            self.last = tf.no_op()

    def waiting(self):
        return tf.control_dependencies([self.last] if self.last is not None and not self.ordered else [])

    def did(self, made):
        """An effect, or a call that may have some."""
        made = tf.nest.flatten(made)[0] if not isinstance(made, tf.Operation) else made
        op = made if isinstance(made, tf.Operation) else made.op
        # Of a conditional its results are waited for: what waits for itself waits, once it is lowered, for no effect of its branches.
        while op.type == "Identity" and not self.old and op.inputs[0].op.type not in CONDITIONALS:
            op = op.inputs[0].op
        if not self.ordered:
            self.mark(op)

    def after(self, x):
        """x, once the effects so far are done."""
        with self.waiting():
            return x if self.ordered or self.last is None else tf.identity(x)


class NestingGraph:
    def __init__(self, plan):
        self.plan, self.refused = plan, None
        self.blind = False  # something in it is a constant to TensorFlow's derivatives
        self.kind = tf.as_dtype(plan["kind"])
        if plan["form"] == "v2":
            tf.enable_control_flow_v2()
        else:
            tf.disable_control_flow_v2()
        with tf.Graph().as_default() as self.graph:
            self._start()

            def program(x):  # which may be called twice, to be traced and to be written out
                return self.block(plan["body"], x, Place(plan["form"] == "function" and not OURS, old=plan["form"] == "v1" or OURS,
                                                         taped=plan["form"] == "function"))

            made = (tf.function(program, autograph=False) if plan["form"] == "function" else program)(self.x)
            self.total = tf.reduce_sum(tf.tanh(made) * [1.0, 2.0, 3.0], name="total")
            self.forward = self.graph.as_graph_def(add_shapes=True).SerializeToString()
            self._differentiate()

    def _start(self):
        self.x = tf.placeholder(self.kind, [WIDTH], name="x")
        self.p = tf.placeholder(tf.bool, [], name="p")
        self.n = tf.placeholder(tf.int32, [], name="n")
        table = np.cos(np.arange(ROWS * WIDTH)).reshape(ROWS, WIDTH)
        first = {"w": NUMBERS, "e": table, "v": NUMBERS[::-1] * 0.5, "t": table * 0.5, "log": 1.0}
        self.variables = {name: tf.get_variable(name, initializer=tf.constant(value, self.kind), use_resource=True) for name, value in sorted(first.items())}
        tf.group(*[v.initializer for v in self.variables.values()], name="start")
        self.states = [tf.identity(self.variables[n].read_value(), name="now_" + n).name for n in ("v", "t", "log")]

    def _differentiate(self):
        xs = [self.x] + [self.variables[n].handle for n in ("w", "e", "v", "t")]
        self.by, self.gradients, self.definition = [x.name for x in xs], None, self.forward
        if self.blind:
            self.refused = "TensorFlow's derivative of a Defun takes loops in it for constants"
            return
        try:
            found = [g if g is None else tf.convert_to_tensor(g) for g in tf.gradients(self.total, xs)]
        except Exception as error:  # TensorFlow has limits of its own
            self.refused = "%s: %s" % (type(error).__name__, error)
            return
        self.gradients = [g if g is None else g.name for g in found]
        self.definition = self.graph.as_graph_def(add_shapes=True).SerializeToString()

    def block(self, block, x, place):
        """x after the statements and their effects."""
        for statement in block:
            x = getattr(self, "_" + statement["do"])(statement, x, place)
        return place.after(x)

    # Statements that nest nothing.

    def _math(self, s, x, place):
        return {"tanh": lambda: tf.tanh(x), "sin": lambda: tf.sin(x * 1.3), "scale": lambda: x * 0.9}[s["way"]]()

    def _mix(self, s, x, place):
        return tf.tanh(x + 0.5 * place.outer[s["level"] % len(place.outer)]) if place.outer else x * 0.8

    def _outside(self, s, x, place):
        """Nothing of the block goes on."""
        found = place.outer[s["level"] % len(place.outer)] if place.outer else self.x
        return tf.tanh(found) if s["way"] == "tanh" else found

    def _value(self, name, place, read):
        if name in "we":
            return read(self.variables[name])
        with place.waiting():
            value = read(self.variables[name])
        place.did(value)
        return value

    def _read(self, s, x, place):
        return tf.tanh(x * 0.7 + self._value(s["of"], place, lambda v: v.read_value()) * x)

    def _rows(self, by, x, place):
        counter = self.n if place.counter is None else place.counter
        return {"constant": lambda: tf.constant([1, 3]), "counter": lambda: tf.stack([counter % ROWS, 1]),
                "sign": lambda: tf.cast(x > 0.0123, tf.int32)}[by]()

    def _gather(self, s, x, place):
        rows = self._rows(s["by"], x, place)
        found = self._value(s["of"], place, lambda v: tf.gather(v, rows))
        return tf.sin(x + 0.6 * tf.reduce_sum(found, 0))

    def _shape(self, s, x, place):
        shape = tf.raw_ops.VariableShape(input=self.variables[s["of"]].handle)
        if s["way"] == "size":
            return x * (tf.cast(tf.reduce_prod(shape), self.kind) * 0.02 + 0.7)
        return x + tf.reduce_sum(tf.reshape(tf.fill(shape, tf.constant(0.01, self.kind)), [-1, WIDTH]), 0)

    def _effect(self, place, make):
        with place.waiting():
            place.did(make())

    def _write(self, s, x, place):
        self._effect(place, lambda: getattr(self.variables["v"], s["way"])(x * 0.3, read_value=False))
        return x

    def _scatter(self, s, x, place):
        rows = self._rows(s["by"], x, place)
        self._effect(place, lambda: tf.raw_ops.ResourceScatterAdd(resource=self.variables["t"].handle, indices=rows, updates=tf.stack([x * 0.2, x * 0.1])))
        return x

    def _log(self, s, x, place):
        log = self.variables["log"]
        more = s["code"] if place.counter is None else s["code"] + tf.cast(place.counter, self.kind)
        self._effect(place, lambda: log.assign((log.read_value() * 31 + more) % PRIME, read_value=False))
        return x

    # Statements that nest blocks.

    def _trips(self, trips):
        return self.n if trips == "fed" else tf.constant(int(trips))

    def _started(self, x, place):
        """(counter, x) that a loop begins with; old loops do not wait for what is before them otherwise."""
        with place.waiting():
            return (tf.identity(tf.constant(0)), tf.identity(x)) if place.old else (tf.constant(0), x)

    def _while(self, s, x, place):
        first, start = self._started(x, place)
        limit = self._trips("3" if s["trips"] == "data" else s["trips"])
        more = {"x": [], "xy": [start * 0.5], "xk": [start * 0.25]}[s["carries"]]

        def test(i, v, *rest):
            return tf.logical_and(i < limit, tf.reduce_sum(v) < 2.53) if s["trips"] == "data" else i < limit

        def body(i, v, *rest):
            made = self.block(s["body"], v, place.iteration(x, i, v))
            if s["carries"] == "xy":
                # TensorFlow's gradient of a functional loop takes a variable that became another one unchanged for a value of all iterations.
                return [i + 1, tf.tanh(made + 0.3 * rest[0]), v if place.old else tf.identity(v)]
            return [i + 1, made] if s["carries"] == "x" else [i + 1, made * tf.cos(rest[0]), rest[0]]

        with place.waiting():
            ends = tf.while_loop(test, body, [first, start] + more, parallel_iterations=s["parallel"], maximum_iterations=5 if s["limit"] else None)
        place.did(ends[1])
        return ends[1] + 0.1 * ends[2] if more else ends[1]

    def _predicate(self, when, x, place):
        if when == "even" and place.counter is not None:
            return tf.equal(place.counter % 2, 0)
        return tf.reduce_sum(x) > 0.0517 if when == "positive" else self.p

    def _cond(self, s, x, place):
        def branch(block):
            made = self.block(block, x, place.inner(x))
            return made if s["results"] == 1 else (made, tf.reduce_sum(made))

        with place.waiting():
            made = tf.cond(self._predicate(s["when"], x, place), lambda: branch(s["then"]), lambda: branch(s["else"]))
        place.did(made)
        return made if s["results"] == 1 else made[0] + 0.1 * made[1]

    def _case(self, s, x, place):
        with place.waiting():
            index = tf.identity(self.n if s["when"] == "fed" or place.counter is None else place.counter)
            made = tf.switch_case(index, [lambda b=b: self.block(b, x, place.inner(x)) for b in s["branches"]])
        place.did(made)
        return made

    def _call(self, s, x, place):
        counter = tf.constant(1) if place.counter is None else place.counter

        def body(v, i):
            made = self.block(s["body"], v, place.inner(x, counter=i, ordered=s["kind"] == "function", old=s["kind"] == "defun"))
            if s["void"]:
                return None if place.ordered else tf.constant(0)
            return made if s["results"] == 1 else (made, made * 0.3)

        if s["kind"] == "defun":
            called = old_functions.Defun(self.kind, tf.int32)(body)
        else:
            called = tf.function(body, autograph=False)
        for _ in range(s["times"]):
            with place.waiting():
                made = called(x, counter)
            self.blind |= s["kind"] == "defun" and any("While" in node.op or node.op == "Enter" for node in called.definition.node_def)
            if made is not None:
                place.did(made)
            if not s["void"]:
                x = made if s["results"] == 1 else tf.tanh(made[0] + made[1])
                x.set_shape([WIDTH])  # a Defun does not say it
        return x

    def _check_sight(self):
        if self.blind:
            raise NotImplementedError("TensorFlow's derivative of this is zero")

    def _gradient(self, s, x, place):
        x, w = tf.identity(x), self.variables["w"]
        inner = place.inner(x)
        inner.last = place.last
        taped = s["way"] == "tape" and place.taped
        with tf.GradientTape() if taped else contextlib.nullcontext() as tape:
            if taped:
                tape.watch(x)
            made = tf.reduce_sum(self.block(s["body"], x, inner))
        place.last = inner.last
        self._check_sight()
        if taped:
            found = tape.gradient(made, x if s["by"] == "x" else w)
        else:
            found = tf.gradients(made, x if s["by"] == "x" else w.handle)[0]
        # No gradient counts as one of zeros: TensorFlow gives zeros where a functional loop reads what its result does not depend on.
        return tf.tanh(x + 0.1 * made + (0.0 if found is None else 0.5 * found))

    def _python(self, s, x, place):
        if s["way"] == "override":
            name = "OfNesting%d" % len(_REGISTERED)
            _REGISTERED.append(tf.RegisterGradient(name)(lambda op, dy: self._derivative(s["grad"], op.inputs[0], op.outputs[0], dy)))
            with tf.get_default_graph().gradient_override_map({"Tanh": name}):
                return tf.tanh(x)

        @tf.custom_gradient
        def function(v):
            made = self.block(s["body"], v, place.inner(x))
            return made, lambda dy: self._derivative(s["grad"], v, made, dy)
        return function(x)

    def _derivative(self, way, v, made, dy):
        """A gradient written in Python: dy by any means, as nothing asks whether it is right."""
        if way == "loop":
            return tf.while_loop(lambda i, d: i < 2, lambda i, d: (i + 1, d * tf.cos(v) + 0.1 * v), [tf.constant(0), dy])[1]
        if way == "cond":
            return tf.cond(tf.reduce_sum(v) > 0.0517, lambda: dy * v, lambda: tf.sin(dy))
        if way == "derived":
            u = tf.identity(v)
            return tf.gradients(tf.sin(u * 1.2) * u, u, dy)[0]
        if way == "python":
            return tf.custom_gradient(lambda u: (u * v, lambda d: d * 0.4 * u))(dy)
        return {"scaled": lambda: dy * 1.7, "input": lambda: dy * tf.cos(v), "output": lambda: dy * (1.5 - made * made)}[way]()

    def _map(self, s, x, place):
        rows = tf.stack([x, 0.5 * x])
        inner = place.inner(x)
        if s["way"] == "map":
            return tf.reduce_sum(tf.map_fn(lambda r: self.block(s["body"], r, inner), rows), 0) * 0.5
        return tf.scan(lambda a, r: 0.5 * self.block(s["body"], a, inner) + r, rows, initializer=x)[-1]

    def _list(self, s, x, place):
        first, start = self._started(x, place)
        limit = self._trips(s["trips"])
        array = tf.TensorArray(self.kind, 0 if s["grows"] else limit, dynamic_size=s["grows"], element_shape=[WIDTH], clear_after_read=False)
        source = tf.TensorArray(self.kind, 3, element_shape=[WIDTH], clear_after_read=False).unstack(tf.stack([start, start * 0.5, -start])) if s["reads"] else None

        def body(i, v, kept):
            made = self.block(s["body"], v, place.iteration(x, i, v))
            if s["inside"] == "cond":
                kept = tf.cond(self._predicate("even", v, place.inner(x, counter=i)), lambda: kept.write(i, made), lambda: kept.write(i, made * v))
            else:
                kept = kept.write(i, made)
            if s["reads"]:
                made = made + 0.2 * kept.read(i) + 0.3 * source.read(i % 2)
            return i + 1, tf.tanh(made), kept

        with place.waiting():
            _, x, array = tf.while_loop(lambda i, v, kept: i < limit, body, [first, start, array])
        place.did(x)
        return tf.tanh(x + 0.2 * tf.reduce_sum(array.stack(), 0))
