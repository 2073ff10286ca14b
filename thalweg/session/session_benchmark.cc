// SPDX-License-Identifier: Apache-2.0
// session_benchmark [SECONDS]: what one Run of a tiny step costs; nanoseconds a call, the median
// of 9. session_benchmark soak [RUNS]: resident memory over many runs. session_benchmark compile
// [NODES]: the first and the second Run of a chain. session_benchmark memory [MEGABYTES]: page
// faults and peak of a chain with a branch. session_benchmark trace [NODES]: processor time a node
// of a chain of NoOps, untraced and traced, with the bytes of its RunMetadata.
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "thalweg/session/run_metadata_message.h"
#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class F>
void Measure(const char* name, double seconds, const F& call) {
  int batch = 1;
  for (double spent = 0; spent < seconds / 50; batch *= 2) {
    const double start = Now();
    for (int i = 0; i < batch; ++i) call();
    spent = Now() - start;
  }
  std::vector<double> samples;
  for (int s = 0; s < 9; ++s) {
    const double start = Now();
    for (int i = 0; i < batch; ++i) call();
    samples.push_back((Now() - start) / batch * 1e9);
  }
  std::sort(samples.begin(), samples.end());
  std::printf("%-32s %8.0f ns   (%.0f to %.0f)\n", name, samples[4], samples[0], samples[8]);
}

int64_t ResidentKilobytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

void Soak(int64_t runs) {
  SessionFixture f({.threads = 1});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {f.b.Op("Neg", {x}), f.Float(1)});
  const Tensor value = Tensor::Scalar(2.0f);
  Tensor out;
  for (int64_t i = 0; i <= runs; ++i) {
    CHECK(f.session->Run({}, {{x}, {y}, {}}, {&value, 1}, {&out, 1}).ok());
    if (i % (runs / 10) == 0) {
      std::printf("%9lld runs: %lld kB\n", static_cast<long long>(i),
                  static_cast<long long>(ResidentKilobytes()));
    }
  }
}

void Compile(int nodes) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder();
  Output y = x;
  double start = Now();
  for (int i = 0; i < nodes; ++i) y = f.b.Op("Neg", {y}, {}, StrCat("n", i));
  std::printf("build   %8.3f us a node\n", (Now() - start) / nodes * 1e6);
  const Tensor value = Tensor::Scalar(2.0f);
  Tensor out;
  for (const char* what : {"first", "second"}) {
    start = Now();
    CHECK(f.session->Run({}, {{x}, {y}, {}}, {&value, 1}, {&out, 1}).ok());
    std::printf("%-7s %8.3f us a node\n", what, (Now() - start) / nodes * 1e6);
  }
}

void Memory(int64_t megabytes) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder(PartialShape{-1});
  const Output kept = f.b.Op("Neg", {x});
  Output y = kept;
  for (int i = 0; i < 8; ++i) y = f.b.Op("Neg", {y});
  y = f.b.Op("Add", {y, kept});
  const Tensor value = Filled((megabytes << 20) / 4, 2.0f);
  for (int step = 0; step < 5; ++step) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    RunMetadata metadata;
    std::vector<Tensor> out(1);
    const std::shared_ptr<Callable> call = *f.session->MakeCallable({{x}, {y}, {}});
    CHECK(call->Run({.memory_plan = true}, {&value, 1}, out, &metadata).ok());
    getrusage(RUSAGE_SELF, &after);
    const AllocatorStats stats = f.environment->allocator()->Stats();
    std::printf("step %d: %ld page faults; peak planned %.1f, measured %.1f, kept %.1f MiB\n", step,
                after.ru_minflt - before.ru_minflt,
                static_cast<double>(metadata.memory.peak_bytes) / (1 << 20),
                static_cast<double>(stats.peak_bytes_in_use) / (1 << 20),
                static_cast<double>(stats.bytes_kept) / (1 << 20));
  }
}

