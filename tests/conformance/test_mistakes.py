# SPDX-License-Identifier: Apache-2.0
"""Common mistakes of users of Python end as in a release: the class of the error, when it comes, and the head of its message."""
import fnmatch
import os
import sys

import mistakes
from heads import head, kind

LEFT = os.path.join(mistakes.FOLDER, "known_mistakes.txt")


def alike(ours, theirs):
    """Whether [class, when, message] is what a release made of the same mistake, numbers aside; None: no error."""
    if ours is None or theirs is None:
        return ours is theirs
    return ours[:2] == theirs[:2] and kind(head(ours[2])).startswith(kind(theirs[2]))


def test_mistakes_end_as_in_a_release():
    recorded = mistakes.recorded()
    with open(LEFT, encoding="utf-8") as f:
        lines = [line.split("|")[0].strip() for line in f if line.strip() and not line.startswith("#")]
    ours = mistakes.asked(sys.executable, "thalweg", environment=dict(os.environ))
    assert ours.keys() == recorded.keys() == mistakes.programs().keys() and len(ours) > 300
    differ = {name for name, said in recorded.items() if said and not any(alike(ours[name], theirs) for theirs in said.values())}
    unknown = sorted(name for name in differ if not any(fnmatch.fnmatchcase(name, line) for line in lines))
    assert not unknown, "\n".join(f"{name}\n    theirs: {recorded[name]}\n    ours:   {ours[name]}" for name in unknown)
    idle = [line for line in lines if not any(fnmatch.fnmatchcase(name, line) for name in differ)]
    assert not idle, f"lines of known_mistakes.txt that name no mistake which differs: {idle}"
