# SPDX-License-Identifier: Apache-2.0
"""Random functions of integer arithmetic with nested control flow, as source: make(seed)."""
import random

NAMES = "abcd"


class _Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.counters = 0

    def number(self, depth=2):
        kind = self.random.random()
        if depth == 0 or kind < 0.35:
            return self.random.choice(NAMES)
        if kind < 0.55:
            return str(self.random.randint(-5, 9))
        if kind < 0.65:
            return f"({self.number(depth - 1)} if {self.truth(depth - 1)} else {self.number(depth - 1)})"
        return f"({self.number(depth - 1)} {self.random.choice('+-+-*')} {self.number(depth - 1)}) % 97"

    def truth(self, depth=2):
        kind = self.random.random()
        if depth == 0 or kind < 0.6:
            return f"{self.number(depth and 1)} {self.random.choice(['<', '>', '<=', '>='])} {self.number(depth and 1)}"
        if kind < 0.7:
            return f"not ({self.truth(depth - 1)})"
        if kind < 0.8:
            return f"{self.number(0)} < {self.number(0)} < {self.number(0)}"
        return f"({self.truth(depth - 1)} {self.random.choice(['and', 'or'])} {self.truth(depth - 1)})"

    def block(self, depth, in_loop, indent):
        rows = []
        for _ in range(self.random.randint(1, 3)):
            rows += self.statement(depth, in_loop, indent)
        return rows

    def statement(self, depth, in_loop, indent):
        at = "    " * indent
        kind = self.random.random()
        if depth == 0 or kind < 0.3:
            name = self.random.choice(NAMES)
            if self.random.random() < 0.3:
                return [f"{at}{name} += {self.number()}"]
            return [f"{at}{name} = {self.number()}"]
        if kind < 0.6:
            rows = [f"{at}if {self.truth()}:", *self.block(depth - 1, in_loop, indent + 1)]
            if self.random.random() < 0.3:
                rows += [f"{at}elif {self.truth()}:", *self.block(depth - 1, in_loop, indent + 1)]
            if self.random.random() < 0.6:
                rows += [f"{at}else:", *self.block(depth - 1, in_loop, indent + 1)]
            return rows
        if kind < 0.7 and in_loop:
            return [f"{at}if {self.truth()}:", f"{at}    {self.random.choice(['break', 'continue'])}"]
        if kind < 0.76:
            return [f"{at}if {self.truth()}:", f"{at}    return {self.number()}"]
        if kind < 0.88:
            self.counters += 1
            counter = f"k{self.counters}"
            rows = [f"{at}{counter} = {self.random.choice(['zero', '0'])}", f"{at}while {counter} < {self.random.randint(1, 5)} and {self.truth()}:",
                    f"{at}    {counter} += 1", *self.block(depth - 1, True, indent + 1)]
        else:
            over = self.random.choice([f"range({self.random.randint(0, 4)})", f"range(zero + {self.random.randint(0, 5)})", "numbers"])
            rows = [f"{at}for {self.random.choice(NAMES)} in {over}:", *self.block(depth - 1, True, indent + 1)]
        if self.random.random() < 0.2:
            rows += [f"{at}else:", *self.block(depth - 1, in_loop, indent + 1)]
        return rows


def make(seed):
    """The source of `program(a, b, zero, numbers)`."""
    maker = _Maker(seed)
    rows = ["def program(a, b, zero, numbers):", "    c = a + 1", "    d = b - 2"]
    for _ in range(maker.random.randint(2, 4)):
        rows += maker.statement(3, False, 1)
    return "\n".join([*rows, f"    return {maker.number()} + a + 2 * b + 3 * c + 5 * d"]) + "\n"
