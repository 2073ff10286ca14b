# SPDX-License-Identifier: Apache-2.0
"""benchmarks/processor.py: a table that is measured row by row, with made-up figures."""
import json
import os
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks"))
import processor
import results_folder
import speed_page


@pytest.fixture
def table(tmp_path, monkeypatch):
    """(measure, folder): `measure(arguments)` gives the (row, variant) of all processes; the one of `stopped` is interrupted."""
    done = []

    def one(row, variant, threads, seconds):
        if (row, variant) == measure.stopped:
            raise KeyboardInterrupt
        done.append((row, variant))
        return 1.0 if variant == "" else 2.0
    monkeypatch.setattr(processor, "measure", one)
    monkeypatch.setattr(results_folder, "commit", lambda: "0123456789ab")

    def measure(*arguments):
        done.clear()
        try:
            processor.main([*arguments, "--folder", str(tmp_path)])
        except KeyboardInterrupt:
            pass
        return list(done)
    measure.stopped = None
    return measure, tmp_path


def test_without_names_all_rows_are_measured_each_beside_its_others(table):
    measure, folder = table
    pairs = measure("--pairs", "1")
    assert {row for row, _ in pairs} == set(processor.ROWS)
    assert [v for row, v in pairs if row == "data_parse_queue"] == ["", "data", "tensorflow"]
    assert [v for row, v in pairs if row == "data_jpeg"] == ["", "tensorflow"]
    assert sorted(os.listdir(folder)) == sorted(f"{row}_2.json" for row in processor.ROWS)


def test_a_table_can_be_stopped_and_goes_on(table):
    measure, folder = table
    measure.stopped = ("b", "tensorflow")
    assert measure("a", "b", "--pairs", "1") == [("a", ""), ("a", "tensorflow"), ("b", "")]
    assert os.listdir(folder) == ["a_2.json"]
    measure.stopped = None
    assert measure("a", "b", "--pairs", "1") == [("b", ""), ("b", "tensorflow")]
    assert measure("a", "b", "--pairs", "1") == []


def test_what_was_measured_otherwise_is_measured_again(table, monkeypatch):
    measure, _ = table
    assert len(measure("a")) == 6 and measure("a") == []
    assert len(measure("a", "--pairs", "1")) == 2 and len(measure("a", "--pairs", "1", "--variants", "")) == 1
    monkeypatch.setattr(results_folder, "commit", lambda: "another")
    assert len(measure("a", "--pairs", "1", "--variants", "")) == 1


def test_the_page_shows_what_was_measured(table):
    measure, folder = table
    measure("data_jpeg")
    with open(folder / "data_jpeg_2.json") as f:
        results = json.load(f)
    assert results[0]["all"] == {"ours": [1.0] * 3, "tensorflow": [2.0] * 3}
    line, = speed_page.processor(results)
    assert line.startswith("| data_jpeg | 2 | 1 s | tensorflow-2.21 2 s: 0.50 | ") and "| 0123456 20" in line


def test_ours_must_be_among_the_variants(table, capsys):
    measure, _ = table
    with pytest.raises(SystemExit):
        measure("a", "--variants", "tensorflow")
    assert "--variants without ours" in capsys.readouterr().err
