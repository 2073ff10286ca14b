# SPDX-License-Identifier: Apache-2.0
"""What a step of a row spends its time on: the kernels it ran, the work in them, and what is left.

Work is counted from the shapes of the rewritten graph. FLOPs: multiply-adds as two for products and convolutions, one for each
element and instruction elsewhere, none for what only moves data. Bytes: every operand read once, every result written once.
"""
import collections
import math
import time

TRACED_STEPS = 5  # at least; the figures are means over the traced steps
# No memory is touched: the result is the operand, or lies ready.
FREE = {"Const", "Identity", "Reshape", "Squeeze", "ExpandDims", "NoOp", "Placeholder", "Shape", "Variable", "VariableV2",
        "VarHandleOp", "ReadVariableOp", "Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "StopGradient"}
MOVES = {"Transpose", "ConcatV2", "Concat", "Slice", "StridedSlice", "StridedSliceGrad", "Split", "SplitV", "Pad", "PadV2",
         "Pack", "Unpack", "Gather", "GatherV2", "Tile", "Fill", "ZerosLike", "Cast", "ReverseV2", "BroadcastTo"}


def elements(shape):
    return math.prod(shape) if shape is not None and None not in shape else 0


def touched(op, ins):
    """The rows of a sparse update: its gradient's shape; None for other operations."""
    if op.startswith(("SparseApply", "ResourceSparseApply")):
        return next((s for s in ins if len(s or ()) == len(ins[0] or ()) and s != ins[0]), ins[0])
    return None


def flops_of(op, attr, ins, outs):
    """Of one node, from the shapes of its operands and results."""
    made = sum(map(elements, outs))
    if op in FREE or op in MOVES or not outs or any(s is None for s in ins + outs):
        return 0
    if op in ("MatMul", "_FusedMatMul", "_PackedMatMul"):
        return 2 * made * ins[0][0 if attr("transpose_a") else 1]
    if op in ("_PackMatrix", "_EndProducts"):
        return 0
    if op == "_AddProduct":  # made by itself or in _EndProducts
        return 2 * elements(ins[1]) * ins[2][0 if attr("transpose_b") else 1]
    if op.startswith("BatchMatMul"):
        return 2 * made * ins[0][-2 if attr("adj_x") else -1]
    if op in ("Conv2D", "_FusedConv2D"):
        return 2 * made * elements(ins[1][:3])
    if op == "Conv3D":
        return 2 * made * elements(ins[1][:4])
    if op in ("Conv2DBackpropInput", "Conv3DBackpropInputV2"):
        return 2 * elements(ins[2]) * elements(ins[1][:-1])
    if op in ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2"):
        return 2 * elements(ins[2]) * elements(outs[0][:-1])
    if touched(op, ins) is not None:
        return elements(touched(op, ins))
    if op == "_FusedElementwise":
        return made * len(attr("program"))
    return max([made, *map(elements, ins)])


def bytes_of(op, ins, outs, sizes):
    if op in FREE:
        return 0
    if op in ("Gather", "GatherV2"):
        return 2 * elements(outs[0]) * sizes[-1]
    if touched(op, ins) is not None:  # the variable and its slots are read and written
        return (2 * ins.count(ins[0]) + 1) * elements(touched(op, ins)) * sizes[0]
    if op == "_PackedMatMul":  # of b only the shape is looked at
        ins, sizes = ins[:1] + ins[2:], sizes[:1] + sizes[2:]
    return sum(elements(shape) * size for shape, size in zip(ins + outs, sizes))


class Recorder:
    """Stands between a workload of peers/tf1.py and the package: every step of its session can be traced."""

    def __init__(self, tf, common):
        self.tf, self.common, self.metadata, self.on, self.seconds = tf, common, [], False, 0.0
        self.measure = common.measure
        recorder = self

        class TracedSession(tf.Session):
            def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
                if not recorder.on:
                    return super().run(fetches, feed_dict, options, run_metadata)
                options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
                recorder.metadata.append(tf.RunMetadata())
                return super().run(fetches, feed_dict, options, recorder.metadata[-1])

        tf.Session = TracedSession
        common.measure = self.both

    def both(self, step, seconds, warm=2):
        """Untraced times as ever, then traced steps."""
        times = self.measure(step, seconds, warm)
        self.on, start = True, time.perf_counter()
        while len(self.metadata) < TRACED_STEPS or (time.perf_counter() < start + seconds and len(self.metadata) < 100):
            step()
        self.on, self.seconds = False, (time.perf_counter() - start) / len(self.metadata)
        return times

    def work(self):
        """By node: FLOPs and bytes."""
        found = {}
        for partition in self.metadata[-1].partition_graphs:
            with self.tf.Graph().as_default() as graph:
                self.tf.import_graph_def(partition, name="")
            for node in graph.get_operations():
                shapes = [[None if t.shape.ndims is None else t.shape.as_list() for t in tensors]
                          for tensors in (list(node.inputs), node.outputs)]
                sizes = [t.dtype.base_dtype.size for t in [*node.inputs, *node.outputs]]
                found[node.name] = (flops_of(node.type, node.get_attr, *shapes), bytes_of(node.type, *shapes, sizes))
        return found

    def kernels(self):
        """By operation, the most costly first."""
        rows = collections.defaultdict(lambda: [0, 0.0, 0, 0])
        work = self.work()
        for metadata in self.metadata:
            for node in (n for d in metadata.step_stats.dev_stats for n in d.node_stats):
                row = rows[node.timeline_label.rpartition(" = ")[2].partition("(")[0]]
                flops, size = work.get(node.node_name, (0, 0))
                for i, more in enumerate((1, (node.op_end_rel_nanos - node.op_start_rel_nanos) / 1e9, flops, size)):
                    row[i] += more
        steps = len(self.metadata)
        made = [dict(op=op, count=row[0] / steps, seconds=row[1] / steps, flops=row[2] / steps, bytes=row[3] / steps)
                for op, row in rows.items()]
        return sorted(made, key=lambda row: -row["seconds"])


    def planned_peak(self):
        """Bytes that the values of a step take at once, as its plan knows beforehand."""
        return sum(node.temporary_memory_size for node in self.metadata[-1].cost_graph.node)


def derivation(result, engine):
    """A step's seconds as (kernels, engine, left): what its kernels took when traced, what the engine takes for a step of so many
    nodes, and what neither explains. engine: seconds of an empty step and of a node in it.
    """
    kernels = sum(k["seconds"] for k in result["kernels"])
    overhead = engine["step"] + engine["node"] * sum(k["count"] for k in result["kernels"])
    return kernels, overhead, result["median_s"] - kernels - overhead


def show_derivation(result, engine):
    kernels, overhead, left = (seconds * 1e3 for seconds in derivation(result, engine))
    nodes = sum(k["count"] for k in result["kernels"])
    print(f"{result['workload']}, {result['threads']} threads: {result['median_s'] * 1e3:.4g} ms = kernels {kernels:.4g} + "
          f"engine {overhead:.4g} ({nodes:.0f} nodes) + left {left:.4g}; planned peak {result['peak_bytes'] / 2**20:.1f} MiB")


def ideal_seconds(kernel, roof):
    """What the machine's roof would take for a kernel's work; roof: GFLOP/s and GB/s of the threads in use."""
    return max(kernel["flops"] / roof["fma"], kernel["bytes"] / roof["copy"]) / 1e9


def show(result, roof, most=12):
    """The derivation of a row's figure: kernels, what the roof would take, what is left."""
    kernels, traced = result["kernels"], result["traced_s"]
    busy, ideal = sum(k["seconds"] for k in kernels), sum(ideal_seconds(k, roof) for k in kernels)
    print(f"{result['workload']}, {result['threads']} threads: a step {result['median_s'] * 1e3:.4g} ms; traced "
          f"{traced * 1e3:.4g} ms = kernels {busy * 1e3:.4g} + all else {(traced - busy) * 1e3:.4g}; "
          f"at the roof {ideal * 1e3:.4g} ms")
    print(f"  {'operation':32}{'count':>8}{'ms':>10}{'share':>8}{'GFLOP/s':>10}{'GB/s':>8}{'roof ms':>10}{'of roof':>9}")
    rest = kernels[most:]
    if rest:
        kernels = kernels[:most] + [dict(op=f"{len(rest)} others", **{key: sum(k[key] for k in rest)
                                                                        for key in ("count", "seconds", "flops", "bytes")})]
    for k in kernels:
        seconds, roofed = max(k["seconds"], 1e-12), ideal_seconds(k, roof)
        print(f"  {k['op']:32}{k['count']:8.0f}{seconds * 1e3:10.4g}{seconds / busy:8.1%}{k['flops'] / seconds / 1e9:10.1f}"
              f"{k['bytes'] / seconds / 1e9:8.1f}{roofed * 1e3:10.4g}{roofed / seconds:9.0%}")


def plot(results, roof_of, path, most=12):
    """A row of two pictures for each result: time by kernel with the part the roof explains; the kernels under the roof."""
    import matplotlib
    matplotlib.use("svg" if path.endswith(".svg") else "agg")
    import matplotlib.pyplot as plt
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "roof"})  # small, and the same for the same figures
    figure, axes = plt.subplots(len(results), 2, figsize=(13, 3.6 * len(results)), layout="constrained", squeeze=False)
    for result, (bars, roofline) in zip(results, axes):
        roof, kernels = roof_of(result), result["kernels"][:most]
        names = [k["op"] for k in kernels]
        bars.barh(names, [k["seconds"] * 1e3 for k in kernels], color="#ccd5e0", label="measured")
        bars.barh(names, [ideal_seconds(k, roof) * 1e3 for k in kernels], color="#2a7f62", label="at the roof")
        bars.invert_yaxis()
        bars.set_xlabel("ms a step")
        bars.set_title(f"{result['workload']}, {result['threads']} threads: {result['median_s'] * 1e3:.3g} ms")
        bars.legend()
        counted = [k for k in kernels if k["flops"] and k["bytes"]]
        xs = sorted([2.0 ** i for i in range(-6, 13)] + [roof["fma"] / roof["copy"]])  # with the corner
        roofline.plot(xs, [min(roof["fma"], x * roof["copy"]) for x in xs], color="black", linewidth=1)
        total = sum(k["seconds"] for k in kernels)
        roofline.scatter([k["flops"] / k["bytes"] for k in counted], [k["flops"] / k["seconds"] / 1e9 for k in counted],
                         s=[20 + 600 * k["seconds"] / total for k in counted], alpha=0.5, color="#2a7f62")
        for k in counted:
            roofline.annotate(k["op"], (k["flops"] / k["bytes"], k["flops"] / k["seconds"] / 1e9), fontsize=7)
        roofline.set_xscale("log", base=2)
        roofline.set_yscale("log")
        roofline.set_xlabel("FLOP a byte")
        roofline.set_ylabel("GFLOP/s")
    figure.savefig(path, dpi=110)


def roof_from(calibration, isa, threads):
    """The roof for so many threads from rows of `calibrate`, before and after: the better of both counts."""
    best = {name: max(r["value"] for r in calibration if r["variant"] == name and r["isa"] == isa) for name in ("fma", "copy")}
    return {name: value * threads for name, value in best.items()}

