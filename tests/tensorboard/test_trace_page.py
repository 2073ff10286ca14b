# SPDX-License-Identifier: Apache-2.0
"""The page that `thalweg trace view` writes (users J1, J2; papers A9.2), looked at and used in a headless Chromium."""
import json
import os

import browser
import pytest
import trace_files
from trace_files import PS, WORKER

READY = "typeof app !== 'undefined' && app !== undefined && app.painter.frames > 0"
# Where the middle of a span is on the page.
_POINT = """(() => { const box = app.canvas.getBoundingClientRect(), marks = app.painter.marks, trace = app.trace;
  const place = Array.from({length: trace.size}, (_, i) => i).find((i) => trace.name(i) === %s);
  return [Math.round(box.left + (marks.x(trace.starts[place]) + marks.x(trace.end(place))) / 2), Math.round(box.top + marks.y(place))]; })()"""


def show(chromium, url):
    chromium.open(url)
    chromium.wait_for(f"location.href === {json.dumps(url)} && {READY}")


def drawn(chromium):
    """Waits until what was asked for is on the screen."""
    chromium.wait_for("!app.painter.asked")


def window(chromium):
    return chromium.run("[app.view.begin, app.view.end]")


@pytest.fixture(scope="module")
def delayed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("delayed")
    return trace_files.page_of([trace_files.delayed_step().write(folder / "step.pb")], folder / "step.html")


def test_the_first_screen_says_why(chromium, delayed):
    show(chromium, delayed)
    text = chromium.wait_for_text("1. communication", f"{WORKER} waited", "160 kB (edge_0_v)", "had sent already", "Critical path")
    assert "step 0 of 1 step: 6.40 ms, 5 nodes on 2 devices" in text
    assert chromium.run("performance.getEntriesByType('resource').length") == 0, "the page needs nothing else"
    flag = chromium.run("app.painter.marks.flags[0]")
    begin, end = flag["stall"]["begin_nanos"], flag["stall"]["end_nanos"]
    assert end - begin == 5_050_000
    assert chromium.run(f"[app.painter.marks.x({begin}), app.painter.marks.x({end})]") == pytest.approx([flag["left"], flag["right"]])
    pixel = f"Array.from(app.painter.context.getImageData({int(flag['right']) - 4}, {int(flag['top']) + 3}, 1, 1).data)"
    assert chromium.run(pixel) == [0xc9, 0x30, 0x2c, 255], "the flag has the color of stalls"
    chromium.picture(os.path.join(browser.PICTURES, "trace_delayed.png"))


def test_zoom_and_pan(chromium, delayed):
    show(chromium, delayed)
    first = window(chromium)
    x, y = chromium.run(_POINT % '"y"')
    time = f"app.timeAt({x} - app.canvas.getBoundingClientRect().left)"
    under = chromium.run(time)
    chromium.mouse("Wheel", x, y, deltaX=0, deltaY=-600)
    chromium.wait_for(f"app.view.time < {(first[1] - first[0]) / 7}")
    assert chromium.run(time) == pytest.approx(under, abs=2), "what is under the pointer stays there"
    seen = window(chromium)
    for key, moves in (("w", lambda a, b: b[1] - b[0] < a[1] - a[0]), ("s", lambda a, b: b[1] - b[0] > a[1] - a[0]),
                       ("+", lambda a, b: b[1] - b[0] < a[1] - a[0]), ("-", lambda a, b: b[1] - b[0] > a[1] - a[0]),
                       ("a", lambda a, b: b[0] < a[0]), ("d", lambda a, b: b[0] > a[0]),
                       ("ArrowLeft", lambda a, b: b[0] < a[0]), ("ArrowRight", lambda a, b: b[0] > a[0])):
        chromium.key(key)
        now = window(chromium)
        assert moves(seen, now), f"{key}: {seen} became {now}"
        seen = now
    chromium.mouse("Pressed", x, y, button="left", clickCount=1)
    chromium.mouse("Moved", x - 100, y, button="left", buttons=1)
    chromium.mouse("Released", x - 100, y, button="left", clickCount=1)
    assert window(chromium)[0] > seen[0]
    assert chromium.run("app.selected") == -1, "a drag selects nothing"
    chromium.key("f")
    assert window(chromium) == pytest.approx(first)
    drawn(chromium)


