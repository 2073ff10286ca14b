# SPDX-License-Identifier: Apache-2.0
"""Who is faster, by two figures that must agree: the median of the paired ratios, and the ratio of the medians.

    c = verdict.of(result, "torch")     a result of bench.py, of this and of earlier forms
    c.paired, c.of_medians, c.low, c.high, c.verdict       low and high: of the single pairs, None where those were not kept
"""
import collections

Comparison = collections.namedtuple("Comparison", "paired of_medians low high verdict")
EVEN = 1.05      # within this factor of 1, both figures: even
DIFFER = 1.15    # figures that are further apart do not agree
CLOSE = 1.3      # and that matters where one of them is this near to 1

RULE = ("*ahead* and *behind*: both figures say so, and four of five pairs; *even*: both lie within 5 % of 1; *undecided*: one is above 1 and the\n"
        "other below, or they differ by more than 15 % and one of them is within 1.3 times of 1, or more than one pair in five says otherwise.")


def judge(paired, of_medians, pairs=()):
    """`pairs`: the ratios of which `paired` is the median, where they were kept."""
    low, high = sorted((paired, of_medians))
    if 1 / EVEN <= low and high <= EVEN:
        return "even"
    if low <= 1 <= high or high / low > DIFFER and (1 / CLOSE < high < 1 or 1 < low < CLOSE):
        return "undecided"
    against = sum(x > 1 if high < 1 else x < 1 for x in pairs)
    return "undecided" if against * 5 > len(pairs) else "ahead" if high < 1 else "behind"


def of(result, label):
    """The comparison of a result with one of its peers."""
    pairs = result.get("pairs", {}).get(label, [])
    paired, of_medians = result["ratios"][label], result["value"] / result["peers"][label]
    low, high = (min(pairs), max(pairs)) if pairs else (None, None)
    return Comparison(paired, of_medians, low, high, judge(paired, of_medians, pairs))


def against_all(result):
    """The verdict on a result beside all its peers: that of the peer which is least in our favor."""
    found = [of(result, label).verdict for label in result["peers"]]
    return next((each for each in ("behind", "undecided", "even", "ahead") if each in found), "")


def show(comparison, digits=2):
    """'0.85 [0.80..0.91] / 1.19 undecided': of the pairs with their spread, of the medians, the verdict."""
    spread = "" if comparison.low is None else f" [{comparison.low:.{digits}f}..{comparison.high:.{digits}f}]"
    return f"{comparison.paired:.{digits}f}{spread} / {comparison.of_medians:.{digits}f} {comparison.verdict}"
