# SPDX-License-Identifier: Apache-2.0
"""Each symbol that programs use (tools/tf_facts/api_usage.csv) has a case with results of TensorFlow 1.15, or stands in
symbols_without_case.txt with the reason: take a symbol off when it gets its case; the list does not grow."""
import csv
import json
import os

import pytest
import test_symbols
import thalweg as tw
from thalweg.base import later, names

HERE = os.path.dirname(os.path.abspath(__file__))
FACTS = os.path.join(HERE, "..", "..", "tools", "tf_facts")

# Of tests/golden/seq2seq, which 1.15 has recorded too.
SEQ2SEQ = ("AttentionWrapper BahdanauAttention BasicDecoder BeamSearchDecoder GreedyEmbeddingHelper LuongAttention TrainingHelper "
           "dynamic_decode tile_batch")


def used():
    with open(os.path.join(FACTS, "api_usage.csv")) as f:
        return {row["symbol"] for row in csv.DictReader(f) if not row["symbol"].startswith("(object)")}


def with_case():
    """Symbols that a recorded case is named after, or that it says it shows, by all their names."""
    with open(os.path.join(HERE, "rnn_recorded.json")) as f:
        names = {*test_symbols.RECORDED, *json.load(f)}
    found = {"tf." + name.partition("___")[0].replace("__", ".") for name in names}
    for name, symbols in test_symbols.symbol_cases.SHOWN.items():
        if name in names:
            found |= {"tf." + s.removeprefix("compat.v1.") for s in symbols.split()}
    found |= {"tf.contrib.seq2seq." + s for s in SEQ2SEQ.split()}
    with open(os.path.join(FACTS, "python_api_v1.json")) as f:
        rows = json.load(f)["symbols"]
    firsts = {rows.get(s, {}).get("same_as", s) for s in found}
    return found | firsts | {s for s, row in rows.items() if row.get("same_as") in firsts}


def listed():
    """{symbol: why it has no case}"""
    with open(os.path.join(HERE, "symbols_without_case.txt")) as f:
        rows = [line.split(None, 1) for line in f if line.strip() and not line.startswith("#")]
    return {symbol: reason.strip() for symbol, reason in rows}


def test_used_symbols_have_cases():
    cased, reasons = with_case(), listed()
    without = {s for s in used() if s.replace("tf.compat.v1.", "tf.") not in cased}
    assert sorted(without - set(reasons)) == [], "these need a case in symbol_*.py"
    assert all(reasons.values()) and set(reasons) <= used()


# Under these paths TensorFlow keeps what is not public; as_tensorflow serves it.
PRIVATE = (".python.", "tf.core.")


@pytest.mark.parametrize("path", sorted(s for s in used() if not any(p in s for p in PRIVATE)))
def test_used_symbols_are_there_or_say_their_name(path):
    value = tw
    try:
        for part in path.removeprefix("tf.").removeprefix("compat.v1.").split("."):
            value = getattr(value, part)
            if later.is_stand_in(value):
                raise names.NotYetImplementedError(value.__doc__)
    except names.NotYetImplementedError as error:
        assert path in listed() and "TensorFlow 1.15 is not implemented" in str(error)
        missing = str(error).split()[0]
        assert path.replace("tf.compat.v1.", "tf.").startswith(missing), f"{path}: {error}"


def test_operations_without_a_kernel_say_their_name():
    image = tw.raw_ops.DecodeWebP(contents=tw.constant(b"none"))
    with tw.Session() as session, pytest.raises(tw.errors.OpError, match="DecodeWebP"):
        session.run(image)