def test_search(chromium, delayed):
    show(chromium, delayed)
    chromium.key("/")
    assert chromium.run("document.activeElement.id") == "search"
    for letter in "matmul":
        chromium.key(letter)
    chromium.wait_for_text("Found: 1 span, 1 name")
    assert chromium.run("app.found.map((place) => app.trace.name(place))") == ["y"]
    chromium.key("Enter")
    assert chromium.run("app.trace.name(app.selected)") == "y"
    chromium.key("Escape")
    assert "Stalls, worst first" in chromium.wait_for_text("1. communication")
    assert chromium.run("[app.found.length, app.search.input.value]") == [0, ""]


def test_details_causes_and_arrows(chromium, delayed):
    show(chromium, delayed)
    x, y = chromium.run(_POINT % '"y"')
    chromium.mouse("Moved", x, y)
    chromium.wait_for("!document.getElementById('tooltip').hidden")
    assert chromium.run("document.getElementById('tooltip').textContent") == "y\nMatMul, 1.00 ms\nworker/0 CPU:0"
    chromium.click(x, y)
    chromium.wait_for("!document.getElementById('details').hidden")
    rows = chromium.run("Object.fromEntries(Array.from(document.querySelectorAll('#details dt'), (e) => [e.textContent, e.nextSibling.textContent]))")
    assert rows == {"op": "MatMul", "task": "/job:worker/replica:0/task:0", "device": f"{WORKER}, lane 0", "start": "5.16 ms in step 0",
                    "duration": "1.00 ms", "waited": "4.00 us since it was scheduled", "after": "edge_0_v (5.14 ms)", "then": "beside (200 us)"}
    drawn(chromium)
    chromium.run("document.querySelector('#details dd .pick').click()")
    assert chromium.run("app.trace.name(app.selected)") == "edge_0_v"
    assert "edge_0_v, 160 kB, from ps/0 CPU:0" in chromium.run("document.getElementById('details').textContent")
    chromium.run("document.querySelector('#details dd .pick').click()")
    assert chromium.run("app.trace.name(app.selected)") == "v"
    assert "edge_0_v, 160 kB, to worker/0 CPU:0" in chromium.run("document.getElementById('details').textContent")
    # From the Send that is selected an arrow goes to its Recv: its color is on the way.
    chromium.key("f")
    drawn(chromium)
    arrow = chromium.run("""(() => { const m = app.painter.marks, t = app.trace.transfers[0];
      const left = m.x(t.sent), right = m.x(t.arrived), top = Math.min(m.y(t.sender), m.y(t.receiver)), bottom = Math.max(m.y(t.sender), m.y(t.receiver));
      const d = app.painter.context.getImageData(left + 40, top, right - left - 80, bottom - top).data;
      let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] === 0x1f && d[i + 1] === 0x5f && d[i + 2] === 0xbf; return n; })()""")
    assert arrow > 20
    chromium.key("Escape")
    assert chromium.run("document.getElementById('details').hidden")


def test_a_stall_of_the_list_is_gone_to(chromium, delayed):
    show(chromium, delayed)
    chromium.run("document.querySelector('.stall').click()")
    assert chromium.run("[app.trace.name(app.selected), app.stall.kind]") == ["edge_0_v", "communication"]
    begin, end = window(chromium)
    assert begin < 100_000 and 5_150_000 < end < 8_000_000
    assert "5.05 ms until it was here" in chromium.run("document.getElementById('details').textContent")


def test_names_are_text(chromium, tmp_path):
    hostile = "</script><img src=x onerror=hacked=1><b>"
    step = trace_files.Step().node(PS, hostile, hostile + "(v)", 0, 500).node(WORKER + hostile, "<!--<script>", "<i>()", 100, 300)
    show(chromium, trace_files.page_of([step.write(tmp_path / "hostile.pb")], tmp_path / "hostile.html"))
    chromium.wait_for_text(hostile)
    chromium.run("app.goToSpan(0)")
    chromium.run("app.search.find('<')")
    chromium.wait_for_text(hostile, "Found: 2 spans")
    assert chromium.run("[document.images.length, document.querySelectorAll('#panel b img, #details img, i').length, typeof hacked]") == [0, 0, "undefined"]


def test_steps_are_chosen(chromium, tmp_path):
    files = [trace_files.delayed_step(delay, begin).write(tmp_path / f"{begin}.pb") for delay, begin in ((100, 0), (9000, 10_000), (300, 40_000))]
    show(chromium, trace_files.page_of(files, tmp_path / "steps.html"))
    chromium.wait_for_text("step 1 of 3 steps: 10.4 ms", "step 1: 10.4 ms, the slowest", "step 2: 1.70 ms")
    assert window(chromium)[1] > 41_000_000, "first all steps are seen"
    chromium.run("(() => { const s = document.getElementById('step'); s.value = 2; s.dispatchEvent(new Event('change')); })()")
    chromium.wait_for_text("step 2 of 3 steps: 1.70 ms")
    begin, end = window(chromium)
    assert begin > 39_000_000 and end < 43_000_000


