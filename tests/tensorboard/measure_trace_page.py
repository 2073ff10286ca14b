# SPDX-License-Identifier: Apache-2.0
"""What the trace page costs for so many made-up spans: python tests/tensorboard/measure_trace_page.py 1000000. No test: it prints what it saw."""
import json
import os
import resource
import statistics
import sys
import tempfile
import time

import browser
import trace_files

# Zooms from the whole to 10 us about the middle, a step a frame, and back; the times between frames in milliseconds.
_ZOOM = """new Promise((done) => {
  const steps = 120, whole = app.view.time, factor = (whole / 10000) ** (1 / steps), middle = (app.view.begin + app.view.end) / 2, times = [];
  let last = performance.now(), n = 0;
  const frame = (now) => { times.push(now - last); last = now;
    if (n >= 2 * steps) { done(times.slice(1)); return; }
    app.view.zoom(n++ < steps ? factor : 1 / factor, middle); requestAnimationFrame(frame); };
  requestAnimationFrame(frame); })"""
# How long the drawing itself takes, of the whole trace.
_DRAW = "(() => { const t = performance.now(); for (let i = 0; i < 20; ++i) app.painter.draw(); return (performance.now() - t) / 20; })()"


def thread_time(chromium):
    """Seconds of the processor that the page's tasks have taken."""
    metrics = {metric["name"]: metric["value"] for metric in chromium.ask("Performance.getMetrics")["metrics"]}
    return metrics["TaskDuration"]


def main():
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        trace = trace_files.write_many(os.path.join(folder, "many.pb"), count)
        begin = time.monotonic()
        url = trace_files.page_of([trace], os.path.join(folder, "many.html"))
        print(f"{count:,} spans: page written in {time.monotonic() - begin:.1f} s with "
              f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6:.2f} GB, {os.path.getsize(url[7:]) / count:.1f} bytes a span")
        with browser.Browser(os.path.join(folder, "browser")) as chromium:
            chromium.ask("Performance.setTimeDomain", timeDomain="threadTicks")
            chromium.ask("Performance.enable")
            begin = time.monotonic()
            chromium.open(url)
            chromium.wait_for("typeof app !== 'undefined' && app !== undefined && app.painter.frames > 0", seconds=300)
            print(f"  opened in {time.monotonic() - begin:.2f} s, {chromium.run('performance.memory.usedJSHeapSize') / 1e6:.0f} MB of heap")
            print(f"  whole trace drawn in {chromium.run(_DRAW):.1f} ms")
            before = thread_time(chromium)
            answer = chromium.ask("Runtime.evaluate", expression=_ZOOM, awaitPromise=True, returnByValue=True, seconds=300)
            times = sorted(answer["result"]["value"])
            print(f"  zoom to 10 us and back, frames: median {statistics.median(times):.1f} ms, 95th of 100 {times[len(times) * 95 // 100]:.1f} ms, "
                  f"longest {times[-1]:.1f} ms")
            print(f"  of the processor, of the page's thread: {(thread_time(chromium) - before) / len(times) * 1000:.1f} ms a frame; load {os.getloadavg()[0]:.1f}")
            print("  " + json.dumps(chromium.run("[app.trace.size, app.canvas.width, app.canvas.height]")))


if __name__ == "__main__":
    main()
