// SPDX-License-Identifier: Apache-2.0
// workloads_benchmark NAME [--threads N] [--seconds S] [--variant callable|names]: the rows of
// benchmarks/peers/workloads.md that measure the engine, through the C ABI. Prints one JSON line:
// median, 10th and 90th percentile of one step. A step is a call of a prepared callable, or with
// the variant `names` a run by names.
#include <sched.h>
#include <thalweg/c_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr TwDataType kFloat = 1, kInt32 = 3;
constexpr int kChain = 10000;
constexpr int kCount = 100000;

struct Options {
  std::string workload, variant;
  int threads = 1;
  double seconds = 1;
};

TwStatus* status = tw_status_new();

// A benchmark may end the process: it is no part of the library.
template <class T>
T Must(T result) {
  if (tw_status_code(status) != TW_OK) {
    std::fprintf(stderr, "%s\n", tw_status_message(status));
    std::exit(1);
  }
  return result;
}

class Builder {
 public:
  explicit Builder(TwEnvironment* environment)
      : environment_(environment), graph_(Must(tw_graph_new(environment, status))) {}

  TwNode* Node(const char* op, const std::vector<TwOutput>& inputs,
               const std::vector<TwNode*>& controls = {},
               const std::function<void(TwNodeBuilder*)>& attrs = nullptr) {
    const std::string name = "n" + std::to_string(tw_graph_num_nodes(graph_));
    TwNodeBuilder* builder = tw_node_builder_new(graph_, op, name.c_str());
    for (TwOutput input : inputs) tw_node_builder_input(builder, input);
    for (TwNode* control : controls) tw_node_builder_control(builder, control);
    if (attrs) attrs(builder);
    return Must(tw_node_builder_finish(builder, status));
  }
  TwOutput Op(const char* op, const std::vector<TwOutput>& inputs) { return {Node(op, inputs), 0}; }
  TwOutput Placeholder(TwDataType dtype) {
    return {Node("Placeholder", {}, {},
                 [&](TwNodeBuilder* b) {
                   tw_node_builder_attr_type(b, "dtype", dtype);
                   tw_node_builder_attr_shape(b, "shape", nullptr, 0);
                 }),
            0};
  }
  template <class T>
  TwOutput Constant(TwDataType dtype, T value) {
    TwTensor* tensor = Scalar(dtype, value);
    TwNode* node = Node("Const", {}, {}, [&](TwNodeBuilder* b) {
      tw_node_builder_attr_type(b, "dtype", dtype);
      tw_node_builder_attr_tensor(b, "value", tensor);
    });
    tw_tensor_free(tensor);
    return {node, 0};
  }
  TwOutput Enter(TwOutput input, const char* frame, bool constant) {
    return {Node("Enter", {input}, {},
                 [&](TwNodeBuilder* b) {
                   tw_node_builder_attr_string(b, "frame_name", frame, std::strlen(frame));
                   tw_node_builder_attr_bool(b, "is_constant", constant);
                 }),
            0};
  }
  template <class T>
  static TwTensor* Scalar(TwDataType dtype, T value) {
    TwTensor* tensor = Must(tw_tensor_new(dtype, nullptr, 0, status));
    std::memcpy(tw_tensor_data(tensor), &value, sizeof(value));
    return tensor;
  }
  TwEnvironment* environment() const { return environment_; }
  TwGraph* graph() const { return graph_; }

 private:
  TwEnvironment* environment_;
  TwGraph* graph_;
};

// What a step does, and how many nodes, calls or iterations are in it.
struct Workload {
  std::vector<TwOutput> feeds, fetches;
  std::vector<TwNode*> targets;
  std::vector<TwTensor*> values;
  int callers = 1;
};

Workload NoopChain(Builder& b) {
  TwNode* last = b.Node("NoOp", {});
  for (int i = 1; i < kChain; ++i) last = b.Node("NoOp", {}, {last});
  return {.targets = {last}};
}

Workload NoopWide(Builder& b) {
  std::vector<TwNode*> all;
  for (int i = 0; i < kChain; ++i) all.push_back(b.Node("NoOp", {}));
  return {.targets = {b.Node("NoOp", {}, all)}};
}

Workload AddChain(Builder& b) {
  const TwOutput start = b.Placeholder(kFloat), one = b.Constant(kFloat, 1.0f);
  TwOutput x = start;
  for (int i = 0; i < kChain; ++i) x = b.Op("AddV2", {x, one});
  return {.feeds = {start}, .fetches = {x}, .values = {Builder::Scalar(kFloat, 0.0f)}};
}