def test_light_and_dark(chromium, delayed):
    corner = "Array.from(app.painter.context.getImageData(app.canvas.width - 2, app.canvas.height - 2, 1, 1).data)"
    show(chromium, delayed)
    assert chromium.run(corner) == [255, 255, 255, 255]
    chromium.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        chromium.wait_for(f"JSON.stringify({corner}) === '[22,24,28,255]'")
        chromium.picture(os.path.join(browser.PICTURES, "trace_dark.png"))
    finally:
        chromium.ask("Emulation.setEmulatedMedia", features=[])
    chromium.wait_for(f"{corner}[0] === 255")


def _over(chromium, kind, time):
    """Moves the pointer over a row at a time; what is said there."""
    x, y = chromium.run(f"""(() => {{ const box = app.canvas.getBoundingClientRect(), row = app.rows.list.find((r) => r.kind === "{kind}");
      return [Math.round(box.left + app.painter.marks.x({time})), Math.round(box.top + Marks.TOP + row.top + row.height / 2 - app.view.scroll)]; }})()""")
    chromium.mouse("Moved", x, y)
    chromium.wait_for("!document.getElementById('tooltip').hidden")
    return chromium.run("document.getElementById('tooltip').textContent")


def test_memory_over_time(chromium, tmp_path):
    file = trace_files.training_step().write(tmp_path / "training.pb")
    show(chromium, trace_files.page_of([file], tmp_path / "training.html"))
    use = chromium.run("(({peak_bytes, peak_at, points}) => ({peak_bytes, peak_at, points}))(app.trace.memory.uses[0])")
    assert use["peak_bytes"] == 30_000_000 and use["peak_at"] == 1_055_000, "a variable, three activations, a gradient"
    text = _over(chromium, "memory", 1_100_000)
    assert text.startswith("worker/0 CPU:0 holds 30.0 MB; peak 30.0 MB")
    assert "  18.0 MB activations\n  4.00 MB gradients\nmost by:\n  8.00 MB weights (variables)\n  6.00 MB layer1/MatMul (activations)" in text
    assert "scratch" in _over(chromium, "memory", 200_000)
    assert "100 % of 1 lane busy" in _over(chromium, "device", 200_000)
    # Each kind has its color, and the row is as high as what is held then.
    column = """(() => { const {painter, rows, palette, view} = app, row = rows.list.find((r) => r.kind === "memory"), ratio = devicePixelRatio;
      const x = Math.round((painter.marks.x(%d) - Marks.GUTTER) * ratio), seen = {};
      for (let y = Math.round((row.top + 2) * ratio); y < (row.top + row.height - 2) * ratio; ++y) {
        const kind = palette.ofKind.indexOf(painter.pixels[y * painter.image.width + x]);
        seen[kind] = (seen[kind] ?? 0) + 1; }
      return seen; })()"""
    at_peak, later = chromium.run(column % 1_100_000), chromium.run(column % 1_850_000)
    assert "-1" not in at_peak and set(at_peak) == {"0", "3", "4"}
    assert at_peak["3"] / at_peak["0"] == pytest.approx(18 / 8, rel=0.15)
    assert later["-1"] > 10 and later["0"] == at_peak["0"]
    chromium.run("app.details.tooltip.hidden = true")
    _over(chromium, "memory", 1_100_000)
    chromium.picture(os.path.join(browser.PICTURES, "trace_memory.png"))


def switching_step():
    """Of two threads, one that others were let run in place of, and that waited."""
    step = trace_files.Step()
    step.node(PS, "y", "MatMul()", 0, 1000).no_processor((100, 300, True), (200, 100, False), (0, 50, True))
    step.node(PS, "whole", "Mul()", 1000, 2000)
    step.node(PS, "beside", "Add()", 0, 2000, thread=1)
    return step


_SHADES = """(() => { const {painter, palette, rows, trace} = app, ratio = devicePixelRatio, place = %s;
  const row = rows.of(trace.rowOf(place)), label = palette.ofLabel[trace.label[place]], seen = {label: 0, darker: 0, lighter: 0};
  const light = (pixel) => (pixel & 255) + (pixel >> 8 & 255) + (pixel >> 16 & 255);
  for (let y = Math.round(row.top * ratio); y < (row.top + row.height - 2) * ratio; ++y) {
    const pixel = painter.pixels[y * painter.image.width + Math.round((painter.marks.x(%s) - Marks.GUTTER) * ratio)];
    seen[pixel === label ? "label" : light(pixel) < light(label) ? "darker" : "lighter"]++;
  }
  return seen; })()"""


