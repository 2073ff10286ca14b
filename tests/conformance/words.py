# SPDX-License-Identifier: Apache-2.0
"""Whether messages begin with TensorFlow's words: words.py [OPERATION ...]

The first case of each operation is spoilt as in expansion.py, once with shapes that are known when the graph is made and once with
shapes that are not; what each engine says is compared up to the names of nodes. Prints the kinds that differ, those of most
operations first; nothing depends on the count.
"""
import collections
import re
import sys

import numpy as np
from cases import Built, type_choices
from engines import at_work, engines
from expansion import CHANGES, all_cases, releases_of

SHOWN = 60
NOT_THE_SENTENCE = ("Graph execution error", "Detected at node", "  File", "node ", "Node: ")


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


def sentence(text):
    """What a release says, without the names of nodes."""
    line = next((part for part in text.split("\n") if part.strip() and not part.startswith(NOT_THE_SENTENCE)), "")
    return re.split(r" for '| \[\[|\t| on /job", re.sub(r"\{\{[^}]*\}\} ?", "", line))[0].strip().rstrip(".")


def kind(text):
    """A sentence without its numbers."""
    return re.sub(r"-?\d+", "N", re.sub(r"\[[-\d,? ]*\]", "S", text))[:100]


def main(chosen):
    runs, keys = engines("words_"), []
    for key, made, types, built in spoilt(chosen):
        header, blocks = built.request(key)
        releases = releases_of(made, types, built.ops)
        for name in ("thalweg", *releases):
            if name in runs:
                runs[name].add(header, blocks)
        keys.append((key, releases))
    at_work(list(runs.values()), print)
    same, differ, kinds = 0, 0, collections.defaultdict(set)
    for key, releases in keys:
        said = [runs[r].found[key][0].get("error") for r in releases if r in runs]
        theirs, ours = [sentence(e["text"]) for e in said if e], runs["thalweg"].found[key][0].get("error")
        if not theirs or not ours:
            continue  # which of the two refuses is what run_ops.py compares
        first = re.sub(r"^\w+ 'op'[^:]*: ", "", ours["text"].split("\n")[0])
        if any(t and first.startswith(t) for t in theirs):
            same += 1
            continue
        differ += 1
        kinds[key.split("/")[1], kind(theirs[-1]), kind(sentence(first))].add(key)
    for (form, their, our), found in sorted(kinds.items(), key=lambda pair: -len({k.split("/")[0] for k in pair[1]}))[:SHOWN]:
        print(f"{len({k.split('/')[0] for k in found})} operations, shapes {form}, {min(found)}\n  theirs: {their}\n  ours:   {our}")
    print(f"{same} messages begin with the words of a release, {differ} do not ({len(kinds)} kinds)")


if __name__ == "__main__":
    main(set(sys.argv[1:]))
