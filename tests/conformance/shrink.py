# SPDX-License-Identifier: Apache-2.0
"""The smallest form of a case that still differs: fewer attributes, smaller shapes, one step at a time."""
from cases import Built, Gen, L
from engines import at_work, engines

ROUNDS = 4


def simpler(made):
    """Cases with one attribute less, or one dimension of one value smaller; of all values together where they share it."""
    for name in made.attrs:
        yield made._replace(attrs={k: v for k, v in made.attrs.items() if k != name})
    sizes = {d for i in flat(made.inputs) if isinstance(i, Gen) for d in i.shape if d > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in {1, size // 2}:
            yield made._replace(inputs=tuple(resized(i, size, smaller) for i in made.inputs))
    for n, i in enumerate(made.inputs):
        if isinstance(i, Gen):
            for at, d in enumerate(i.shape):
                if d > 1:
                    shape = i.shape[:at] + (1,) + i.shape[at + 1:]
                    yield made._replace(inputs=(*made.inputs[:n], Gen(i.way, shape), *made.inputs[n + 1:]))


def flat(inputs):
    for i in inputs:
        yield from i if isinstance(i, L) else [i]


def resized(value, size, smaller):
    if isinstance(value, L):
        return L(*[resized(v, size, smaller) for v in value])
    return Gen(value.way, [smaller if d == size else d for d in value.shape]) if isinstance(value, Gen) else value


def smallest(item, release, what, verdicts):
    """Words for the smallest case found."""
    best = item
    for _ in range(ROUNDS):
        tried = []
        runs = {k: r for k, r in engines("shrink").items() if k in ("thalweg", release)}
        if release not in runs:
            break  # recorded answers cannot be asked again
        for n, made in enumerate(simpler(best.case)):
            candidate = item._replace(key=f"{item.key}#{n}", case=made)
            try:
                request = Built(made, item.types, item.key).request(candidate.key, item.derivatives, False)
            except (KeyError, TypeError, ValueError, IndexError):
                continue  # an attribute that is needed
            tried.append(candidate)
            for r in runs.values():
                r.add(*request)
        at_work(list(runs.values()), lambda text: None)
        answers = {name: r.found for name, r in runs.items()}
        still = [c for c in tried if verdicts(c, answers, release).get(what) and "error" not in answers[release][c.key][0]]
        if not still:
            break
        best = still[0]
    shapes = [getattr(i, "shape", "constant") for i in flat(best.case.inputs)]
    return f"{best.case.op}, shapes {shapes}, attributes {best.case.attrs}, types {best.types}"
