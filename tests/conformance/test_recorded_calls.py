# SPDX-License-Identifier: Apache-2.0
"""Calls that clients of TensorFlow 1.15 and 2.21 made to a server of their own release, as recorded (tests/golden/rpc), to ours: it
answers each with the recorded code, the recorded fields and the recorded tensors. Handles and incarnations are a server's own:
those of the recording are replaced."""
import base64
import gzip
import itertools
import json
import os
import re
import signal
import subprocess

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import grpc
import numpy as np
import pytest
import tensorflow as tf
from calls import message_class
from tasks import ROOT, serving
from tensorflow.core.framework import tensor_pb2

STEPS = itertools.count(10**12, 10**10)
LONGEST = 1.0  # seconds: calls that the recorded client gave up
OURS = {  # where we answer differently, and why
    ("missing_kernel", "CreateSession", "INVALID_ARGUMENT"): "a node without a kernel is refused by the step that needs it",
    ("raw_master", "RunStep", "CANCELLED_BY_CALLER"): "a feed without ':0' is refused, not waited for",
    ("raw_worker", "RecvTensor", "CANCELLED_BY_CALLER"): "a tensor that was taken is refused, not waited for",
    ("raw_master", 11): "a step without fetches and targets does nothing",
    ("raw_master", 22): "an attribute that no release has is refused, as by 1.15; 2.21 takes it",
    ("raw_master", 31): "a method that is not there is UNIMPLEMENTED",
    ("raw_master", 32): "so is a service",
    ("kinds", "RunStep", "FAILED_PRECONDITION"): "handles of tensors work in a server's session too",
}
NOT_COMPARED = {"metadata", "cost_graph", "step_stats", "send_start_micros", "step_sequence"}


def recorded():
    for release in ("1.15", "2.21"):
        with gzip.open(os.path.join(ROOT, "tests", "golden", "rpc", release + ".json.gz")) as f:
            for scenario in json.load(f):
                yield pytest.param(scenario, id=f"{release}-{scenario['scenario']}")


@pytest.fixture(name="channel", scope="module")
def server():
    with serving.serve({"worker": ["127.0.0.1:0"]}, "worker", stderr=subprocess.DEVNULL) as process:
        try:
            with grpc.insecure_channel(serving.ready(process)[len("grpc://"):]) as made:
                yield made
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


class Replay:
    """One scenario: what of the recording stands for what of ours."""

    def __init__(self, channel):
        self.channel, self.ours, self.incarnation, self.partial, self.steps, self.graphs = channel, {}, {}, {}, {}, {}
        self.first_step = next(STEPS)  # no two scenarios have steps of one number
        assert self.call("/tensorflow.MasterService/Reset", b"", 30)[0] == "OK"  # nothing is left of another scenario

    def call(self, method, request, seconds):
        made = self.channel.unary_unary(method, request_serializer=lambda b: b, response_deserializer=lambda b: b)
        try:
            return "OK", made(request, timeout=seconds)
        except grpc.RpcError as error:
            return error.code().name, b""

    def rewrite(self, message):
        """Replaces the recording's handles and incarnations everywhere in a message."""
        for field, value in message.ListFields():
            is_repeated = not isinstance(value, (str, bytes)) and hasattr(value, "__len__")
            if field.type == field.TYPE_MESSAGE:
                if field.message_type.GetOptions().map_entry:
                    for key in list(value):
                        if hasattr(value[key], "ListFields"):
                            self.rewrite(value[key])
                    if field.name == "attr" and "send_device_incarnation" in value:
                        at = value["send_device_incarnation"]
                        found = self.incarnation.get(at.i & (2**64 - 1), at.i)
                        at.i = found - 2**64 if found >= 2**63 else found
                else:
                    for one in value if is_repeated else [value]:
                        self.rewrite(one)
            elif field.name == "step_id" and not is_repeated:
                message.step_id = self.steps.get(value, value + self.first_step)
            elif field.name == "graph_handle":
                message.graph_handle = self.graphs.get((session_of(message), value), value)
            elif field.name == "partial_run_handle":
                message.partial_run_handle = self.partial.get(value, value)
            elif field.type == field.TYPE_STRING:
                if is_repeated:
                    value[:] = [self.text(v) for v in value]
                else:
                    setattr(message, field.name, self.text(value))

    def text(self, value):
        return re.sub("[0-9a-f]{16}", lambda m: self.ours.get(m.group(), m.group()), value)

    def learn(self, session, theirs, ours):
        """Remembers what the answers name."""
        if getattr(theirs, "session_handle", ""):
            self.ours[theirs.session_handle] = ours.session_handle
        if getattr(theirs, "graph_handle", ""):
            self.graphs[session, theirs.graph_handle] = ours.graph_handle
        if getattr(theirs, "partial_run_handle", ""):
            self.partial[theirs.partial_run_handle] = ours.partial_run_handle
        for theirs_device, our_device in zip(getattr(theirs, "device_attributes", []), getattr(ours, "device_attributes", [])):
            self.incarnation[theirs_device.incarnation] = our_device.incarnation
            self.ours[f"{theirs_device.incarnation:016x}"] = f"{our_device.incarnation:016x}"


