# SPDX-License-Identifier: Apache-2.0
"""A training run by a session with hooks, as TensorBoard shows it (users J3)."""
import os
import subprocess
import sys
import threading

import browser
import training


def test_a_training_run(tmp_path, start_board, chromium):
    subprocess.run([sys.executable, training.__file__, str(tmp_path / "run")], check=True, timeout=300)
    board = start_board(str(tmp_path))
    for _ in range(300):
        if len(board("graphs/info").get("run", {}).get("tags", ())) == 3:
            break
        threading.Event().wait(0.1)
    losses = board("scalars/scalars", run="run", tag="loss")
    assert [step for _, step, _ in losses] == [1, *range(11, 150, 10)]
    assert losses[-1][2] < 0.2 * losses[0][2]
    assert board("scalars/scalars", run="run", tag="accuracy")[-1][2] > 0.9
    assert "global_step/sec" in board("scalars/tags")["run"]
    assert board("histograms/tags") == {"run": {"kernel": {"displayName": "kernel", "description": ""}}} and "filters/image" in board("images/tags")["run"]
    assert set(board("graphs/info")["run"]["tags"]) == {"step 0", "step 50", "step 100"}
    assert 'node_name: "convolution/Conv2D"' in board.bytes("plugin/graphs/run_metadata", run="run", tag="step 100").decode()
    for page, wanted in (("timeseries", ["accuracy", "filters", "kernel", "141"]), ("graphs", ["training", "classifier", "convolution"])):
        chromium.open(f"{board.url}/?page={page}#{page}")
        chromium.wait_for_text(*wanted)
        chromium.run("[...document.querySelectorAll('button')].filter(b => b.textContent.includes('Settings')).forEach(b => b.click())")
        chromium.picture(os.path.join(browser.PICTURES, f"training_{page}.png"))
