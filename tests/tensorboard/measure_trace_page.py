# SPDX-License-Identifier: Apache-2.0
"""What the trace page costs for so many made-up spans: python tests/tensorboard/measure_trace_page.py 1000000 [PAGE.html]. No test: it prints
what it saw. A PAGE that is there is measured as it is; without one, spans of --telling of the 8 lanes of a device tell of memory, those of
--switching of them had no processor for a part of their time."""
import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

import browser
import trace_files

# Zooms from the whole to 10 us about the middle, a step a frame, and back: the times between frames and those of drawing, in milliseconds.
_ZOOM = """new Promise((done) => {
  const steps = 120, whole = app.view.time, factor = (whole / 10000) ** (1 / steps), middle = (app.view.begin + app.view.end) / 2, times = [], own = [];
  const draw = app.painter.draw.bind(app.painter);
  app.painter.draw = () => { const begin = performance.now(); draw(); own.push(performance.now() - begin); };
  let last = performance.now(), n = 0;
  const frame = (now) => { times.push(now - last); last = now;
    if (n >= 2 * steps) { delete app.painter.draw; done({times: times.slice(1), own}); return; }
    app.view.zoom(n++ < steps ? factor : 1 / factor, middle); requestAnimationFrame(frame); };
  requestAnimationFrame(frame); })"""


def processor_times(root):
    """Seconds on a processor: of the busiest main thread of a page, and of all processes of the browser, as /proc says."""
    parents, lines = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                lines[int(pid)] = file.read()
        except OSError:
            continue  # it has ended
        parents[int(pid)] = (int(fields[1]), (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"))
    family = {root}
    for _ in range(8):
        family |= {pid for pid, (parent, _) in parents.items() if parent in family}
    pages = []
    for pid in family:
        if "--type=renderer" in lines.get(pid, ""):
            with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="utf-8") as file:
                pages.append(int(file.read().split()[0]) / 1e9)
    return max(pages), sum(parents[pid][1] for pid in family if pid in parents)


def measure(url, folder, has_gl):
    """Opens the page and zooms through it, twice: the second time all is warm."""
    print(f"drawn by {'an emulated card (SwiftShader)' if has_gl else 'the processor'}:")
    with browser.Browser(folder, has_gl=has_gl) as chromium:
        begin = time.monotonic()
        chromium.open(url)
        chromium.wait_for("typeof app !== 'undefined' && app !== undefined && app.painter.frames > 0", seconds=300)
        seconds = time.monotonic() - begin
        own, everything = processor_times(chromium.pid)
        print(f"  opened in {seconds:.2f} s ({own:.2f} s of its thread, {everything:.2f} s of all processes), "
              f"{chromium.run('performance.memory.usedJSHeapSize') / 1e6:.0f} MB of heap")
        for _ in range(2):
            own, everything = processor_times(chromium.pid)
            answer = chromium.ask("Runtime.evaluate", expression=_ZOOM, awaitPromise=True, returnByValue=True, seconds=600)["result"]["value"]
            own, everything = (b - a for a, b in zip((own, everything), processor_times(chromium.pid), strict=True))
            times, draws = sorted(answer["times"]), sorted(answer["own"])
            print(f"  zoom to 10 us and back: frames {statistics.median(times):.1f} ms (95 of 100: {times[len(times) * 95 // 100]:.1f}, longest "
                  f"{times[-1]:.0f}), drawing {statistics.median(draws):.1f} ms (95 of 100: {draws[len(draws) * 95 // 100]:.1f}); on a processor, a "
                  f"frame: the page's thread {own / len(times) * 1000:.1f} ms, all {everything / len(times) * 1000:.1f} ms; load {os.getloadavg()[0]:.1f}")
        print("  " + json.dumps(chromium.run("[app.trace.size, app.canvas.width, app.canvas.height]")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("page", nargs="?")
    for what in ("telling", "switching"):
        parser.add_argument("--" + what, type=int, choices=range(9), default=0, metavar="LANES")
    asked = parser.parse_args()
    count = asked.count
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        if asked.page:
            url = "file://" + os.path.abspath(asked.page)
        else:
            trace, page = os.path.join(folder, "many.pb"), os.path.join(folder, "many.html")
            # In a process of its own: what this one has is counted as the memory of those that it starts.
            writing = multiprocessing.Process(target=trace_files.write_many, args=(trace, count),
                                              kwargs={"telling": asked.telling, "switching": asked.switching})
            writing.start()
            writing.join()
            viewing = subprocess.Popen([sys.executable, "-m", "thalweg", "trace", "view", trace, "-o", page], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(viewing.pid, 0)
            assert status == 0, f"thalweg trace view ended with the status {status}"
            print(f"{count:,} spans: page written in {used.ru_utime + used.ru_stime:.1f} s of the processor with {used.ru_maxrss / 1e6:.2f} GB, "
                  f"{os.path.getsize(page) / count:.1f} bytes a span; load {os.getloadavg()[0]:.1f}")
            url = "file://" + page
        for has_gl in (False, True):
            measure(url, os.path.join(folder, f"browser{has_gl:d}"), has_gl)


if __name__ == "__main__":
    main()