def session_of(request):
    """A worker has a session of its own for who makes none."""
    return request.session_handle if getattr(request, "create_worker_session_called", False) else ""


def types_of(method):
    name = method.split("/")[-1]
    return message_class(name + "Request"), message_class(name + "Response")


def array_of(message):
    return tf.make_ndarray(tensor_pb2.TensorProto.FromString(message.SerializeToString()))


def strings_of(message):
    """TensorFlow's servers send lengths, then all bytes; ours one value after the other. Clients read both."""
    if message.string_val:
        return list(message.string_val)
    lengths, at = [], 0
    count = int(np.prod([d.size for d in message.tensor_shape.dim]))
    for _ in range(count):
        lengths.append(message.tensor_content[at])
        at += 1
        assert lengths[-1] < 128
    return [message.tensor_content[at + sum(lengths[:i]):at + sum(lengths[:i + 1])] for i in range(count)]


def same_tensors(theirs, ours):
    for wanted, got in zip(theirs, ours):
        wanted, got = getattr(wanted, "tensor", wanted), getattr(got, "tensor", got)
        if wanted.dtype == tf.resource.as_datatype_enum:
            assert got.dtype == wanted.dtype
        elif wanted.dtype == tf.string.as_datatype_enum:
            assert strings_of(got) == strings_of(wanted)
        else:
            np.testing.assert_array_equal(array_of(got), array_of(wanted))


@pytest.mark.parametrize("scenario", list(recorded()))
def test_recorded_calls_are_answered_as_recorded(channel, scenario):
    replay = Replay(channel)
    for number, call in enumerate(scenario["calls"]):
        where = f"{number} {call['method']}"
        request_type, response_type = types_of(call["method"])
        raw = base64.b64decode(call.get("request", ""))
        session = ""
        theirs = response_type.FromString(base64.b64decode(call.get("response", ""))) if response_type else None
        if request_type is not None:
            try:
                request = request_type.FromString(raw)
                if call["method"].endswith("CleanupGraph"):  # ours begins no step again that has ended
                    cleaned, fresh = request.step_id, replay.steps.get(request.step_id, request.step_id + replay.first_step) + 10**6
                session = session_of(request)
                replay.rewrite(request)
                if call["method"].endswith("CleanupGraph"):
                    replay.steps[cleaned] = fresh
                raw = request.SerializeToString()
            except Exception as error:  # bytes that do not parse are sent as they are
                assert call["status"] == "INTERNAL", (where, error)
        gave_up = call["status"] in ("CANCELLED_BY_CALLER", "DEADLINE_EXCEEDED")
        status, answer = replay.call(call["method"], raw, LONGEST if gave_up else 30)
        if gave_up and status == "OK" and response_type.FromString(answer).status_code in (1, 4):
            continue  # the step's own deadline came first
        wanted = "DEADLINE_EXCEEDED" if gave_up else call["status"]
        said = {9: "FAILED_PRECONDITION"}.get(getattr(theirs, "status_code", 0), call["status"])
        if (scenario["scenario"], call["method"].split("/")[-1], said) in OURS or (scenario["scenario"], number) in OURS:
            continue
        assert status == wanted, where
        if status != "OK" or response_type is None:
            continue
        ours = response_type.FromString(answer)
        replay.learn(session, theirs, ours)
        assert getattr(ours, "status_code", 0) == getattr(theirs, "status_code", 0), (where, ours)
        names = {f.name for f, _ in theirs.ListFields()} - NOT_COMPARED
        assert {f.name for f, _ in ours.ListFields()} - NOT_COMPARED == names, (where, ours)
        for field in ("tensor", "recv", "fetch"):
            if field in names and not isinstance(getattr(theirs, field), str):
                assert [getattr(t, "name", "") for t in getattr(ours, field)] == [replay.text(getattr(t, "name", "")) for t in getattr(theirs, field)] \
                    if field != "tensor" or "RunStep" in call["method"] else True, where
                values = (getattr(theirs, field), getattr(ours, field))
                same_tensors(*values if field != "tensor" or "RunStep" in call["method"] else [[v] for v in values])
