// SPDX-License-Identifier: Apache-2.0
// What the executor itself costs, with kernels that do next to nothing. One line a case:
//   name  median  (10th .. 90th percentile)  unit
// Run: build/release/bin/executor_benchmark [part of a name] [--cpu]
// With --cpu it measures the calling thread's processor time: for cases of one thread on a machine
// that others use.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string_view>
#include <thread>

#include "thalweg/base/thread_pool.h"
#include "thalweg/executor/test_program.h"

namespace thalweg {
namespace {

using Clock = std::chrono::steady_clock;

double Now(bool cpu) {
  timespec now{};
  clock_gettime(cpu ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Benchmark {
 public:
  Benchmark(std::string_view filter, bool cpu) : filter_(filter), cpu_(cpu) {}

  // Median time of `run` in nanoseconds, divided by `units`.
  void Case(std::string_view name, double units, std::string_view unit,
            const std::function<void()>& run) {
    if (name.find(filter_) == std::string_view::npos) return;
    const double start = Now(cpu_);
    int64_t repeats = 0;
    do {
      run();
      ++repeats;
    } while (Now(cpu_) - start < 0.01);
    std::vector<double> samples;
    for (int s = 0; s < 15; ++s) {
      const double from = Now(cpu_);
      for (int64_t i = 0; i < repeats; ++i) run();
      samples.push_back((Now(cpu_) - from) * 1e9 / static_cast<double>(repeats) / units);
    }
    std::sort(samples.begin(), samples.end());
    std::printf("%-32.*s %9.1f  (%.1f .. %.1f)  %.*s\n", static_cast<int>(name.size()), name.data(),
                samples[7], samples[1], samples[13], static_cast<int>(unit.size()), unit.data());
  }

 private:
  const std::string_view filter_;
  const bool cpu_;
};

class Prepared {
 public:
  Prepared(TestProgram& p, const ExecutorOptions& options = {}, WorkQueue* queue = nullptr)
      : harness_(
            p.Take(), [&](Program program) { return MakeExecutor(std::move(program), options); },
            queue),
        fetches_(harness_.executor().program().fetches.size()) {}

  void Run(std::span<const Tensor> feeds) {
    CancellationManager cancellation;
    const Status status = harness_.RunStep(feeds, fetches_, cancellation);
    if (!status.ok()) std::printf("FAILED: %s\n", status.ToString().c_str());
  }

 private:
  Harness harness_;
  std::vector<Tensor> fetches_;
};

// Works for about `micros`.
Status Spin(Context& ctx, int micros) {
  const auto end = Clock::now() + std::chrono::microseconds(micros);
  while (Clock::now() < end) {
  }
  ctx.set_output(0, Tensor::Scalar<int64_t>(1));
  return OkStatus();
}

void Chains(Benchmark& b) {
  constexpr int kNodes = 10000;
  {
    TestProgram p;
    int last = p.NoOp({});
    for (int i = 1; i < kNodes; ++i) last = p.NoOp({last});
    Prepared run(p);
    b.Case("noop_chain/10k", kNodes, "ns a node", [&] { run.Run({}); });
  }
  {
    TestProgram p;
    for (int i = 0; i < kNodes; ++i) p.NoOp({});
    Prepared run(p);
    b.Case("noop_wide/10k", kNodes, "ns a node", [&] { run.Run({}); });
  }
  {
    TestProgram p;
    Value v = p.Feed();
    const Value one = p.Const(1);
    for (int i = 0; i < kNodes; ++i) v = p.Add(v, one);
    p.Fetch(v);
    Prepared run(p);
    const Tensor zero = Tensor::Scalar<int64_t>(0);
    b.Case("add_chain/10k", kNodes, "ns a node", [&] { run.Run({&zero, 1}); });
  }
}

void Layered(Benchmark& b, int nodes, int width, const ExecutorOptions& options, WorkQueue* queue,
             std::string_view name) {
  TestProgram p;
  std::mt19937 random(1);
  std::vector<Value> layer(static_cast<size_t>(width), p.Feed());
  for (int made = 0; made < nodes;) {
    std::vector<Value> next;
    for (int i = 0; i < width && made < nodes; ++i, ++made) {
      next.push_back(p.Add(layer[random() % layer.size()], layer[random() % layer.size()]));
    }
    layer = next;
  }
  for (const Value& v : layer) p.Fetch(v);
  Prepared run(p, options, queue);
  const Tensor one = Tensor::Scalar<int64_t>(1);
  b.Case(name, nodes, "ns a node", [&] { run.Run({&one, 1}); });
}

void Mixed(Benchmark& b, int threads, ThreadPool& pool) {
  TestProgram p;
  Value v = p.Feed();
  const Value one = p.Const(1);
  std::vector<Value> ends;
  for (int k = 0; k < 20; ++k) {
    Value chain = v;
    for (int i = 0; i < 49; ++i) chain = p.Add(chain, one);
    ends.push_back(p.Call({chain}, [](Context& ctx) { return Spin(ctx, 50); }));
    p.last().heavy = true;
  }
  Value sum = ends[0];
  for (size_t i = 1; i < ends.size(); ++i) sum = p.Add(sum, ends[i]);
  p.Fetch(sum);
  Prepared run(p, {.threads = threads}, &pool);
  const Tensor zero = Tensor::Scalar<int64_t>(0);
  // 20 x 50 us over threads + 1; 100 would be ideal.
  b.Case(StrCat("chain_mixed/", threads + 1, "_threads"), 10.0 * 1000 / (threads + 1),
         "% of the ideal time", [&] {
           run.Run({&zero, 1});
         });
}

Value Counter(TestProgram& p, Value limit, const TestProgram::Body& body) {
  return p.While(
      "loop", {p.Const(0)},
      [&](const auto& v) { return p.Less(v[0], p.Enter(limit, "loop", true)); }, body)[0];
}

void Loops(Benchmark& b, bool structured) {
  const char* suffix = structured ? "" : "/general";
  const ExecutorOptions options{.structured_loops = structured};
  constexpr int kTrips = 10000;
  const Tensor limit_value = Tensor::Scalar<int64_t>(kTrips);
  {
    TestProgram p;
    const Value limit = p.Feed(), one = p.Const(1);
    p.Fetch(Counter(p, limit, [&](const auto& v) { return std::vector<Value>{p.Add(v[0], one)}; }));
    Prepared run(p, options);
    b.Case(StrCat("while_count", suffix), kTrips, "ns an iteration", [&] {
      run.Run({&limit_value, 1});
    });
  }
  {
    TestProgram p;
    const Value limit = p.Feed(), one = p.Const(1), zero = p.Const(0);
    p.Fetch(Counter(p, limit, [&](const auto& v) {
      Value x = v[0];
      for (int i = 0; i < 9; ++i) x = p.Add(x, zero);
      return std::vector<Value>{p.Add(x, one)};
    }));
    Prepared run(p, options);
    b.Case(StrCat("while_body_10", suffix), kTrips, "ns an iteration", [&] {
      run.Run({&limit_value, 1});
    });
  }
  {
    TestProgram p;
    const Value n = p.Feed(), one = p.Const(1);
    p.Fetch(Counter(p, n, [&](const auto& v) {
      const Value start = p.ConstAfter(0, {v[0].node});
      const Value inner_limit = p.ConstAfter(100, {v[0].node});
      const Value inner = p.While(
          "inner", {start},
          [&](const auto& w) { return p.Less(w[0], p.Enter(inner_limit, "inner", true)); },
          [&](const auto& w) { return std::vector<Value>{p.Add(w[0], one)}; })[0];
      const Value next = p.Add(v[0], one);
      p.last().control_inputs = {inner.node};
      return std::vector<Value>{next};
    }));
    Prepared run(p, options);
    const Tensor trips = Tensor::Scalar<int64_t>(100);
    b.Case(StrCat("while_nested/100x100", suffix), kTrips, "ns an inner iteration", [&] {
      run.Run({&trips, 1});
    });
  }
  if (!structured) return;
  TestProgram p;
  const Value limit = p.Feed(), one = p.Const(1), half = p.Const(kTrips / 2);
  p.Fetch(Counter(p, limit, [&](const auto& v) {
    const TestProgram::Sides sides = p.Switch(v[0], p.Less(v[0], half));
    return std::vector<Value>{p.Merge({p.Add(sides.no, one), p.Add(sides.yes, one)})};
  }));
  Prepared run(p, options);
  b.Case("while_cond", kTrips, "ns an iteration", [&] { run.Run({&limit_value, 1}); });
}

void Latency(Benchmark& b, ThreadPool& pool) {
  {
    TestProgram p;
    p.NoOp({});
    Prepared run(p);
    b.Case("latency_noop", 1, "ns a step", [&] { run.Run({}); });
  }
  {
    TestProgram p;
    p.Fetch(p.Add(p.Feed(), p.Const(1)));
    Prepared run(p);
    const Tensor one = Tensor::Scalar<int64_t>(1);
    b.Case("latency_add", 1, "ns a step", [&] { run.Run({&one, 1}); });
  }
  {
    TestProgram p;
    p.Fetch(p.Call({p.Feed()}, [](Context& ctx) {
      ctx.set_output(0, ctx.input(0));
      return OkStatus();
    }));
    p.last().heavy = true;
    Prepared run(p, {.threads = 1}, &pool);
    const Tensor one = Tensor::Scalar<int64_t>(1);
    b.Case("latency_one_heavy/parallel", 1, "ns a step", [&] { run.Run({&one, 1}); });
  }
  {
    TestProgram p;
    Value v = p.Feed();
    for (int i = 0; i < 100; ++i) {
      v = p.CallAsync({v}, [](Context& ctx, Done done) {
        ctx.set_output(0, ctx.input(0));
        std::move(done)(OkStatus());
      });
    }
    p.Fetch(v);
    Prepared run(p);
    const Tensor one = Tensor::Scalar<int64_t>(1);
    b.Case("async_inline_chain/100", 100, "ns a node", [&] { run.Run({&one, 1}); });
  }
  {
    TestProgram p;
    const Value x = p.Feed(), one = p.Const(1);
    const TestProgram::Sides s = p.Switch(x, p.Less(x, p.Const(10)));
    Value yes = s.yes, no = s.no;
    for (int i = 0; i < 10; ++i) {
      yes = p.Add(yes, one);
      no = p.Add(no, one);
    }
    p.Fetch(p.Merge({no, yes}));
    Prepared run(p);
    const Tensor feed = Tensor::Scalar<int64_t>(1);
    b.Case("cond/10_a_branch", 1, "ns a step", [&] { run.Run({&feed, 1}); });
  }
}

// Two callers of one plan at once; the time of one of them.
void TwoCallers(Benchmark& b) {
  TestProgram p;
  Value v = p.Feed();
  const Value one = p.Const(1);
  for (int i = 0; i < 1000; ++i) v = p.Add(v, one);
  p.Fetch(v);
  Harness harness(p.Take(), [](Program program) { return MakeExecutor(std::move(program), {}); });
  std::atomic<bool> stop{false};
  const Tensor zero = Tensor::Scalar<int64_t>(0);
  const auto step = [&] {
    Tensor out;
    CancellationManager cancellation;
    harness.RunStep({&zero, 1}, {&out, 1}, cancellation).IgnoreError();
  };
  b.Case("chain_1_caller/1k", 1000, "ns a node", step);
  std::thread other([&] {
    while (!stop.load(std::memory_order_relaxed)) step();
  });
  b.Case("chain_2_callers/1k", 1000, "ns a node", step);
  stop = true;
  other.join();
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  using namespace thalweg;
  std::string_view filter;
  bool cpu = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--cpu") {
      cpu = true;
    } else {
      filter = argv[i];
    }
  }
  Benchmark b(filter, cpu);
  ThreadPool pool({.threads = 1});
  Chains(b);
  Layered(b, 1000, 100, {}, nullptr, "dag_layered/1k");
  Layered(b, 10000, 100, {}, nullptr, "dag_layered/10k");
  Loops(b, true);
  Loops(b, false);
  Latency(b, pool);
  Mixed(b, 0, pool);
  Mixed(b, 1, pool);
  TwoCallers(b);
  return 0;
}