Workload ChainTwoCallers(Builder& b) {
  Workload w = AddChain(b);
  w.callers = 2;
  return w;
}

Workload DagLayered(Builder& b) {
  const TwOutput start = b.Placeholder(kFloat);
  std::mt19937 random(0);
  std::vector<TwOutput> layer(100);
  for (size_t i = 0; i < layer.size(); ++i) {
    layer[i] = b.Op("AddV2", {start, b.Constant(kFloat, static_cast<float>(i))});
  }
  for (int depth = 1; depth < kChain / 100; ++depth) {
    std::vector<TwOutput> next(layer.size());
    for (TwOutput& out : next) {
      const TwOutput left = layer[random() % layer.size()], right = layer[random() % layer.size()];
      out = b.Op("AddV2", {left, right});
    }
    layer = next;
  }
  std::vector<TwNode*> ends;
  for (TwOutput out : layer) ends.push_back(out.node);
  return {.feeds = {start},
          .targets = {b.Node("NoOp", {}, ends)},
          .values = {Builder::Scalar(kFloat, 0.0f)}};
}

// 1,000 nodes: 20 branches of 49 additions and a product of about 50 us.
Workload ChainMixed(Builder& b) {
  constexpr int kBranches = 20, kCheap = 49;
  constexpr int64_t kSide[2] = {160, 160};
  TwTensor* value = Must(tw_tensor_new(kFloat, kSide, 2, status));
  std::fill_n(static_cast<float*>(tw_tensor_data(value)), kSide[0] * kSide[1], 0.5f);
  const TwOutput matrix = {b.Node("Const", {}, {},
                                  [&](TwNodeBuilder* builder) {
                                    tw_node_builder_attr_type(builder, "dtype", kFloat);
                                    tw_node_builder_attr_tensor(builder, "value", value);
                                  }),
                           0};
  tw_tensor_free(value);
  const TwOutput start = b.Placeholder(kFloat), one = b.Constant(kFloat, 1.0f);
  std::vector<TwNode*> ends;
  for (int k = 0; k < kBranches; ++k) {
    TwOutput x = start;
    for (int i = 0; i < kCheap; ++i) x = b.Op("AddV2", {x, one});
    ends.push_back(b.Node("MatMul", {matrix, matrix}, {x.node}));
  }
  return {.feeds = {start},
          .targets = {b.Node("NoOp", {}, ends)},
          .values = {Builder::Scalar(kFloat, 0.0f)}};
}

Workload LatencyNoop(Builder& b) { return {.targets = {b.Node("NoOp", {})}}; }

Workload LatencyAdd(Builder& b) {
  const TwOutput x = b.Placeholder(kFloat);
  return {.feeds = {x},
          .fetches = {b.Op("AddV2", {x, b.Constant(kFloat, 1.0f)})},
          .values = {Builder::Scalar(kFloat, 0.0f)}};
}

Workload WhileCount(Builder& b) {
  const TwOutput limit = b.Placeholder(kInt32);
  const TwOutput limit_inside = b.Enter(limit, "loop", true);
  const TwOutput start = b.Enter(b.Constant(kInt32, 0), "loop", false);
  const TwOutput merge = b.Op("Merge", {start, {nullptr, 0}});
  const TwOutput condition = b.Op("LoopCond", {b.Op("Less", {merge, limit_inside})});
  TwNode* turn = b.Node("Switch", {merge, condition});
  TwNode* body = b.Node("Identity", {{turn, 1}});
  TwNode* one = b.Node("Const", {}, {body}, [&](TwNodeBuilder* builder) {
    TwTensor* value = Builder::Scalar(kInt32, 1);
    tw_node_builder_attr_type(builder, "dtype", kInt32);
    tw_node_builder_attr_tensor(builder, "value", value);
    tw_tensor_free(value);
  });
  const TwOutput next = b.Op("NextIteration", {b.Op("AddV2", {{body, 0}, {one, 0}})});
  Must(tw_graph_set_back_edge(b.graph(), merge.node, 1, next, status));
  return {.feeds = {limit},
          .fetches = {b.Op("Exit", {{turn, 0}})},
          .values = {Builder::Scalar(kInt32, kCount)}};
}

using Step = std::function<void()>;

