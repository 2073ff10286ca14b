# SPDX-License-Identifier: Apache-2.0
"""Options of datasets go on to the stages behind, as in 2.21."""
import pytest

import thalweg as tw

Dataset = tw.data.Dataset


def options(**values):
    made = tw.data.Options()
    for name, value in values.items():
        setattr(made, name, value)
    return made


FREE, FIXED = options(experimental_deterministic=False), options(experimental_deterministic=True)
STAGES = {
    "map": lambda d: d.map(lambda x: x), "batch": lambda d: d.batch(2).prefetch(1), "padded_batch": lambda d: d.padded_batch(2, []),
    "zip": lambda d: Dataset.zip((Dataset.range(3), d)), "concatenate": lambda d: Dataset.range(3).concatenate(d),
    "choose": lambda d: tw.data.experimental.choose_from_datasets([Dataset.range(2), d], Dataset.range(2)),
    "shuffle": lambda d: d.shuffle(3).repeat(2).take(1).enumerate(),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_has_the_options_of_what_it_is_made_of(stage):
    assert STAGES[stage](Dataset.range(5).with_options(FREE)).options().experimental_deterministic is False
    assert STAGES[stage](Dataset.range(5)).options() == tw.data.Options()


def test_of_several_inputs_the_later_one_counts_where_it_says_something():
    free, fixed = Dataset.range(3).with_options(FREE), Dataset.range(3).with_options(FIXED)
    assert Dataset.zip((free, fixed)).options().experimental_deterministic is True
    assert Dataset.zip((fixed, free)).options().experimental_deterministic is False
    assert Dataset.zip((free, Dataset.range(3))).options().experimental_deterministic is False
    assert free.with_options(FIXED).options().experimental_deterministic is True


def test_options_within_options_are_merged_one_by_one():
    threads, both = tw.data.Options(), tw.data.Options()
    threads.experimental_threading.private_threadpool_size = 3
    both.experimental_threading.max_intra_op_parallelism = 1
    made = Dataset.range(3).with_options(threads).with_options(FREE).with_options(both).options()
    assert made.experimental_threading.private_threadpool_size == 3
    assert made.experimental_threading.max_intra_op_parallelism == 1
    assert threads.experimental_threading.max_intra_op_parallelism is None


def test_options_of_functions_datasets_stay_theirs_and_answers_are_copies():
    inner = Dataset.range(3).flat_map(lambda x: Dataset.range(2).with_options(FREE))
    assert inner.options().experimental_deterministic is None
    free = Dataset.range(3).with_options(FREE)
    free.options().experimental_deterministic = True
    assert free.options().experimental_deterministic is False


def test_the_names_of_2_x_are_those_of_1_15():
    made = options(deterministic=False)
    assert made.experimental_deterministic is False and made.deterministic is False
    made.threading.private_threadpool_size = 3
    assert made.threading is made.experimental_threading
    assert Dataset.range(3).with_options(made).options() == made
