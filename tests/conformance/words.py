# SPDX-License-Identifier: Apache-2.0
"""Whether messages begin with TensorFlow's words: words.py [--kinds] [OPERATION ...]

The first case of each operation is spoilt as in expansion.py, once with shapes that are known when the graph is made and once with
shapes that are not; what each engine says is compared up to the names of nodes. Prints the kinds that differ, those of most
operations first; nothing depends on the count. With --kinds only cases of which a release's message is of one of KINDS, and what
the releases say of these is written to FILE, which test_words.py holds us to.
"""
import collections
import fnmatch
import gzip
import json
import os
import re
import sys

import numpy as np
from cases import Built, type_choices
from engines import at_work, engines
from expansion import CHANGES, all_cases, releases_of
from heads import kind, sentence

SHOWN = 60
# The heads that programs look for.
KINDS = re.compile("|".join((
    r"Attempting to use uninitialized value ", r"You must feed a value for placeholder tensor '", r"indices\S* = .* is not in \[0, ", r"Expected begin",
    r"Dimensions must be equal, but are ", r"Dimension \S+ in both shapes must be equal", r"(?:\w+ )*[Mm]ust be (?:at (?:least|most) )?rank ")))
FOLDER = os.path.dirname(os.path.abspath(__file__))
FILE = os.path.join(FOLDER, "recorded_words.gz")
LEFT = os.path.join(FOLDER, "known_words.txt")


def spoilt(chosen):
    """(key, case, types, graph)"""
    for number, made in all_cases():
        if number or not type_choices(made) or "waits" in made.options or (chosen and made.op not in chosen):
            continue
        types = type_choices(made)[0]
        for form in ("known", "unknown"):
            values = Built(made, types, made.op, fed=form == "unknown").values
            for i, (_, value) in enumerate(values):
                for name, change in CHANGES.items():
                    if change(value) is not None:
                        yield (f"{made.op}/{form}/{i}:{name}", made, types,
                               Built(made, types, made.op, fed=form == "unknown", change=(i, lambda v, change=change: np.asarray(change(v)))))


def ours_of(error):
    """Our sentence, without the node before it."""
    return re.sub(r"^\w+ 'op'[^:]*: ", "", error["text"].split("\n")[0])


def begins(ours, theirs):
    """Whether ours begins with the words of one of theirs, numbers and shapes aside."""
    return any(kind(ours).startswith(kind(t)) for t in theirs)


def recorded():
    """{key: what releases say} of the cases of KINDS."""
    with gzip.open(FILE, "rt", encoding="utf-8") as f:
        return json.load(f)


def left():
    """[pattern, reason]: cases of KINDS whose heads are other ones."""
    with open(LEFT, encoding="utf-8") as f:
        return [[part.strip() for part in line.split("|")] for line in f if line.strip() and not line.startswith("#")]


def reason(key, lines):
    """The number of the line that names this case, or None."""
    return next((i for i, (patterns, _) in enumerate(lines) if any(fnmatch.fnmatchcase(key, p) for p in patterns.split())), None)


def ours(keys):
    """{key: our sentence, None where we refuse nothing} of recorded cases."""
    run = engines("words_")["thalweg"]
    for key, _, _, built in spoilt({key.split("/")[0] for key in keys}):
        if key in keys:
            run.add(*built.request(key))
    at_work([run], lambda line: None)
    found = {key: answer[0].get("error") for key, answer in run.found.items()}
    return {key: ours_of(error) if error else None for key, error in found.items()}


def write(said):
    """Said of whole operations takes the place of what was said of these before."""
    kept = recorded() if os.path.exists(FILE) else {}
    asked = {key.split("/")[0] for key in said}
    kept = {key: theirs for key, theirs in kept.items() if key.split("/")[0] not in asked}
    kept.update({key: theirs for key, theirs in said.items() if any(KINDS.match(t) for t in theirs)})
    with open(FILE, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as packed:
        packed.write(json.dumps(kept, sort_keys=True).encode())


def main(arguments):
    only, chosen = "--kinds" in arguments, {a for a in arguments if a != "--kinds"}
    runs, keys = engines("words_"), []
    for key, made, types, built in spoilt(chosen):
        header, blocks = built.request(key)
        releases = releases_of(made, types, built.ops)
        for name in ("thalweg", *releases):
            if name in runs:
                runs[name].add(header, blocks)
        keys.append((key, releases))
    at_work(list(runs.values()), print)
    same, differ, kinds, all_said = 0, 0, collections.defaultdict(set), {}
    for key, releases in keys:
        said = [runs[r].found[key][0].get("error") for r in releases if r in runs]
        theirs, error = [t for t in (sentence(e["text"]) for e in said if e) if t], runs["thalweg"].found[key][0].get("error")
        if not theirs or not error:
            continue  # which of the two refuses is what run_ops.py compares
        all_said[key] = theirs
        first = ours_of(error)
        if only and not any(KINDS.match(t) for t in theirs):
            continue
        if begins(first, theirs):
            same += 1
            continue
        differ += 1
        kinds[key.split("/")[1], kind(theirs[-1])[:100], kind(sentence(first))[:100]].add(key)
    for (form, their, our), found in sorted(kinds.items(), key=lambda pair: -len({k.split("/")[0] for k in pair[1]}))[:SHOWN]:
        print(f"{len({k.split('/')[0] for k in found})} operations, shapes {form}, {min(found)}\n  theirs: {their}\n  ours:   {our}")
    if only:
        write(all_said)
    print(f"{same} messages begin with the words of a release, {differ} do not ({len(kinds)} kinds)")


if __name__ == "__main__":
    main(sys.argv[1:])
