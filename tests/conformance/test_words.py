# SPDX-License-Identifier: Apache-2.0
"""Spoilt cases of which TensorFlow's messages are of the kinds that programs look for: ours begin with the same words."""
import collections

import words
from heads import kind


def test_messages_of_these_kinds_begin_with_the_same_words():
    recorded, lines = words.recorded(), words.left()
    ours = words.ours(recorded)
    found, alike = collections.defaultdict(list), set(range(len(lines)))
    for key, text in ours.items():
        line = words.reason(key, lines)
        if text is None or words.begins(text, recorded[key]):
            continue
        if line is None:
            found[kind(recorded[key][-1])].append(f"{key}: {text}")
        alike.discard(line)
    assert ours.keys() == recorded.keys() and len(ours) > 3000
    assert not found, "\n".join(f"theirs: {t}, {len(keys)} cases, {keys[0]}" for t, keys in found.items())
    assert not alike, f"lines of known_words.txt that name no case which differs: {[lines[i][0] for i in sorted(alike)]}"
