# SPDX-License-Identifier: Apache-2.0
"""The graph view of the page that `thalweg trace view` writes (papers A9.1), looked at and used in a headless Chromium."""
import os

import browser
import pytest
import trace_files
from test_trace_page import show
from trace_files import PS, WORKER

# A block by its path.
_FIND = """(() => { const find = (block) => block.path === %s ? block : block.children.map(find).find(Boolean);
  return find(app.graphView.graph.root); })()"""


def block(chromium, path, value):
    """What an expression of `b` is, a block by its path."""
    return chromium.run(f"(() => {{ const b = {_FIND % repr(path)}; return {value}; }})()")


def click_block(chromium, path):
    """Clicks on the upper left corner of a block."""
    chromium.wait_for("!app.graphView.asked")
    x, y = block(chromium, path, """(() => { const g = app.graphView, at = g.cornerOf(b), box = g.canvas.getBoundingClientRect();
      return [box.left + (at.x + 6 - g.x) * g.scale, box.top + (at.y + 6 - g.y) * g.scale]; })()""")
    chromium.click(x, y)


def layer(scope, source, kind="Relu"):
    """A layer: a product with a variable and what comes after; its books beside it."""
    return [(f"{scope}/w", "VariableV2", []), (f"{scope}/w/read", "Identity", [f"{scope}/w"]),
            (f"{scope}/MatMul", "MatMul", [source, f"{scope}/w/read", "^init"]), (f"{scope}/act", kind, [f"{scope}/MatMul"])]


@pytest.fixture(scope="module")
def layers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    step = trace_files.Step()
    nodes = [("x", "Placeholder", []), ("init", "NoOp", []), *layer("first", "x"), *layer("second", "first/act"), *layer("third", "second/act", "Tanh"),
             ("loss", "Sum", ["third/act"]), ("save/SaveV2", "SaveV2", ["first/w"]), ("seen", "HistogramSummary", ["loss"]),
             # The operations of the first two, read in another order.
             ("fourth/w", "VariableV2", []), ("fourth/w/read", "Identity", ["fourth/w"]), ("fourth/act", "Relu", ["fourth/w/read"]),
             ("fourth/MatMul", "MatMul", ["x", "fourth/act"])]
    at = 0
    for name, op, inputs in nodes[2:14]:
        time = 500 if name == "second/MatMul" else 10
        step.node(WORKER, name, f"{op}({', '.join(inputs)})", at, at + time)
        at += time + 1
    step.graph(WORKER, *nodes).graph(PS, ("p", "Const", []))
    step.node(PS, "p", "Const()", 0, 5)
    return trace_files.page_of([step.write(folder / "step.pb")], folder / "step.html")


def test_scopes_are_blocks_and_books_are_set_aside(chromium, layers):
    show(chromium, layers)
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    assert "22 nodes, 8 nodes set aside" in chromium.run("document.getElementById('graph-bar').textContent")
    assert chromium.run("app.graphView.graph.root.children.map((b) => b.path)") == ["first", "fourth", "loss", "second", "third", "x"]
    assert block(chromium, "first", "[b.nodes, b.aside]") == [3, 1]
    # Edges go through the identities, and upwards to the blocks.
    edges = "app.graphView.graph.root.edges.map(({from, to}) => from.path + '>' + to.path).sort()"
    assert chromium.run(edges) == ["first>second", "second>third", "third>loss", "x>first", "x>fourth"]
    inner = block(chromium, "first", "b.edges.map(({from, to}) => from.path + '>' + to.path).sort()")
    assert inner == ["first/MatMul>first/act", "first/w>first/MatMul"]
    # What is read stands above what reads it.
    assert chromium.run("(() => { const g = app.graphView.graph.root; return g.edges.every(({from, to}) => from.y + from.height < to.y); })()")
    chromium.picture(os.path.join(browser.PICTURES, "graph_layers.png"))


