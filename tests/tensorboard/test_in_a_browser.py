# SPDX-License-Identifier: Apache-2.0
"""What a person sees (users J3): TensorBoard's pages, and Netron's of models, in a headless Chromium. Pictures are left in build/tensorboard/."""
import os

import browser
import netron
import pytest
import thalweg as tw
from thalweg.cluster.local_cluster import free_ports

# What each page has to show, beside its heading.
PAGES = {
    "timeseries": ["hyperparameters/run0", "picture"], "scalars": ["accuracy", "loss"], "images": ["dots/image_summary", "sample: 2 of 2"],
    "audio": ["beep/audio_summary", "model/sound"], "graphs": ["Main Graph", "global_step", "SummaryWriter", "GatherV2"],
    "distributions": ["model/weights", "values/histogram_summary"], "histograms": ["model/weights", "values/histogram_summary"],
    "text": ["model/table", "bold\nwords", "hello"], "pr_curves": ["curve/pr_curves", "operations is at", "message"], "mesh": ["shape"],
    "hparams": ["trial 0\n0.10000\nadam\n0.75000", "trial 1\n0.25000\nsgd\n0.50000"], "custom_scalars": ["number/scalar_summary (operations)"],
}


@pytest.mark.parametrize("board", ["true"], indirect=True, ids=["data server"])
@pytest.mark.parametrize("page", PAGES)
def test_pages(board, chromium, page):
    chromium.open(f"{board.url}/?page={page}#{page}")
    chromium.wait_for_text(*PAGES[page])
    chromium.picture(os.path.join(browser.PICTURES, page + ".png"))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A small network in each form in which models are written."""
    folder = tmp_path_factory.mktemp("models")
    with tw.Graph().as_default() as graph, tw.Session() as sess:
        pixels = tw.placeholder(tw.float32, [None, 8, 8, 1], name="pixels")
        kernel = tw.get_variable("kernel", [3, 3, 1, 4])
        seen = tw.nn.relu(tw.nn.conv2d(pixels, kernel, 1, "SAME", name="seen"), name="rectified")
        logits = tw.layers.dense(tw.layers.flatten(seen), 10, name="classes")
        sess.run(tw.global_variables_initializer())
        tw.saved_model.simple_save(sess, str(folder / "saved"), {"pixels": pixels}, {"logits": logits})
        tw.train.write_graph(graph, str(folder), "graph.pb", as_text=False)
        tw.train.write_graph(graph, str(folder), "graph.pbtxt")
        frozen = tw.graph_util.convert_variables_to_constants(sess, graph.as_graph_def(), [logits.op.name])
        tw.train.write_graph(frozen, str(folder), "frozen.pb", as_text=False)
        tw.train.Saver().save(sess, str(folder / "model"))
    return folder


_NETWORK = ["pixels", "Conv2D", "seen", "Relu", "rectified", "classes/MatMul"]


@pytest.mark.parametrize("file, wanted", [("saved/saved_model.pb", [*_NETWORK, "serving_default"]), ("graph.pb", _NETWORK),
                                          ("graph.pbtxt", _NETWORK), ("frozen.pb", [*_NETWORK, "〈3×3×1×4〉"]), ("model.meta", _NETWORK),
                                          ("model.index", ["kernel", "〈3×3×1×4〉", "classes"])])
def test_netron_draws_models(chromium, models, file, wanted):
    address = netron.start(str(models / file), address=("127.0.0.1", *free_ports(1)), browse=False)
    try:
        url = f"http://{address[0]}:{address[1]}/"
        chromium.ask("Network.setCookie", name="consent", value="1", url=url)  # else it asks first
        chromium.open(url)
        chromium.wait_for_text(*wanted)
        chromium.picture(os.path.join(browser.PICTURES, f"netron_{file.replace('/', '_')}.png"))
    finally:
        netron.stop(address)
