# SPDX-License-Identifier: Apache-2.0
"""The pipelines of examples/cpp/pipelines.cc and examples/c/lines.c, made with tw.data: the same elements in the same order."""
import os
import subprocess

import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIGITS, TEXT = os.path.join(ROOT, "examples", "data", "digits.csv"), os.path.join(ROOT, "LICENSE")
RANGE = tw.data.Dataset.range


def said_by(program, *arguments):
    p = subprocess.run([os.path.join(ROOT, "build", "release", "bin", program), *arguments], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True, timeout=120)
    assert p.returncode == 0 and p.stderr == "", p.stderr
    return p.stdout.splitlines()


def values(dataset):
    following = dataset.make_one_shot_iterator().get_next()
    seen = []
    with tw.Session() as session:
        try:
            while True:
                seen.extend(session.run(following).reshape(-1).tolist())
        except tw.errors.OutOfRangeError:
            return seen


def length(line):
    return tw.cast(tw.strings.length(line), tw.int64)


def lengths():
    return tw.data.TextLineDataset(TEXT).map(length)


def records():
    return tw.data.experimental.CsvDataset(DIGITS, [tw.int64, tw.int64], select_cols=[27, 64])


PIPELINES = {
    "shuffled twice": lambda: RANGE(10).shuffle(4, seed=7).repeat(2).batch(5),
    "odd, times ten": lambda: RANGE(10).filter(lambda x: tw.equal(x % 2, 1)).map(lambda x: x * 10),
    "interleaved": lambda: RANGE(5).interleave(lambda x: RANGE(x).map(lambda y: x * 10 + y), 2),
    "padded": lambda: RANGE(1, 10).map(lambda x: tw.fill([x], x)).padded_batch(3).take(1),
    "lengths of lines": lambda: lengths().filter(lambda n: n > 0),
    "gray": lambda: records().shuffle(100, seed=3).map(lambda gray, _: gray),
    "digits": lambda: records().map(lambda _, digit: digit).batch(4).take(2),
}


def test_cpp_gives_what_python_gives():
    said = dict(line.split(":") for line in said_by("example_pipelines", DIGITS, TEXT) if not line.startswith("second"))
    made = {what: values(make().take(12)) for what, make in PIPELINES.items()}
    assert {what: [int(n) for n in numbers.split()] for what, numbers in said.items()} == made
    assert len(made["shuffled twice"]) == 20 and len(made["gray"]) == 12


def test_cpp_goes_on_where_it_was_saved():
    second = values(RANGE(10).shuffle(10, seed=1).take(2))[1]
    assert [line for line in said_by("example_pipelines") if line.startswith("second")] == [f"second: {second}"] * 2


def test_c_gives_what_python_gives():
    tens = [10 * n for n in values(lengths()) if n > 0]
    assert said_by("example_lines", TEXT) == [" ".join(map(str, tens[:8])) + f" ... sum: {sum(tens)}"]