def test_identical_structures_have_one_color(chromium, layers):
    show(chromium, layers)
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    first, second, third, fourth = (block(chromium, path, "b.kind") for path in ("first", "second", "third", "fourth"))
    assert first == second and len({first, third, fourth}) == 3
    pixels = [block(chromium, path, """(() => { const g = app.graphView, at = g.cornerOf(b), r = devicePixelRatio;
      return Array.from(g.context.getImageData((at.x + b.width / 2 - g.x) * g.scale * r, (at.y + b.height - 3 - g.y) * g.scale * r, 1, 1).data); })()""")
              for path in ("first", "second", "third")]
    assert pixels[0] == pixels[1] != pixels[2]


def test_blocks_open_and_close(chromium, layers):
    show(chromium, layers)
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    height = block(chromium, "second", "b.height")
    click_block(chromium, "second")
    assert block(chromium, "second", "b.opened")
    assert block(chromium, "second", "b.height") > 3 * height
    assert "3, and 1 set aside" in chromium.run("document.getElementById('details').textContent")
    chromium.picture(os.path.join(browser.PICTURES, "graph_opened.png"))
    click_block(chromium, "second")
    assert block(chromium, "second", "[b.opened, b.height]") == [False, height]
    assert chromium.run("app.graphView.selected.path") == "second"
    chromium.key("Escape")
    assert chromium.run("app.graphView.selected") is None


def test_from_a_span_to_its_node_and_back(chromium, layers):
    show(chromium, layers)
    place = chromium.run("Array.from({length: app.trace.size}, (_, i) => i).find((i) => app.trace.name(i) === 'second/MatMul')")
    chromium.run(f"app.goToSpan({place})")
    chromium.wait_for_text("show in the graph")
    chromium.key("g")
    assert chromium.run("[app.graphView.is_shown, app.graphView.selected.path, app.canvas.hidden]") == [True, "second/MatMul", True]
    assert block(chromium, "second", "b.opened"), "what holds it is open"
    said = chromium.run("document.getElementById('details').textContent")
    assert "500 us in 1 call" in said and "first/act (Relu)" in said and "second/act (Relu)" in said and "1 control input" in said
    # An input that is set aside leads to the block that holds it.
    chromium.run("Array.from(document.querySelectorAll('#details .pick')).find((e) => e.textContent.startsWith('second/w/read')).click()")
    assert "Identity, set aside" in chromium.run("document.getElementById('details').textContent")
    chromium.run("app.graphView.goTo(app.graphView.numbers.get(`${app.trace.rowOf(%d).device} second/MatMul`))" % place)
    chromium.run("app.select(-1)")
    chromium.key("g")
    assert chromium.run("[app.graphView.is_shown, app.selected]") == [False, place]


def test_the_graph_is_read_and_fitted_when_it_is_first_shown(chromium, tmp_path):
    nodes = [(f"node{i}", "Relu", [f"node{i - 1}"] if i else []) for i in range(40)]
    step = trace_files.Step().node(WORKER, "node3", "Relu(node2)", 0, 10).node(WORKER, "elsewhere", "Relu()", 20, 30).graph(WORKER, *nodes)
    page = trace_files.page_of([step.write(tmp_path / "step.pb")], tmp_path / "step.html")
    place = "Array.from({length: app.trace.size}, (_, i) => i).find((i) => app.trace.name(i) === '%s')"
    for name, then in (("node3", ["Escape", "g"]), ("elsewhere", ["g"])):
        show(chromium, page)
        chromium.run(f"app.goToSpan({place % name})")
        chromium.wait_for_text("show in the graph")
        assert chromium.run("app.graphView.graph") is None, "to look at a span reads no graph"
        for key in then:
            chromium.key(key)
        chromium.wait_for("app.graphView.frames > 0")
        seen = chromium.run("(({x, y, scale}) => [x, y, scale])(app.graphView)")
        chromium.run("app.graphView.fit()")
        assert chromium.run("(({x, y, scale}) => [x, y, scale])(app.graphView)") == seen
        assert chromium.run("app.graphView.selected") is None


