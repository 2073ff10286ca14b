# SPDX-License-Identifier: Apache-2.0
"""The rows of `./dev bench`: their names, our programs, and the peers that benchmarks/peers/workloads.md admits for them."""
import collections
import os
import sys

# items: nodes, calls or iterations in a step; goal: seconds that our first program should take at most, where there is one;
# agree: how far first results of engines may differ, as a part of the largest of their list
Row = collections.namedtuple("Row", "name items ours peers goal agree", defaults=[None, 1e-3])

PYTHON = ("python", [sys.executable, "{root}/benchmarks/thalweg_.py"], "")
CPP = ("c++", ["{root}/build/release/bin/workloads_benchmark"], "")
TF = ("tensorflow-2.21", "tf1.py", "")
TF_ST = ("tensorflow-2.21 st", "tf1.py", "st")
TF_XLA = ("tensorflow-2.21 xla", "tf1.py", "xla")
TORCH, TORCH_SCRIPT = ("torch", "torch_.py", ""), ("torch script", "torch_.py", "script")
TORCH_LAST = ("torch channels_last", "torch_.py", "channels_last")
JAX, ORT, OPENVINO = ("jax", "jax_.py", ""), ("onnxruntime", "ort_.py", ""), ("openvino", "ov_.py", "")
ALL = [TF, TORCH, JAX]
# Rows of peers/nets.py: every engine has the same weights and inputs, so that first results are compared.
NETS = [("tensorflow-2.21", "tf_nets.py", ""), *((f"torch {variant}".strip(), "torch_nets.py", variant) for variant in ("", "compile")),
        ("jax", "jax_nets.py", "")]
NETS_SCRIPT, NETS_LAST = ("torch script", "torch_nets.py", "script"), ("torch channels_last", "torch_nets.py", "channels_last")
SERVED = [*NETS, NETS_SCRIPT, ("onnxruntime", "ort_nets.py", ""), OPENVINO]
# Rows of peers/int8.py. Engines round the same reals to 8 bits at other places, and each rounding is half a level of 127 or 255; in
# the deeper net, whose ranges follow from the values, that comes to more.
RESNET_AGREE, BERT_AGREE = 0.03, 0.1
CHANNELS = [(variant, ["{root}/build/release/bin/channel_benchmark"], variant)
            for variant in ("shm", "shm_copy", "unix", "tcp", "raw_unix", "raw_tcp")]  # raw: sockets without a channel
UCX_BENCHMARK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build", "ucx", "bin", "channel_benchmark")
if os.path.exists(UCX_BENCHMARK):  # made by ./dev ucx
    CHANNELS.append(("ucx", [UCX_BENCHMARK], "ucx"))
WIRE = ("python", [sys.executable, "{root}/benchmarks/wire.py"], "thalweg")
SCALE = ("python", [sys.executable, "{root}/benchmarks/scale.py"], "")
TF_WIRE = [("tensorflow-2.21", "../wire.py", "tensorflow"), ("tensorflow-2.21 client, our servers", "../wire.py", "tf_client"),
           ("our client, tensorflow-2.21 servers", "../wire.py", "tf_servers")]
SAVING = [(name, [sys.executable, "{root}/benchmarks/saving.py"], variant) for name, variant in (("python", ""), ("raw", "raw"))]
TF_SAVING = [("tensorflow-2.21", "../saving.py", "tensorflow")]

PIPELINES = ("python", [sys.executable, "{root}/benchmarks/pipelines.py"], "")
TF_PIPELINES = [("tensorflow-2.21", "../pipelines.py", "tensorflow")]
FIG7 = ("python", [sys.executable, "{root}/benchmarks/fig7.py"], "")
TF_FIG7 = [("tensorflow-2.21", "../fig7.py", "tensorflow")]
PROCESSES = ("channel_", "wire_", "fig7_")  # rows of several processes: on one core they would take turns
# Of a channel: a tensor there and a word back, 5 us; what is read, at 6 GB/s. Of event files: 100 MB, at 500 MB/s.
GOALS = {"channel_4B": 5e-6, "null_4_1x1": 50e-6, "null_4_2x2": 100e-6, "null_100M_1x1": 40e-3, "gather_1G_1x1": 50e-6,
         "read_100M": 100 * 2**20 / 6e9, "read_1G": 2**30 / 6e9, "data_events": 0.2}


def ours(*variants):
    """Our Python program once for each of its variants."""
    return [(variant or "python", PYTHON[1], variant) for variant in variants]