def _place(chromium, name):
    return chromium.run(f"Array.from({{length: app.trace.size}}, (_, i) => i).find((i) => app.trace.name(i) === {json.dumps(name)})")


def test_threads_without_a_processor(chromium, tmp_path):
    show(chromium, trace_files.page_of([switching_step().write(tmp_path / "step.pb")], tmp_path / "step.html"))
    text = chromium.wait_for_text("Nodes without a processor", "350 us others ran, 2 pieces", "100 us they waited, 1 piece")
    assert "ps/0 CPU:0, of 4.00 ms of its nodes" in text
    place = _place(chromium, "y")
    taken, waited, again, without = (chromium.run(_SHADES % (place, at)) for at in (250_000, 650_000, 725_000, 50_000))
    assert taken["darker"] > 2 and taken["label"] > 2 and taken["lighter"] == 0, "strokes, between which the color of the node is seen"
    assert waited["lighter"] > 2 and waited["label"] > 2 and waited["darker"] == 0
    assert again["darker"] > 2 and without["darker"] == without["lighter"] == 0
    for name in ("whole", "beside"):
        other = chromium.run(_SHADES % (_place(chromium, name), 1_500_000))
        assert other["darker"] == other["lighter"] == 0
    x, y = chromium.run(_POINT % '"y"')
    chromium.mouse("Moved", x, y)
    chromium.wait_for("!document.getElementById('tooltip').hidden")
    words = "had no processor for 450 us of 1.00 ms in 3 pieces: 350 us others ran, 100 us it waited"
    assert words in chromium.run("document.getElementById('tooltip').textContent")
    chromium.click(x, y)
    chromium.wait_for("!document.getElementById('details').hidden")
    assert words in chromium.run("document.getElementById('details').textContent")
    chromium.run(f"app.select({_place(chromium, 'whole')})")
    assert "processor" not in chromium.run("document.getElementById('details').textContent")
    chromium.key("?")
    assert "others ran" in chromium.run("document.getElementById('help').textContent")
    chromium.run("document.getElementById('help').close()")
    # From so far that a piece is a hundredth of a pixel, a stroke is seen all the same.
    begin, end = window(chromium)
    chromium.run("app.select(-1)")
    for far in (1, 1.19):
        chromium.run(f"app.view.show({begin} - {end - begin} * {far - 1}, {end} + {end - begin} * {far - 1})")
        drawn(chromium)
        assert chromium.run(_SHADES % (place, 250_000))["darker"] > 2
    chromium.picture(os.path.join(browser.PICTURES, "trace_switches.png"))


def test_shares_without_a_processor_are_exact(chromium, tmp_path):
    """Many pieces a pixel, some, and many pixels a piece: what is drawn is what each piece adds."""
    file = trace_files.write_many(tmp_path / "switches.pb", 64_000, switching=3)
    show(chromium, trace_files.page_of([file], tmp_path / "switches.html"))
    wrong, parts = chromium.run("""(() => { const {trace} = app, {switches} = trace, row = trace.rows[7], none = trace.rows[0];
      let wrong = none.switches[0] !== none.switches[1], parts = row.switches[1] - row.switches[0];
      const whole = trace.end(row.last - 1) - trace.starts[row.first];
      for (const time of [whole * 1.1, whole / 50, whole / 3000, 500]) {
        const view = {begin: trace.starts[row.first] + whole / 3 - time / 3, time}, width = 200;
        view.end = view.begin + time;
        const got = [new Float32Array(width), new Float32Array(width)], want = [new Float64Array(width), new Float64Array(width)];
        switches.paint(row, view, got[0], got[1]);
        for (let i = row.switches[0]; i < row.switches[1]; ++i) {
          const first = Math.max(0, Math.floor((switches.begin[i] - view.begin) / time * width));
          for (let x = first; x < width && view.begin + x * time / width < switches.end[i]; ++x) {
            const from = view.begin + x * time / width, to = from + time / width;
            want[switches.isTaken[i] ? 0 : 1][x] += Math.max(0, Math.min(switches.end[i], to) - Math.max(switches.begin[i], from)) / (to - from);
          }
        }
        for (let x = 1; x < width; ++x) for (const kind of [0, 1]) wrong += Math.abs(got[kind][x] - want[kind][x]) > 0.02;
      }
      return [Number(wrong), parts]; })()""")
    assert parts == 2000 and wrong == 0


