# SPDX-License-Identifier: Apache-2.0
"""Made-up steps of tasks, as RunMetadata files, and their pages."""
import os
import subprocess
import sys

import numpy as np
import thalweg as tw

PS, WORKER = ("/job:%s/replica:0/task:0/device:CPU:0" % job for job in ("ps", "worker"))
BEGIN = 1_700_000_000_000_000  # microseconds since 1970


class Step:
    """Node by node, times in microseconds: Step().node(PS, "v", "Const()", 0, 100).write("step.pb")"""

    def __init__(self, begin=0):
        self._begin = BEGIN + begin
        self._metadata = tw.RunMetadata()
        self._devices = {}

    def node(self, device, name, label, start, end, waited=0, thread=0):
        """A node; its label is what it was called with, or, in brackets, what a task notes of a value from another one."""
        if device not in self._devices:
            self._devices[device] = self._metadata.step_stats.dev_stats.add(device=device)
        text = label if label.startswith("[") else f"{name} = {label}"
        self._devices[device].node_stats.add(
            node_name=name, timeline_label=text, all_start_micros=self._begin + start, all_start_nanos=(self._begin + start) * 1000,
            all_end_rel_micros=end - start, all_end_rel_nanos=(end - start) * 1000, scheduled_micros=self._begin + start - waited,
            scheduled_nanos=(self._begin + start - waited) * 1000, thread_id=thread)
        return self

    def no_processor(self, *times):
        """When the thread of the last node of the last device had no processor: since so long after the one before (the first: the node's
        start), for so long, whether another ran in its place."""
        numbers = b"".join(_number(value) for since, time, is_taken in times for value in (since * 1000, time * 2000 + is_taken))
        self._node().MergeFromString(_number(1001 << 3 | 2) + _number(len(numbers)) + numbers)
        return self

    def left_out(self, until, executions):
        """What the last device has not kept until then, of a step that began at 0."""
        fields = b"".join(_number(field << 3) + _number(value)
                          for field, value in ((1, executions), (2, (self._begin + until) * 1000), (3, self._begin * 1000)))
        list(self._devices.values())[-1].MergeFromString(_number(1002 << 3 | 2) + _number(len(fields)) + fields)
        return self

    def _node(self):
        return list(self._devices.values())[-1].node_stats[-1]

    def received(self, from_device, to_device, edge, start, end, size):
        """A value that came from another device."""
        return self.node(to_device, "RecvTensor", f"[{size}B] [1Mb/s] {edge} from {from_device} to {to_device}", start, end)

    def held(self, *changes, address=0, persistent=0):
        """What the last node of the last device was given and gave back, (when, bytes) each, the first of it its output at an address; what it
        keeps beyond the step."""
        node = self._node()
        records = node.memory.add(allocator_name="cpu").allocation_records
        for at, size in changes:
            records.add(alloc_micros=self._begin + at, alloc_bytes=size)
        buffer = node.output.add().tensor_description.allocation_description
        buffer.allocated_bytes = buffer.requested_bytes = changes[0][1] if changes else 0
        buffer.ptr = address
        if persistent:
            node.memory_stats.persistent_memory_size = persistent
        return self

    def graph(self, device, *nodes):
        """The graph of a device: (name, op, [inputs]) each."""
        graph = self._metadata.partition_graphs.add()
        for name, op, inputs in nodes:
            graph.node.add(name=name, op=op, input=inputs, device=device)
        return self

    def write(self, path):
        """The path of the file."""
        with open(path, "wb") as file:
            file.write(self._metadata.SerializeToString())
        return str(path)


def delayed_step(delay=5000, begin=0):
    """A worker computes with a value of a ps, which it gets so many microseconds late."""
    step = Step(begin)
    step.node(PS, "v", "Const()", 0, 100).received(PS, WORKER, "edge_0_v", 10, 150 + delay, 160_000)
    step.node(WORKER, "y", "MatMul(v/_1, v/_1)", 160 + delay, 1160 + delay, waited=4)
    step.node(WORKER, "beside", "Mul(y)", 1165 + delay, 1365 + delay, thread=1)
    step.node(WORKER, "z", "Sum(y, beside)", 1370 + delay, 1400 + delay)
    return step