ROWS = [
    Row("noop_chain", 10000, [PYTHON, CPP], [TF, TF_ST]),
    Row("noop_wide", 10000, [PYTHON, CPP], [TF, TF_ST]),
    Row("add_chain", 10000, [PYTHON, CPP], [TF, TF_ST, TORCH, TORCH_SCRIPT, ORT]),
    Row("identity_chain", 10000, [PYTHON], [TF, TF_ST]),
    Row("dag_layered", 10000, [PYTHON, CPP], []),
    Row("chain_2_callers", 10000, [PYTHON, CPP], []),
    Row("chain_mixed", 1000, [PYTHON, CPP], []),
    *(Row(f"compile_{what}", 1, [PYTHON], [], 1.0) for what in ("outputs", "stack", "functions")),
    Row("latency_noop", 1, [PYTHON, CPP], [TF]),
    Row("latency_add", 1, [PYTHON, CPP], [TF, TORCH, ORT]),
    Row("while_count", 100000, [PYTHON, CPP], [TF, TORCH]),
    Row("while_nested", 10000, [PYTHON], []),
    Row("while_cond", 10000, [PYTHON], []),
    Row("while_function", 10000, ours("", "frames"), []),
    Row("while_parallel", 16, ours("", "serial"), []),
    Row("while_queue", 100000, [PYTHON], []),
    Row("while_matmul", 10000, [PYTHON], ALL),
    Row("eltwise", 1, [PYTHON], [TF, TF_XLA, TORCH, JAX, ORT]),
    Row("mlp", 1, [PYTHON], ALL),
    Row("lenet", 1, [PYTHON], ALL),
    Row("alexnet", 1, [PYTHON], [*ALL, TORCH_LAST]),
    Row("resnet50_train", 1, [PYTHON], [*ALL, TORCH_LAST]),
    Row("resnet50_infer_b1", 1, [PYTHON], [*ALL, TORCH_LAST, ORT, OPENVINO]),
    Row("resnet50_infer_b8", 1, [PYTHON], [*ALL, TORCH_LAST, ORT, OPENVINO]),
    Row("lstm", 1, [PYTHON], ALL),
    Row("lstm_dynamic", 1, [PYTHON], [TF, TORCH]),
    Row("lstm_pair", 1, ours("unrolled", "dynamic"), []),
    Row("transformer", 1, [PYTHON], ALL),
    Row("transformer_bf16", 1, [PYTHON], ALL),
    Row("resnet50_train_bf16", 1, [PYTHON], [*ALL, TORCH_LAST]),
    Row("widedeep", 1, [PYTHON], ALL),
    Row("sparse_update_1g", 10000, [PYTHON], []),
    Row("sparse_update_16g", 10000, [PYTHON], []),
    Row("mlp_infer_b1", 1, [PYTHON], [*ALL, ORT, OPENVINO]),
    Row("mlp_infer_b128", 1, [PYTHON], [*ALL, ORT, OPENVINO]),
    *(Row(f"bert_infer_{batch}", 1, [PYTHON], SERVED) for batch in ("b1", "b8")),
    Row("int8_resnet50", 1, ours("", "unfused"), [
        ("tensorflow-2.21 unfused", "tf_int8.py", "unfused"), ("torch", "torch_int8.py", ""), ("onnxruntime", "ort_int8.py", ""),
        OPENVINO, ("openvino unrounded", "ov_.py", "unrounded")], agree=RESNET_AGREE),
    Row("int8_bert", 1, [PYTHON], [("torch", "torch_int8.py", ""), ("onnxruntime", "ort_int8.py", ""), OPENVINO], agree=BERT_AGREE),
    *(Row(f"{net}_infer_b1", 1, [PYTHON], [*SERVED, NETS_LAST]) for net in ("vit", "unet")),
    Row("gpt2_decode", 16, [PYTHON], [*NETS, NETS_SCRIPT]),
    *(Row(name, 1, [PYTHON], NETS) for name in ("gru", "seq2seq", "embedding_1M", "conv3d")),
    *(Row(f"decode_{what}", 1, [PYTHON], [TF]) for what in ("jpeg", "png", "crop_resize")),
    *(Row(f"checkpoint_{what}_1G", 1, SAVING, TF_SAVING) for what in ("save", "restore")),
    Row("checkpoint_step_1G", 1, SAVING, []),
    *(Row(f"data_{what}", items, [PIPELINES], TF_PIPELINES) for what, items in (
        ("records", 20480), ("parse", 12800), ("parse_upto", 12800), ("lines", 10240), ("jpeg", 32), ("jpeg_crop", 32),
        ("shuffle", 1000000), ("stages", 150000))),
    Row("data_parse_queue", 12800, [PIPELINES, ("data", PIPELINES[1], "data")], TF_PIPELINES),
    Row("jpeg_resnet50", 1, [PYTHON], [("tensorflow-2.21", "tf1.py", "tensorflow")]),
    Row("data_events", 1, [PIPELINES], [], GOALS["data_events"]),
    *(Row(f"channel_{size}", 1, CHANNELS, [], GOALS.get(f"channel_{size}")) for size in ("4B", "4K", "1M", "100M", "1G")),
    *(Row(f"wire_{name}", 1, [WIRE], TF_WIRE, GOALS[name]) for name in ("null_4_1x1", "null_4_2x2", "null_100M_1x1", "gather_1G_1x1")),
    *(Row(f"wire_{name}", 1, [WIRE, ("tcp", WIRE[1], "tcp")], TF_WIRE, GOALS[name]) for name in ("read_100M", "read_1G")),
    Row("wire_layers_64M", 1, [WIRE, ("scheduled", WIRE[1], "scheduled")], []),
    *(Row(f"fig7_{shape}", 1, [FIG7], TF_FIG7) for shape in ("scalar", "dense_100M", "sparse_1G", "sparse_16G")),
    *(Row(f"scale_{name}", 1, [SCALE], []) for name in ("session_100", "register_100K_10", "subgraphs_100_100")),
]