double ProcessorNow() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// In turns, so that what else the machine does meets both.
void Traced(int nodes) {
  constexpr int kSamples = 31, kSteps = 10;
  SessionFixture f({.threads = 0});
  Node* last = f.b.OpNode("NoOp", {}, {}, "n0");
  for (int i = 1; i < nodes; ++i) {
    last = f.b.WithControls({last}).OpNode("NoOp", {}, {}, StrCat("n", i));
  }
  const std::shared_ptr<Callable> call = *f.session->MakeCallable({{}, {}, {last}});
  size_t bytes = 0;
  const auto sample = [&](TraceLevel level) {
    const double start = ProcessorNow();
    for (int i = 0; i < kSteps; ++i) {
      RunMetadata metadata;
      CHECK(call->Run({.trace = level}, {}, {}, &metadata).ok());
      if (level != TraceLevel::kNone) bytes = RunMetadataMessage(std::move(metadata))->size();
    }
    return (ProcessorNow() - start) * 1e9 / kSteps / nodes;
  };
  std::vector<double> untraced, traced;
  for (int s = -1; s < kSamples; ++s) {
    const double without = sample(TraceLevel::kNone), with = sample(TraceLevel::kFull);
    if (s < 0) continue;
    untraced.push_back(without);
    traced.push_back(with);
  }
  std::sort(untraced.begin(), untraced.end());
  std::sort(traced.begin(), traced.end());
  std::printf("untraced %.1f ns a node (%.1f to %.1f), traced %.1f (%.1f to %.1f); %.1f bytes\n",
              untraced[kSamples / 2], untraced[3], untraced[kSamples - 4], traced[kSamples / 2],
              traced[3], traced[kSamples - 4], static_cast<double>(bytes) / nodes);
}

void Latency(double seconds) {
  SessionFixture f({.threads = 0});
  const Output x = f.Placeholder();
  const Output y = f.b.Op("Add", {x, f.Float(1)}, {}, "y");
  Node* nothing = f.b.OpNode("NoOp", {}, {}, "nothing");
  const Tensor value = Tensor::Scalar(2.0f);
  Tensor out;
  const std::shared_ptr<Callable> add = *f.session->MakeCallable({{x}, {y}, {}});
  const std::shared_ptr<Callable> noop = *f.session->MakeCallable({{}, {}, {nothing}});
  Measure("callable, NoOp", seconds, [&] { CHECK(noop->Run({}, {}).ok()); });
  Measure("callable, Add", seconds, [&] { CHECK(add->Run({&value, 1}, {&out, 1}).ok()); });
  const Signature signature{{x}, {y}, {}};
  Measure("Run by place, Add", seconds, [&] {
    CHECK(f.session->Run({}, signature, {&value, 1}, {&out, 1}).ok());
  });
  const std::vector<Session::NamedTensor> feeds = {{x.ToString(), value}};
  const std::vector<std::string> fetches = {"y:0"};
  std::vector<Tensor> outputs;
  Measure("Run by names, Add", seconds,
          [&] { CHECK(f.session->Run({}, feeds, fetches, {}, &outputs).ok()); });
  Measure("Run by names, Add, timeout", seconds, [&] {
    CHECK(f.session->Run({.timeout = std::chrono::seconds(60)}, feeds, fetches, {}, &outputs).ok());
  });
}

}  // namespace
}  // namespace thalweg

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "soak") == 0) {
    thalweg::Soak(argc > 2 ? std::atoll(argv[2]) : 1'000'000);
  } else if (argc > 1 && std::strcmp(argv[1], "compile") == 0) {
    thalweg::Compile(argc > 2 ? std::atoi(argv[2]) : 10'000);
  } else if (argc > 1 && std::strcmp(argv[1], "memory") == 0) {
    thalweg::Memory(argc > 2 ? std::atoll(argv[2]) : 100);
  } else if (argc > 1 && std::strcmp(argv[1], "trace") == 0) {
    thalweg::Traced(argc > 2 ? std::atoi(argv[2]) : 10'000);
  } else {
    thalweg::Latency(argc > 1 ? std::atof(argv[1]) : 1.0);
  }
  return 0;
}
