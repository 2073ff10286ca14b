# SPDX-License-Identifier: Apache-2.0
"""Whether two answers to one request say the same."""
import numpy as np
from cases import numpy_type
from wire import unpack_array

# The committed tolerance table: relative and absolute, by element type.
TOLERANCE = {"float16": (4e-3, 1e-3), "bfloat16": (3e-2, 1e-2), "float32": (4e-5, 1e-5), "float64": (1e-9, 1e-11),
             "complex64": (1e-4, 1e-4), "complex128": (1e-9, 1e-10)}
# Classes of operations that neither engine computes to the last places: a factor to both.
ROUGH = {"Betainc": 1e3, "Igamma": 1e3, "Igammac": 1e3, "IgammaGradA": 1e4, "RandomGammaGrad": 1e4, "Zeta": 1e2, "Polygamma": 1e2,
         "Digamma": 10, "Lgamma": 10, "Qr": 10, "Svd": 10, "Ndtri": 10, "Erfinv": 10, "Cumprod": 4, "Prod": 4, "CTCLoss": 1e4, "CTCBeamSearchDecoder": 1e4, "ApplyCenteredRMSProp": 10, "ResourceApplyCenteredRMSProp": 10,
         "Tan": 4, "FusedBatchNormGradV3": 10, "FusedBatchNormGradV2": 10, "FusedBatchNormGrad": 10, "LSTMBlockCellGrad": 4,
         "BlockLSTMGrad": 10, "BlockLSTMGradV2": 10}
# What the words of a case's options mean to the comparison.
OPTIONS = {"bits": "equal to the last bit", "shapes": "values are nobody's promise", "loose": "ten times the tolerance",
           "sorted": "as sets of numbers", "signs": "but for signs of vectors", "reserve": "outputs behind the third, for the gradient alone or of chance, are left out",
           "ours only": "the other's kernel works in place on a constant", "derivatives": "a case for the derivatives",
           "shaped": "spoiled with values of known shapes: TensorFlow 2.21 refuses unknown ones",
           "waits": "not spoiled: with other input it waits, or another node refuses"}


def same_code(theirs, ours):
    """Equal codes; or a combination of types that has no kernel here, and in TensorFlow one that refuses it."""
    a, b = theirs["error"], ours["error"]
    return a["code"] == b["code"] or "no kernel is registered" in b["text"]


def near(x, y, kind, factor):
    if kind not in TOLERANCE:
        return np.equal(x, y)
    relative, absolute = (t * factor for t in TOLERANCE[kind])
    if kind in ("float16", "bfloat16"):  # sums are rounded at the size of their terms
        sizes = np.abs(np.asarray(x).astype(float))
        absolute *= max(1, np.max(sizes[np.isfinite(sizes)], initial=0)) * 4
    wide = complex if np.asarray(x).dtype.kind == "c" else float
    with np.errstate(all="ignore"):
        return np.isclose(y.astype(wide), x.astype(wide), rtol=relative, atol=absolute, equal_nan=True)


def arrays_differ(what, made, blocks, other, other_blocks, factor=1, options=()):
    if made["kind"] != other["kind"]:
        return f"{what}: theirs is {made['kind']}, ours {other['kind']}"
    if made["shape"] != other["shape"]:
        return f"{what}: theirs is of shape {made['shape']}, ours {other['shape']}"
    if "shapes" in options or "block" not in made:
        return None
    kind = made["kind"]
    x, y = (unpack_array(m, b, numpy_type(kind)) for m, b in ((made, blocks), (other, other_blocks)))
    if "sorted" in options:
        x, y = np.sort(x, -1), np.sort(y, -1)
    if "signs" in options:
        x, y = np.abs(x), np.abs(y)
    close = np.equal(x, y) if "bits" in options and x.dtype.kind != "c" else near(x, y, kind, factor * (10 if "loose" in options else 1))
    if np.all(close):
        return None
    at = tuple(int(i) for i in np.argwhere(~np.atleast_1d(close))[0])
    return f"{what} at {at}: theirs {np.atleast_1d(x)[at]!r}, ours {np.atleast_1d(y)[at]!r}"


def answers_differ(op, theirs, ours, options=()):
    """Why, or None. Each: (header, blocks)."""
    (a, x), (b, y) = theirs, ours
    if "error" in a or "error" in b:
        if "error" in a and "error" in b and same_code(a, b):
            return None
        def said(answer):
            return f"{answer['error']['class']} ({answer['error']['code']}, {answer['error']['stage']}): {answer['error']['text'][:160]!r}" if "error" in answer else "a value"
        return f"theirs: {said(a)}; ours: {said(b)}"
    factor = ROUGH.get(op, 1)
    for i, (p, q) in enumerate(zip(a["outputs"], b["outputs"])):
        if "reserve" in options and i >= 3:
            break
        why = arrays_differ(f"output {i}", p, x, q, y, factor, options)
        if why:
            return why
    return None


def gradients_differ(op, theirs, ours):
    (a, x), (b, y) = theirs, ours
    p, q = a.get("gradients"), b.get("gradients")
    if p is None or isinstance(p, str):
        return None  # no rule there, or one that fails
    if isinstance(q, str) or q is None:
        return f"derivatives: ours {q}"
    for i, (g, h) in enumerate(zip(p, q)):
        if (g is None) != (h is None):
            return f"derivative {i}: theirs is {'none' if g is None else 'there'}, ours {'none' if h is None else 'there'}"
        why = g and arrays_differ(f"derivative {i}", g, x, h, y, ROUGH.get(op, 1) * 10)
        if why:
            return why
    return None


def shapes_differ(theirs, ours, actual, options=()):
    """A shape known before the run that contradicts what came out, or knows less than TensorFlow's."""
    for way, p, q in zip(("known", "partly known", "unknown"), theirs, ours):
        if isinstance(p, str) or isinstance(q, str):
            if isinstance(q, str) and not isinstance(p, str):
                return f"inputs of {way} shape: ours {q}"
            continue
        for i, (s, t) in enumerate(zip(p, q)):
            if "reserve" in options and i >= 3:
                break
            if t is not None and (len(t) != len(actual[i]) or any(d is not None and d != n for d, n in zip(t, actual[i]))):
                return f"output {i}, inputs of {way} shape: ours infers {t}, the value has {actual[i]}"
            known = lambda s: -1 if s is None else sum(d is not None for d in s)  # noqa: E731
            if known(t) < known(s):
                return f"output {i}, inputs of {way} shape: theirs infers {s}, ours {t}"
    return None