def test_the_beginning_that_is_not_there_is_said(chromium, tmp_path):
    step = trace_files.Step().node(PS, "v", "Const()", 0, 100).node(WORKER, "y", "MatMul()", 5000, 6000).left_out(4000, 12_345_678)
    show(chromium, trace_files.page_of([step.write(tmp_path / "step.pb")], tmp_path / "step.html"))
    chromium.wait_for_text("Not there: the first 4.00 ms, 12,345,678 executions of nodes of worker/0 CPU:0.", "A traced step keeps its newest")
    assert chromium.run("Array.from({length: app.trace.size}, (_, i) => app.trace.name(i))") == ["y"]


def test_the_pyramid_finds_the_highest(chromium, tmp_path):
    file = trace_files.write_many(tmp_path / "memory.pb", 64_000, telling=2)
    show(chromium, trace_files.page_of([file], tmp_path / "memory.html"))
    wrong, levels = chromium.run("""(() => { const {memory} = app.trace;
      let wrong = 0;
      for (const use of memory.uses) {
        const begin = memory.at[use.first], time = use.end - begin;
        for (const parts of [3, 40, 1000]) {
          for (let k = -1; k <= parts; ++k) {
            const from = begin + time * k / parts, to = begin + time * (k + 1) / parts, point = memory.pointOf(use, from, to);
            let most = -1;
            for (let i = 0; i < use.points; ++i) {
              const until = i + 1 < use.points ? memory.at[use.first + i + 1] : Infinity;
              if (memory.at[use.first + i] <= to && until > from) most = Math.max(most, use.total[i]);
            }
            if (k >= 0 && k < parts) wrong += point < 0 || use.total[point] !== most;
          }
        }
      }
      return [wrong, memory.uses[0].levels.length]; })()""")
    assert wrong == 0 and levels >= 2


def test_a_filter_leaves_what_was_asked_for(chromium, tmp_path):
    file = trace_files.delayed_step().write(tmp_path / "step.pb")
    show(chromium, trace_files.page_of([file, "--task", "worker/0", "--min-duration", "100us"], tmp_path / "step.html"))
    chromium.wait_for_text("A filter left 3 of 5 nodes and transfers, in 1 of 1 step.")
    assert chromium.run("Array.from({length: app.trace.size}, (_, i) => app.trace.name(i)).sort()") == ["beside", "edge_0_v", "y"]


def test_a_million_spans(chromium, tmp_path):
    url = trace_files.page_of([trace_files.write_many(tmp_path / "many.pb", 1_000_000, telling=1)], tmp_path / "many.html")
    assert os.path.getsize(tmp_path / "many.html") < 16 * 1_000_000
    show(chromium, url)
    chromium.wait_for_text("1,000,000 nodes on 4 devices")
    # Of the whole, the busiest part of the rows is seen: what is drawn is not empty, and no names are.
    assert chromium.run("app.painter.texts.length") < 200
    assert chromium.run("app.painter.use.some((share) => share > 0.3)")
    # What is merged is as busy as its spans are, and a search finds what looking at each span finds.
    drawn_time, time = chromium.run("""(() => { const {trace, view, palette} = app, row = trace.rows[3], use = new Float32Array(700);
      Lane.paint(trace, row, view, palette, null, use, null);
      return [use.reduce((sum, share) => sum + share, 0) * view.time / use.length, trace.work[row.last] - trace.work[row.first]]; })()""")
    assert drawn_time == pytest.approx(time, rel=0.02)
    assert chromium.run("""(() => { const {trace} = app, row = trace.rows[5], begin = trace.starts[row.first], time = trace.end(row.last - 1) - begin;
      let wrong = 0;
      for (let k = -2; k < 203; ++k) {
        let i = row.first;
        while (i < row.last && trace.starts[i] < begin + time * k / 200) ++i;
        wrong += i !== trace.firstFrom(row, begin + time * k / 200);
      }
      return wrong; })()""") == 0
    middle = chromium.run("(app.view.begin + app.view.end) / 2")
    chromium.run(f"app.view.zoom(app.view.time / 10000, {middle})")
    drawn(chromium)
    begin, end = window(chromium)
    assert end - begin == pytest.approx(10_000) and begin < middle < end
    assert chromium.run("app.painter.texts.length") > 5, "spans of a microsecond have names now"
    chromium.picture(os.path.join(browser.PICTURES, "trace_many.png"))
