# SPDX-License-Identifier: Apache-2.0
"""The head of a message: what programs look for. Python 3.7 and later."""
import re

NOT_THE_SENTENCE = ("Graph execution error", "Detected at node", 'File "', "node ", "Node: ")


def sentence(text):
    """What a release says, without the names of nodes."""
    line = next((part for part in text.split("\n") if part.strip() and not part.strip().startswith(NOT_THE_SENTENCE)), "")
    return re.split(r" for '| \[\[|\t| on /job", re.sub(r"\{\{[^}]*\}\} ?", "", line))[0].strip().rstrip(".")


def head(text):
    """The first words of a sentence, without addresses, lists of types, operands, names of machines, and what follows."""
    first = re.split(r"\. |: bfloat16|, expected: \[| in binary running on | \[x \(|<(?:tensorflow|thalweg)\.", sentence(text))[0]
    first = re.sub(r"<dtype: '(\w+)'>", r"tf.\1", first.replace("[] ", ""))
    return re.sub(r" 0x[0-9a-f]+", " 0x", first).strip()


def kind(text):
    """A sentence without its numbers."""
    return re.sub(r"-?\d+", "N", re.sub(r"\[[-\d,? ]*\]|<unknown>", "S", text))
