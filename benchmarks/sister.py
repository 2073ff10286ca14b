# SPDX-License-Identifier: Apache-2.0
"""A row beside its sister (peers/sizes.py): the ratio to the fastest peer that a row has is to be kept by other sizes.

    sister.show(result)       'mlp x1: 0.85 of jax; sister (batch 133, inputs 640): 0.90 of torch; kept, 1.06 times'
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import sizes
import verdict

KEPT = 1.15  # times the row's ratio that a sister's may be


def those_with(rows, names):
    """The rows that have sisters; a row that was named and has none is an error."""
    without = {row.name: sizes.ALONE.get(row.name, "it has no model of several sizes") for row in rows
               if sizes.model_of(row.name) is None or row.name in sizes.ALONE or not row.peers}
    named = [name for name in names if name in without]
    if named:
        sys.exit(f"bench: '{named[0]}' has no sister: {without[named[0]]}")
    return [row for row in rows if row.name not in without]


def pair(row, other, seed):
    """A row's result, with that of its sister in it."""
    return dict(row, sister=dict(other, name=row["name"] + " sister", sizes=vars(sizes.of(row["name"], seed)), seed=seed))


def fastest(result):
    """The fastest peer, and our ratio to it by pairs."""
    label = min(result["peers"], key=result["peers"].get)
    return label, verdict.of(result, label).paired


def change(result):
    """The sister's ratio over the row's: above 1 the row's sizes suit us better."""
    return fastest(result["sister"])[1] / fastest(result)[1]


def judge(result):
    return "kept" if change(result) <= KEPT else "LOST"


def show_sizes(result):
    return ", ".join(f"{name} {size}" for name, size in result["sister"]["sizes"].items())


def show(result):
    (peer, ratio), (other, others) = fastest(result), fastest(result["sister"])
    return (f"{result['name']} x{result['threads']}: {ratio:.2f} of {peer}; sister ({show_sizes(result)}): {others:.2f} of {other}; "
            f"{judge(result)}, {change(result):.2f} times")