def test_colors_by_time_and_device(chromium, layers):
    show(chromium, layers)
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    assert block(chromium, "second", "b.time") == 530_000, "of all of its nodes, books too"
    for color in ("time", "device", "structure"):
        chromium.run(f"document.querySelector('#graph-bar [data-color={color}]').click()")
        chromium.wait_for("!app.graphView.asked")
        assert chromium.run("document.querySelector('#graph-bar .chosen').textContent") == color
    assert block(chromium, "first", "b.device") == block(chromium, "third", "b.device") >= 0


def test_a_trace_without_graphs(chromium, tmp_path):
    show(chromium, trace_files.page_of([trace_files.delayed_step().write(tmp_path / "step.pb")], tmp_path / "step.html"))
    chromium.key("g")
    chromium.wait_for_text("This trace has no partition graphs")
    chromium.key("w")
    chromium.key("g")
    assert chromium.run("[app.graphView.is_shown, app.canvas.hidden]") == [False, False]


def test_hostile_graphs(chromium, tmp_path):
    """Circles, names that are markup, empty, endless or scopes of themselves, inputs that are not there."""
    deep = "/".join(["a"] * 20_000)
    nodes = [("a", "Merge", ["c"]), ("b", "Add", ["a", "a", "b"]), ("c", "NextIteration", ["b", "nobody"]), (deep, "Add", ["a"]),
             ("</script><img src=x>", "<b>", ["a"]), ("i", "Identity", ["i2"]), ("i2", "Identity", ["i"]), ("r", "Relu", ["i"]), ("/", "Add", []), ("//x", "Add", [])]
    step = trace_files.Step().node(WORKER, "a", "Merge(c)", 0, 10).graph(WORKER, *nodes)
    show(chromium, trace_files.page_of([step.write(tmp_path / "step.pb")], tmp_path / "step.html"))
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    chromium.run("(() => { const open = (b) => { b.opened = true; b.children.forEach(open); }; open(app.graphView.graph.root); "
                 "GraphLayout.place(app.graphView.graph.root); app.graphView.fit(); })()")
    chromium.wait_for("!app.graphView.asked")
    assert chromium.run("[app.graphView.graph.size, app.graphView.graph.leaves.filter(Boolean).length]") == [10, 8]
    assert chromium.run("document.images.length") == 0


def test_36000_nodes(chromium, tmp_path):
    """As many as the white paper's largest graph has (papers A9.1)."""
    nodes = [("x", "Placeholder", [])]
    for tower in range(40):
        last = "x"
        for number in range(225):
            scope = f"tower_{tower}/stage_{number // 15}/layer_{number}"
            nodes += layer(scope, last)
            last = f"{scope}/act"
    step = trace_files.Step().node(WORKER, "tower_3/stage_0/layer_5/MatMul", "MatMul()", 0, 10).graph(WORKER, *nodes)
    show(chromium, trace_files.page_of([step.write(tmp_path / "large.pb")], tmp_path / "large.html"))
    chromium.key("g")
    chromium.wait_for("app.graphView.frames > 0")
    assert chromium.run("app.graphView.graph.size") == 36_001
    # Forty towers are one series, and each of them fifteen stages of one.
    assert chromium.run("app.graphView.graph.root.children.map((b) => b.children.length)") == [0, 40]
    chromium.run("app.goToSpan(0)")
    chromium.key("g")
    assert chromium.run("app.graphView.selected.path") == "tower_3/stage_0/layer_5/MatMul"
    chromium.wait_for("!app.graphView.asked")
    assert chromium.run("app.graphView.drawn") < 400, "only what is opened and seen is drawn"
    chromium.picture(os.path.join(browser.PICTURES, "graph_36000.png"))