def training_step():
    """A step of three layers: what they keep for the gradients, what these make, scratch, a variable."""
    step = Step().node(WORKER, "weights", "VariableV2()", 0, 10).held(address=1, persistent=8_000_000)
    names = ["layer1", "layer2", "layer3"]
    for i, name in enumerate(names):
        begin = 100 + 300 * i
        step.node(WORKER, f"{name}/MatMul", "MatMul()", begin, begin + 280)
        step.held((begin + 5, 6_000_000), (begin + 10, 3_000_000), (begin + 250, -3_000_000), (1900 - 300 * i, -6_000_000), address=10 + i)
    for i, name in enumerate(reversed(names)):
        begin = 1050 + 300 * i
        step.node(WORKER, f"gradients/{name}_grad/MatMul", "MatMul()", begin, begin + 260)
        step.held((begin + 5, 4_000_000), (begin + 450, -4_000_000), address=20 + i)
    return step.graph(WORKER, ("weights", "VariableV2", []), *((f"{name}/MatMul", "MatMul", ["weights"]) for name in names),
                      *((f"gradients/{name}_grad/MatMul", "MatMul", [f"{name}/MatMul"]) for name in names))


def _number(value):
    """As a varint."""
    digits = []
    while value > 127:
        digits.append(value & 127 | 128)
        value >>= 7
    return bytes([*digits, value])


def _varint(values, width):
    """Numbers as varints of so many bytes each."""
    digits = np.stack([values >> (7 * i) & 127 | (128 if i < width - 1 else 0) for i in range(width)], axis=1)
    return digits.astype(np.uint8)


def _held(starts, times, random):
    """The memory field of nodes that are given some megabytes, now and then fifty more, for some milliseconds."""
    each = len(starts)
    size = random.integers(1 << 21, 1 << 22, each)
    size[random.integers(0, each, each // 500 + 1)] += 50 << 20
    came, went = starts // 1000, (starts + times) // 1000 + random.integers(1, 5000, each)
    columns = [np.full((each, 2), (0x32, 40), np.uint8), np.full((each, 3), (0x32, 14, 0x08), np.uint8), _varint(came, 8),
               np.full((each, 1), 0x10, np.uint8), _varint(size, 4), np.full((each, 3), (0x32, 20, 0x08), np.uint8), _varint(went, 8),
               np.full((each, 1), 0x10, np.uint8), _varint(-size, 10)[:, :9], np.full((each, 1), 1, np.uint8)]
    return np.concatenate(columns, axis=1)


def write_many(path, count, devices=4, lanes=8, telling=0, switching=0):
    """A file of so many spans on several devices with several lanes each, 1 us on average and now and then a millisecond; nodes of as many
    lanes as are `telling` tell of memory, those of as many of the last lanes as are `switching` had no processor for the last eighth of their
    time, every other one as another thread ran."""
    random = np.random.default_rng(1)
    each = count // (devices * lanes)
    with open(path, "wb") as file:
        parts = []
        for number in range(devices):
            device = f"/job:worker/replica:0/task:{number}/device:CPU:0".encode()
            records = [b"\x0a" + bytes([len(device)]) + device]
            for lane in range(lanes):
                times = random.exponential(700, each).astype(np.int64) + 20
                times[random.integers(0, each, each // 5000 + 1)] += 1_000_000
                starts = np.cumsum(times + random.integers(20, 600, each)) - times + BEGIN * 1000
                kind = random.integers(0, 1000, each)
                names = np.array([list(b"layer_%03d/op = Kind%02d()" % (k, k % 37)) for k in range(1000)], np.uint8)[kind]
                head = np.empty((each, 2), np.uint8)
                columns = [np.full((each, 2), (0x0a, 12), np.uint8), names[:, :12],  # node_name, of which 12 letters are its own
                           np.full((each, 2), (0x42, names.shape[1]), np.uint8), names,
                           np.full((each, 1), 0x50, np.uint8), _varint(np.full(each, lane), 1),
                           np.full((each, 1), 0x68, np.uint8), _varint(starts, 9),
                           np.full((each, 2), (0x80, 1), np.uint8), _varint(times, 4)]
                if lane < telling:
                    columns.append(_held(starts, times, random))
                if lane >= lanes - switching:
                    lost = times // 8
                    columns += [np.full((each, 3), (0xca, 0x3e, 8), np.uint8), _varint(times - lost, 4), _varint(lost * 2 + np.arange(each) % 2, 4)]
                body = np.concatenate(columns, axis=1)
                head[:] = (0x12, body.shape[1])
                records.append(np.concatenate([head, body], axis=1).tobytes())
            parts.append(b"".join(records))
        stats = b"".join(b"\x0a" + _length(part) + part for part in parts)
        file.write(b"\x0a" + _length(stats) + stats)
    return str(path)


def _length(data):
    return bytes(_varint(np.array([len(data)]), 5)[0])


def page_of(files, out):
    """Writes the page of a trace; its address."""
    subprocess.run([sys.executable, "-m", "thalweg", "trace", "view", *files, "-o", str(out), "--force"], check=True, timeout=600,
                   stdout=subprocess.DEVNULL)
    return "file://" + os.path.abspath(out)
