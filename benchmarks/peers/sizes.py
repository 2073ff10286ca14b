"""The sizes of the rows' models, and of their sisters (Python 3.7 and later).

A sister of a row has the same model with other sizes, each drawn from a range about the row's own: what is tuned to the sizes of a row
shows itself as a ratio that its sister does not keep.

    sizes.of("transformer")       .batch 16, .steps 128 ...: those of the row
    sizes.of("transformer", 7)    drawn by the seed 7, the same in every process and for every row of the model
"""
import argparse
import random
import re

# own size, least and largest of a sister, and what it is a multiple of; where that is not 1, the model or its users want it so
CHANNELS = 8
SIZES = {
    "matmul": {"n": (64, 46, 90, 1)},
    "eltwise": {"elements": (10000000, 7000000, 14000000, 1)},
    "mlp": {"batch": (128, 90, 180, 1), "inputs": (784, 550, 1100, 1), "hidden": (512, 360, 720, 1), "classes": (10, 5, 20, 1)},
    "lenet": {"batch": (64, 45, 90, 1), "side": (28, 20, 40, 1), "channels": (32, 22, 45, 1), "hidden": (512, 360, 720, 1),
              "classes": (10, 5, 20, 1)},
    "alexnet": {"batch": (16, 11, 22, 1), "side": (224, 180, 290, 1), "first": (64, 48, 88, CHANNELS), "second": (192, 136, 264, CHANNELS),
                "third": (384, 272, 536, CHANNELS), "fourth": (256, 184, 352, CHANNELS), "hidden": (4096, 2900, 5700, 1),
                "classes": (1000, 700, 1400, 1)},
    "resnet50": {"batch": (8, 6, 11, 1), "side": (224, 170, 290, 1), "width": (64, 48, 88, CHANNELS), "classes": (1000, 700, 1400, 1)},
    "lstm": {"batch": (20, 14, 28, 1), "steps": (20, 14, 28, 1), "units": (650, 460, 910, 1), "words": (10000, 7000, 14000, 1)},
    "transformer": {"batch": (16, 11, 22, 1), "steps": (128, 90, 180, 1), "heads": (4, 3, 5, 1), "head": (64, 56, 72, CHANNELS),
                    "inner": (1024, 720, 1430, 1)},
    "widedeep": {"batch": (512, 360, 720, 1), "tables": (26, 18, 36, 1), "rows": (100000, 70000, 140000, 1), "width": (16, 12, 22, 1),
                 "hidden": (256, 180, 360, 1), "last": (128, 90, 180, 1)},
    "bert": {"steps": (128, 90, 180, 1), "heads": (12, 10, 14, 1), "head": (64, 56, 72, CHANNELS), "words": (30522, 21000, 42000, 1)},
    "vit": {"side": (224, 160, 304, 16), "heads": (12, 10, 14, 1), "head": (64, 56, 72, CHANNELS), "classes": (1000, 700, 1400, 1)},
    "unet": {"side": (256, 192, 352, 16), "base": (32, 24, 44, 4)},
    "gpt2": {"heads": (12, 10, 14, 1), "head": (64, 56, 72, CHANNELS), "words": (50257, 36000, 70000, 1)},
    "gru": {"batch": (32, 23, 45, 1), "steps": (50, 35, 70, 1), "inputs": (128, 90, 180, 1), "units": (256, 180, 360, 1),
            "classes": (10, 5, 20, 1)},
    "seq2seq": {"batch": (16, 11, 22, 1), "steps": (16, 11, 22, 1), "units": (128, 90, 180, 1), "width": (64, 45, 90, 1),
                "words": (1000, 700, 1400, 1)},
    "embedding": {"rows": (1000000, 700000, 1400000, 1), "width": (64, 45, 90, 1), "sums": (1024, 720, 1430, 1), "each": (32, 23, 45, 1)},
    "conv3d": {"batch": (4, 3, 5, 1), "frames": (16, 12, 22, 1), "side": (48, 36, 66, 1), "first": (32, 24, 44, 4),
               "second": (64, 48, 88, CHANNELS), "third": (128, 88, 176, CHANNELS), "hidden": (256, 180, 360, 1), "classes": (10, 5, 20, 1)},
}


ALONE = {"int8_resnet50": "its windows are made for pictures of 224", "jpeg_resnet50": "its pictures come from files"}  # have no sister


def model_of(workload):
    """'resnet50' of 'resnet50_infer_b8'; None where a row has no model of such sizes."""
    return next((part for part in workload.split("_") if part in SIZES), None)


def of(workload, seed=None):
    """A namespace of sizes, empty where there are none; of inference the batch is that of the row's name."""
    model = model_of(workload)
    source, found = random.Random("%s %s" % (model, seed)), {}
    for name, (own, least, largest, multiple) in SIZES.get(model, {}).items():
        drawn = source.randrange(-(-least // multiple), largest // multiple + 1) * multiple
        found[name] = own if seed is None else drawn
    served = re.search(r"_b(\d+)$", workload)
    if served:
        found["batch"] = int(served.group(1))
    return argparse.Namespace(**found)
