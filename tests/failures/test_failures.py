# SPDX-License-Identifier: Apache-2.0
"""The failure matrix (users A1 to A6, A10, A11): each row with real processes, several rows at a time."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import matrix
import play

ROWS = [*matrix.rows(), *matrix.of_their_own()]


@pytest.fixture(scope="module", name="results")
def played():
    return play.play_all(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:4]).replace(" ", "_"))
def test_row(results, row):
    play.check(row, results[row])


def test_the_page_has_these_rows_and_no_others():
    messages = matrix.read_messages()
    for row in ROWS:
        for words in row.words:
            assert matrix.without_numbers(words) in messages.get(row, ""), f"run tests/failures/matrix.py: {row}"
    with open(matrix.PAGE, encoding="utf-8") as f:
        assert f.read() == matrix.page(messages), "run: python tests/failures/matrix.py"
