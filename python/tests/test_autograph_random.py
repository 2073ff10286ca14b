# SPDX-License-Identifier: Apache-2.0
"""Random functions of integers with nested control flow: what they make of tensors is what Python makes of numbers."""
import linecache

import pytest
import random_programs

import thalweg as tw

SEEDS = 200
BATCH = 20


def function_of(seed):
    source, name = random_programs.make(seed), f"<random program {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    scope = {}
    exec(compile(source, name, "exec"), scope)
    return scope["program"], source


@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_as_python(first):
    for seed in range(first, first + BATCH):
        program, source = function_of(seed)
        with tw.Graph().as_default(), tw.Session() as session:
            a, b, zero, numbers = (tw.placeholder(tw.int32, shape) for shape in ([], [], [], [3]))
            result = tw.convert_to_tensor(tw.autograph.to_graph(program)(a, b, zero, numbers))
            for x, y in ((3, 4), (-2, 7), (10, 0)):
                found = session.run(result, {a: x, b: y, zero: 0, numbers: [1, 2, 5]})
                assert found == program(x, y, 0, [1, 2, 5]), f"seed {seed}, a = {x}, b = {y}\n{source}"


def test_programs_have_what_they_are_to_test():
    sources = "".join(random_programs.make(seed) for seed in range(SEEDS))
    for word in ("break", "continue", "return", "while", "for", "elif", "else", " and ", " or ", "not "):
        assert sources.count(word) > 20, word
