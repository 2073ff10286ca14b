# SPDX-License-Identifier: Apache-2.0
"""Programs whose control flow follows tensors, and what both releases gave for them (autograph_recorded.json).

The programs stand in files named for what they hold. What a release gives: python autograph_cases.py > 2.21.json. Of both:
python autograph_cases.py 1.15.json 2.21.json
"""
import json
import os
import re
import sys

import autograph_functions  # noqa: F401  (its cases register themselves, as those of the next ones)
import autograph_mistakes  # noqa: F401
import autograph_statements  # noqa: F401
import numpy as np
from autograph_case import CASES, t


def _plain(value):
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    value = np.asarray(value)
    return {"value": value.tolist(), "dtype": str(value.dtype)}


def _said(error):
    """Type and first words of an error; TensorFlow puts them behind the lines where it happened."""
    text = str(error)
    found = re.findall(r"^    (\w+): ?(.*)$", text, re.MULTILINE) if text.startswith(("in converted code", "in user code")) else []
    name, words = found[-1] if found and not isinstance(error, t.errors.OpError) else (type(error).__name__, text)
    return {"error": name, "words": words.strip().split("\n")[0][:200]}


def outcome(module, name):
    """What a case gives for each tuple of arguments."""
    t.module = module
    function, calls, features = CASES[name]
    results = []
    for arguments in calls:
        with t.Graph().as_default(), t.Session() as session:
            try:
                options = features and getattr(t.autograph.experimental.Feature, features)
                made = t.function(function, experimental_autograph_options=options)
                results.append(_plain(session.run(made(*[t.constant(a) for a in arguments]))))
            except Exception as error:  # of any kind: it is recorded
                results.append(_said(error))
    return json.loads(json.dumps(results))


def recorded():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "autograph_recorded.json")) as file:
        return json.load(file)


def main():
    if len(sys.argv) == 3:
        releases = []
        for path in sys.argv[1:]:
            with open(path) as file:
                releases.append(json.load(file))
        with open("autograph_recorded.json", "w") as file:
            rows = [f"{json.dumps(n)}: {json.dumps({'1.15': releases[0][n], '2.21': releases[1][n]})}" for n in CASES]
            file.write("{\n" + ",\n".join(rows) + "\n}\n")
        return
    import tensorflow
    module = tensorflow.compat.v1
    if tensorflow.__version__.startswith("2"):
        module.disable_v2_behavior()
    print(json.dumps({name: outcome(module, name) for name in CASES}))


if __name__ == "__main__":
    main()
