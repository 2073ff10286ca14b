# SPDX-License-Identifier: Apache-2.0
"""What `thalweg trace export --format perfetto` writes, read by Perfetto's own messages."""
import subprocess
import sys

import trace_files
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
from trace_files import PS, WORKER


def exported(path, file, *more):
    """The packets of a trace's export."""
    subprocess.run([sys.executable, "-m", "thalweg", "trace", "export", file, "-o", str(path), *more], check=True, timeout=600,
                   stdout=subprocess.DEVNULL)
    trace = perfetto.Trace()
    trace.ParseFromString(path.read_bytes())
    return trace.packet


def unknown_fields(message):
    """Numbers of fields that the schema does not have, also in messages within."""
    found = [field.field_number for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for each in value if field.is_repeated else [value]:
                found += unknown_fields(each)
    return found


def events_of(packets):
    """(track, type, time, event's name, node, event) of each event; times are nanoseconds since 1970."""
    tracks, clocks, names, texts, events = {}, {}, {}, {}, []
    for packet in packets:
        key = packet.trusted_packet_sequence_id
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            names[key], texts[key] = {}, {}
            clock = next(c for c in packet.clock_snapshot.clocks if c.is_incremental)
            assert packet.trace_packet_defaults.timestamp_clock_id == clock.clock_id
            clocks[key], tracks[key] = clock.timestamp, packet.trace_packet_defaults.track_event_defaults.track_uuid
        for name in packet.interned_data.event_names:
            names[key][name.iid] = name.name
        for text in packet.interned_data.debug_annotation_string_values:
            texts[key][text.iid] = text.str.decode()
        if packet.HasField("track_event"):
            clocks[key] += packet.timestamp
            event = packet.track_event
            node = [texts[key][a.string_value_iid] for a in event.debug_annotations if a.name_iid == 1]
            events.append((tracks[key], event.type, clocks[key], names[key].get(event.name_iid), node[0] if node else None, event))
    return events


def test_the_schema_has_all_of_it(tmp_path):
    packets = exported(tmp_path / "step.pftrace", trace_files.delayed_step().write(tmp_path / "step.pb"))
    assert [number for packet in packets for number in unknown_fields(packet)] == []
    descriptors = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}
    assert {d.process.process_name for d in descriptors.values() if d.HasField("process")} == {PS, WORKER}
    assert all(d.parent_uuid in descriptors for d in descriptors.values() if not d.HasField("process"))
    clocks = {c.clock_id: c.timestamp for c in packets[0].clock_snapshot.clocks}
    assert clocks[perfetto.BUILTIN_CLOCK_REALTIME] == clocks[perfetto.BUILTIN_CLOCK_BOOTTIME] == trace_files.BEGIN * 1000


def test_events_are_the_spans(tmp_path):
    packets = exported(tmp_path / "step.pftrace", trace_files.delayed_step().write(tmp_path / "step.pb"))
    descriptors = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.HasField("track_descriptor")}
    events = events_of(packets)
    opened, spans = {}, []
    for track, kind, time, name, node, _ in events:
        if kind == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
            assert track not in opened, "spans of a row do not overlap"
            opened[track] = (time, name, node)
        elif kind == perfetto.TrackEvent.TYPE_SLICE_END:
            begin, name, node = opened.pop(track)
            place = descriptors[descriptors[track].parent_uuid].process.process_name
            spans.append((place, name, node, begin // 1000 - trace_files.BEGIN, time // 1000 - trace_files.BEGIN))
    assert not opened
    assert sorted(spans) == sorted([(PS, "Const", "v", 0, 100), (WORKER, "RecvTensor", "RecvTensor", 10, 5150), (WORKER, "MatMul", "y", 5160, 6160),
                                    (WORKER, "Mul", "beside", 6165, 6365), (WORKER, "Sum", "z", 6370, 6400)])
    # Each flow has one begin, and its end is no earlier.
    begins = {flow: time for _, _, time, _, _, event in events for flow in event.flow_ids}
    ends = {flow: time for _, _, time, _, _, event in events for flow in event.terminating_flow_ids}
    assert set(begins) == set(ends) and len(begins) == 2 and all(begins[flow] <= ends[flow] for flow in begins)


def test_memory_is_counted_by_kind(tmp_path):
    packets = exported(tmp_path / "step.perfetto-trace", trace_files.training_step().write(tmp_path / "step.pb"))
    counters = {p.track_descriptor.uuid: p.track_descriptor for p in packets if p.track_descriptor.HasField("counter")}
    highest = {}
    for track, kind, _, _, _, event in events_of(packets):
        if kind == perfetto.TrackEvent.TYPE_COUNTER:
            name = counters[track].name
            highest[name] = max(highest.get(name, 0), event.counter_value)
    assert highest == {"busy lanes": 100, "memory: variables": 8_000_000, "memory: activations": 18_000_000, "memory: gradients": 8_000_000,
                       "memory: scratch": 3_000_000}
    assert {d.counter.unit for d in counters.values() if d.name.startswith("memory")} == {perfetto.CounterDescriptor.UNIT_SIZE_BYTES}