Step CallableStep(TwSession* session, const Workload& w) {
  TwCallable* callable = Must(
      tw_session_make_callable(session, w.feeds.data(), static_cast<int32_t>(w.feeds.size()),
                               w.fetches.data(), static_cast<int32_t>(w.fetches.size()),
                               w.targets.data(), static_cast<int32_t>(w.targets.size()), status));
  return [callable, &w] {
    TwTensor* result[1] = {nullptr};
    if (tw_callable_run(callable, nullptr, w.values.data(), result, nullptr, nullptr) != TW_OK) {
      std::exit(1);
    }
    if (result[0] != nullptr) tw_tensor_free(result[0]);
  };
}

Step NamedStep(TwSession* session, const Workload& w) {
  auto names = [](const std::vector<TwOutput>& outputs) {
    std::vector<const char*> out;
    for (TwOutput o : outputs) out.push_back(tw_node_name(o.node));
    return out;
  };
  std::vector<TwOutput> ends;
  for (TwNode* target : w.targets) ends.push_back({target, 0});
  return [session, &w, feeds = names(w.feeds), fetches = names(w.fetches), targets = names(ends)] {
    TwTensor* result[1] = {nullptr};
    if (tw_session_run_names(
            session, nullptr, feeds.data(), w.values.data(), static_cast<int32_t>(feeds.size()),
            fetches.data(), static_cast<int32_t>(fetches.size()), targets.data(),
            static_cast<int32_t>(targets.size()), result, nullptr, nullptr) != TW_OK) {
      std::exit(1);
    }
    if (result[0] != nullptr) tw_tensor_free(result[0]);
  };
}

// Seconds of each step, one by one, until the time is up; four at least.
std::vector<double> Measure(const Step& step, double seconds) {
  using Clock = std::chrono::steady_clock;
  for (int i = 0; i < 100; ++i) {
    const auto before = Clock::now();
    step();
    if (Clock::now() - before > std::chrono::milliseconds(5) && i >= 2) break;
  }
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (auto before = Clock::now(); times.size() < 4 || (before < end && times.size() < 1000000);) {
    step();
    const auto after = Clock::now();
    times.push_back(std::chrono::duration<double>(after - before).count());
    before = after;
  }
  std::sort(times.begin(), times.end());
  return times;
}

int Run(const Options& options, Workload (*make)(Builder&)) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (int i = 0; i < options.threads; ++i) CPU_SET(i, &cores);
  sched_setaffinity(0, sizeof(cores), &cores);
  TwEnvironmentOptions environment_options;
  tw_environment_options_init(&environment_options);
  environment_options.threads = options.threads - 1;  // the caller is one of them
  Builder builder(Must(tw_environment_new(&environment_options, status)));
  const Workload workload = make(builder);
  TwSessionOptions session_options;
  tw_session_options_init(&session_options);
  session_options.passes = "-fold_constants,-cse,-fuse_elementwise";
  TwSession* session =
      Must(tw_session_new(builder.environment(), builder.graph(), &session_options, status));
  const Step one =
      options.variant == "names" ? NamedStep(session, workload) : CallableStep(session, workload);
  const Step step = workload.callers == 1 ? one : Step([&one] {
    std::thread other(one);
    one();
    other.join();
  });
  const std::vector<double> times = Measure(step, options.seconds);
  auto at = [&](double part) { return times[static_cast<size_t>(part * (times.size() - 1))]; };
  std::printf(
      "{\"peer\": \"thalweg\", \"version\": \"%s\", \"workload\": \"%s\", \"variant\": \"%s\", "
      "\"threads\": %d, \"median_s\": %.9g, \"p10_s\": %.9g, \"p90_s\": %.9g, \"steps\": %zu}\n",
      tw_version(), options.workload.c_str(), options.variant.c_str(), options.threads, at(.5),
      at(.1), at(.9), times.size());
  tw_session_free(session);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, Workload (*)(Builder&)> workloads = {
      {"add_chain", AddChain},     {"chain_2_callers", ChainTwoCallers},
      {"chain_mixed", ChainMixed}, {"dag_layered", DagLayered},
      {"latency_add", LatencyAdd}, {"latency_noop", LatencyNoop},
      {"noop_chain", NoopChain},   {"noop_wide", NoopWide},
      {"while_count", WhileCount}};
  Options options;
  if (argc > 1) options.workload = argv[1];
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--threads") options.threads = std::max(1, std::atoi(argv[i + 1]));
    if (flag == "--seconds") options.seconds = std::atof(argv[i + 1]);
    if (flag == "--variant") options.variant = argv[i + 1];
  }
  const auto found = workloads.find(options.workload);
  if (found == workloads.end()) {
    std::fprintf(stderr, "no workload '%s'\n", options.workload.c_str());
    return 2;
  }
  return Run(options, found->second);
}
