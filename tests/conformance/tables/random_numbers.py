# SPDX-License-Identifier: Apache-2.0
"""Random operations with seeds: the same bits. Those without seeds have no value to compare; their shapes and errors are."""
from cases import Fed, case, num, pos, res

SEEDS = dict(seed=3, seed2=7)
CASES = [
    *[case(op, [3, 5], options=("bits",), **SEEDS) for op in ("RandomStandardNormal", "RandomUniform", "TruncatedNormal")], *[case(op, Fed([2, -1]), **SEEDS) for op in ("RandomStandardNormal", "RandomUniform", "TruncatedNormal")], case("RandomUniformInt", [3, 5], -4, 9, options=("bits",), **SEEDS), case("RandomUniformInt", [3], Fed(9), Fed(9), **SEEDS),
    case("RandomGamma", [4], pos(3), **SEEDS), case("RandomPoisson", [4], pos(3), options=("bits",), **SEEDS), case("RandomPoissonV2", [4], pos(3), options=("bits",), **SEEDS), case("RandomShuffle", num(6, 2), options=("bits",), **SEEDS), case("Multinomial", num(2, 4), 6, options=("bits",), **SEEDS), case("ParameterizedTruncatedNormal", [3, 4], 0, 1, -1, 2, **SEEDS),
    *[case(op, [3, 5], Fed([5, 7]), options=("bits",)) for op in ("StatelessRandomNormal", "StatelessRandomUniform", "StatelessTruncatedNormal")], case("StatelessRandomUniformInt", [3, 5], Fed([5, 7]), -4, 9, options=("bits",)), case("StatelessRandomUniformFullInt", [3, 5], Fed([5, 7]), options=("bits",)),
    *[case(op, [3, 5], Fed([5]), Fed([7, 9]), alg, options=("bits",)) for op in ("StatelessRandomNormalV2", "StatelessRandomUniformV2", "StatelessTruncatedNormalV2", "StatelessRandomUniformFullIntV2") for alg in (1, 2)], *[case("StatelessRandomUniformIntV2", [3, 5], Fed([5]), Fed([7, 9]), alg, -4, 9, options=("bits",)) for alg in (1, 2, 9)],
    case("StatelessMultinomial", num(2, 4), 6, Fed([5, 7]), options=("bits",)), case("StatelessParameterizedTruncatedNormal", [3, 4], Fed([5, 7]), 0, 1, -1, 2), case("StatelessRandomBinomial", [3, 4], Fed([5, 7]), Fed(9), Fed(0.4), options=("bits",)), case("StatelessRandomGammaV2", [4, 3], Fed([5, 7]), pos(3)), case("StatelessRandomGammaV3", [4, 3], Fed([5]), Fed([7, 9]), 1, pos(3)),
    case("StatelessRandomPoisson", [4, 3], Fed([5, 7]), pos(3), options=("bits",)), case("StatelessRandomGetAlg"), case("StatelessRandomGetKeyCounter", Fed([5, 7])), case("StatelessRandomGetKeyCounterAlg", Fed([5, 7])), case("StatelessShuffle", num(5, 2), Fed([5]), Fed([7, 9]), 1, options=("bits",)), case("NonDeterministicInts", [3], options=("shapes",)),
    case("UniformCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=20, **SEEDS), case("LogUniformCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=20, **SEEDS), case("LearnedUnigramCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=20, **SEEDS),
    case("ThreadUnsafeUnigramCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=4, unique=False, range_max=20, **SEEDS), case("FixedUnigramCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=4, unique=True, range_max=4, unigrams=[1.0, 2.0, 3.0, 4.0], **SEEDS), case("AllCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=5, unique=True, **SEEDS),
    case("ComputeAccidentalHits", Fed([[1, 2], [3, 4]]), Fed([4, 1, 9]), num_true=2), case("UniformCandidateSampler", Fed([[1], [3]]), num_true=1, num_sampled=9, unique=True, range_max=4, **SEEDS),
]
STATE = res(Fed([3, 5, 7]))
for op, inputs in (("StatefulStandardNormalV2", ()), ("StatefulTruncatedNormal", ()), ("StatefulUniform", ()), ("StatefulUniformFullInt", ()), ("StatefulUniformInt", (-4, 9))):
    CASES.append(case(op, STATE, Fed(1), [3, 2], *inputs, options=("int64 state",)))
CASES += [case("StatefulRandomBinomial", STATE, Fed(1), [3], Fed(9.0), Fed(0.4), options=("int64 state",)), case("RngSkip", STATE, Fed(1), Fed(4), options=("int64 state",)), case("RngReadAndSkip", STATE, Fed(1), Fed(4), options=("int64 state",)), case("StatefulStandardNormal", STATE, [3], options=("int64 state", "shapes"))]
