// View: the window of time and the rows that are seen.
"use strict";

class View {
  static LEAST = 200;  // nanoseconds

  constructor(begin, end) {
    this.whole = {begin, end};
    this.changed = () => {};
    this.scroll = 0;
    this.fit(begin, end);
  }

  get time() { return this.end - this.begin; }

  // All of [begin, end], with a little around it.
  fit(begin, end) {
    const margin = Math.max((end - begin) * 0.01, View.LEAST / 2);
    this.show(begin - margin, end + margin);
  }

  show(begin, end) {
    const whole = Math.max(this.whole.end - this.whole.begin, View.LEAST);
    const time = Math.min(Math.max(end - begin, View.LEAST), whole * 1.2);
    const middle = (begin + end) / 2;
    this.begin = Math.min(Math.max(middle - time / 2, this.whole.begin - time / 2), this.whole.end - time / 2);
    this.end = this.begin + time;
    this.changed();
  }

  // By a factor above 1 less is seen, larger; what is at `time` stays where it is.
  zoom(factor, time = (this.begin + this.end) / 2) {
    const least = Math.max(View.LEAST, this.time / factor);
    const share = (time - this.begin) / this.time;
    this.show(time - least * share, time + least * (1 - share));
  }

  // By a share of what is seen.
  move(share) {
    const by = this.time * share;
    this.show(this.begin + by, this.end + by);
  }

  scrollTo(y) {
    this.scroll = Math.max(0, y);
    this.changed();
  }
}
