// SPDX-License-Identifier: Apache-2.0
#include "thalweg/testing/plain_executor.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "thalweg/base/floating_point.h"
#include "thalweg/executor/frames.h"
#include "thalweg/executor/node_error.h"
#include "thalweg/kernel/caught_exception.h"

namespace thalweg {
namespace {

using Control = Node::Control;

// Who reads a node: an input of another node, or (input = -1) a control edge to it.
struct Edge {
  int output;
  int reader;
  int input;
};

struct PlainPlan {
  Program program;
  FrameTree tree;
  std::vector<std::vector<Edge>> edges;
};

struct NodeState {
  int waits = 0;        // inputs that have not arrived; of a Merge: control inputs
  int dead_inputs = 0;  // of a Merge
  int live_input = -1;  // of a Merge: the first that came
  bool dead = false;
  bool fired = false;
  std::vector<Tensor> inputs;
};

struct Frame;

struct Iteration {
  int64_t number = 0;
  int outstanding = 0;  // nodes that are ready or running, and child frames
  std::map<int, NodeState> nodes;
  std::map<int, bool> next_delivered;
  std::map<int, std::unique_ptr<Frame>> children;
};

struct Parked {
  int next;
  Tensor value;
};

struct Frame {
  int index = 0;  // in the tree
  Frame* parent = nullptr;
  Iteration* parent_iteration = nullptr;
  uint64_t tag = 0;
  int enters_left = 0;
  int64_t iterations = 0;
  std::vector<std::pair<int, Tensor>> constants;  // of constant Enters that arrived
  std::deque<std::unique_ptr<Iteration>> live;
  std::vector<Parked> parked;
  std::map<int, bool> exited;
};

struct Ready {
  Frame* frame;
  Iteration* iteration;
  int node;
};

class PlainStep : public DoneSink {
 public:
  PlainStep(const PlainPlan& plan, const Executor::Step& args)
      : plan_(plan), args_(args), fetched_(plan.program.fetches.size()) {}

  Status Run();

 private:
  struct Running {
    Ready ready;
    Context context;
    std::vector<Tensor> values;
    std::vector<Operand> operands;
    int64_t start_nanos = 0;
  };
  struct Ended {
    uint64_t token;
    Status status;
  };

  const ProgramNode& node(int index) const { return plan_.program.nodes[index]; }
  StepContext& context_of(int index) const { return *args_.contexts[node(index).device]; }
  static uint64_t TagOf(const Ready& ready) {
    return ready.frame->tag + static_cast<uint64_t>(ready.iteration->number);
  }
  int Expected(int merge, bool first_iteration) const;
  NodeState& State(Iteration& iteration, int index);
  void Arrive(Frame& frame, Iteration& iteration, const Edge& edge, const Tensor& value, bool dead);
  void Execute(const Ready& ready);
  Status RunPrimitive(const ProgramNode& node, NodeState& state, std::vector<Tensor>& outputs);
  void RunKernel(const Ready& ready, NodeState& state);
  void Finish(Running& running, Status status);
  void Propagate(const Ready& ready, const std::vector<Tensor>& outputs, bool dead);
  void PropagateEnter(const Ready& ready, const Tensor& value);
  void PropagateNext(const Ready& ready, const Tensor& value);
  Iteration& StartIteration(Frame& frame);
  void Leave(Frame& frame, Iteration& iteration);
  void EndFrame(Frame& frame);
  void Fail(Status status);
  bool WaitForEnded(std::vector<Ended>* ended);
  void OnDone(uint64_t token, Status status) override;
  bool Stopped() const { return !status_.ok() || args_.contexts[0]->cancellation->IsCancelled(); }

  const PlainPlan& plan_;
  const Executor::Step& args_;
  Frame root_;
  std::vector<Ready> ready_;
  std::vector<Tensor> fetched_;
  std::vector<NodeRecord> records_;
  Status status_;
  bool skipped_ = false;
  std::map<uint64_t, std::unique_ptr<Running>> running_;
  uint64_t next_token_ = 1;
  Mutex mutex_;
  CondVar changed_;
  std::vector<Ended> ended_ GUARDED_BY(mutex_);
};

// How many inputs of a Merge can arrive in an iteration.
int PlainStep::Expected(int merge, bool first_iteration) const {
  int expected = 0;
  for (const Value& input : node(merge).inputs) {
    const bool from_next = !input.is_feed() && IsBackEdge(plan_.program, input.node, merge);
    const bool from_enter = !input.is_feed() && node(input.node).control == Control::kEnter &&
                            !node(input.node).is_constant;
    expected += first_iteration ? !from_next : !from_enter;
  }
  return expected;
}

NodeState& PlainStep::State(Iteration& iteration, int index) {
  const auto [at, is_new] = iteration.nodes.try_emplace(index);
  NodeState& state = at->second;
  if (!is_new) return state;
  const ProgramNode& n = node(index);
  state.inputs.resize(n.inputs.size());
  state.waits = static_cast<int>(n.control_inputs.size());
  for (const int before : n.control_inputs) state.waits -= node(before).is_free_constant();
  if (n.control == Control::kMerge) return state;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Value& input = n.inputs[i];
    if (input.is_feed()) {
      state.inputs[i] = args_.feeds[input.index];
    } else if (node(input.node).is_free_constant()) {
      state.inputs[i] = node(input.node).constant;
    } else {
      ++state.waits;
    }
  }
  return state;
}

void PlainStep::Arrive(Frame& frame, Iteration& iteration, const Edge& edge, const Tensor& value,
                       bool dead) {
  NodeState& state = State(iteration, edge.reader);
  const ProgramNode& n = node(edge.reader);
  if (state.fired) return;
  if (n.control == Control::kMerge) {
    if (edge.input < 0) {
      --state.waits;
    } else if (dead) {
      ++state.dead_inputs;
    } else if (state.live_input < 0) {
      state.live_input = edge.input;
      state.inputs[edge.input] = value;
    }
    const bool all_dead = state.dead_inputs == Expected(edge.reader, iteration.number == 0);
    if (state.waits != 0 || (state.live_input < 0 && !all_dead)) return;
    state.dead = state.live_input < 0;
  } else {
    if (edge.input >= 0 && !dead) state.inputs[edge.input] = value;
    if (dead && !(edge.input < 0 && n.ignores_dead_controls)) state.dead = true;
    if (--state.waits != 0) return;
  }
  state.fired = true;
  ++iteration.outstanding;
  ready_.push_back({&frame, &iteration, edge.reader});
}

Status PlainStep::RunPrimitive(const ProgramNode& n, NodeState& state,
                               std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (!n.inputs[i].read_reference || state.inputs[i].empty()) continue;
    ASSIGN_OR_RETURN(state.inputs[i], ReadReference(state.inputs[i]));
  }
  switch (n.control) {
    case Control::kNone:
      outputs[0] = n.constant;
      break;
    case Control::kSwitch: {
      const Tensor& predicate = state.inputs[1];
      if (predicate.dtype() != DType::kBool || predicate.rank() != 0) {
        return InvalidArgument("The second input must be a scalar, but it has shape ",
                               predicate.shape(), "; a predicate is one bool, got ",
                               predicate.dtype(), predicate.shape());
      }
      outputs[predicate.scalar<bool>() ? 1 : 0] = state.inputs[0];
      break;
    }
    case Control::kMerge:
      outputs[0] = state.inputs[state.live_input];
      outputs[1] = Tensor::Scalar<int32_t>(state.live_input);
      break;
    default:
      outputs[0] = state.inputs[0];
      break;
  }
  return OkStatus();
}

void PlainStep::Execute(const Ready& ready) {
  const ProgramNode& n = node(ready.node);
  NodeState& state = State(*ready.iteration, ready.node);
  if (Stopped()) {
    skipped_ = true;
    return;
  }
  std::vector<Tensor> outputs(static_cast<size_t>(n.num_outputs));
  if (state.dead && !n.runs_when_dead) {
    Propagate(ready, outputs, true);
    return;
  }
  if (n.kernel != nullptr) return RunKernel(ready, state);
  if (Status status = RunPrimitive(n, state, outputs); !status.ok()) {
    std::vector<const Tensor*> inputs;
    for (const Tensor& input : state.inputs) inputs.push_back(&input);
    return Fail(NodeError(status, n, context_of(ready.node), inputs));
  }
  state.inputs.clear();
  Propagate(ready, outputs, false);
}

void PlainStep::RunKernel(const Ready& ready, NodeState& state) {
  const ProgramNode& n = node(ready.node);
  auto owned = std::make_unique<Running>();
  Running& running = *owned;
  running.ready = ready;
  running.values = std::move(state.inputs);
  const int num_inputs = static_cast<int>(n.inputs.size());
  if (state.dead) running.values.assign(running.values.size(), Tensor());
  running.values.resize(static_cast<size_t>(num_inputs) + static_cast<size_t>(n.num_outputs));
  for (uint32_t i = 0; i < running.values.size(); ++i) {
    running.operands.push_back(Operand::Make(0, i, static_cast<int>(i) < num_inputs));
  }
  const uint64_t token = next_token_++;
  running_.emplace(token, std::move(owned));
  for (int i = 0; i < num_inputs; ++i) {
    if (!n.inputs[i].read_reference || running.values[i].empty()) continue;
    Result<Tensor> value = ReadReference(running.values[i]);
    if (!value.ok()) return OnDone(token, std::move(value).status());
    running.values[i] = *std::move(value);
  }
  running.context.Bind(&context_of(ready.node), TagOf(ready));
  running.context.SetBase(0, running.values.data());
  running.context.SetOperands(running.operands.data(), num_inputs, n.num_outputs);
  running.start_nanos = args_.trace == nullptr ? 0 : args_.trace->ticks().Now();
  try {
    if (AsyncKernel* async = n.kernel->AsAsync()) {
      async->ComputeAsync(running.context, Done(this, token));
    } else {
      OnDone(token, n.kernel->Compute(running.context));
    }
  } catch (...) {
    OnDone(token, CaughtException());
  }
}

void PlainStep::Finish(Running& running, Status status) {
  const ProgramNode& n = node(running.ready.node);
  if (args_.trace != nullptr) {
    records_.push_back({.node = running.ready.node,
                        .start_nanos = running.start_nanos,
                        .end_nanos = args_.trace->ticks().Now(),
                        .has_no_thread = n.kernel->AsAsync() != nullptr});
  }
  const bool was_dead = State(*running.ready.iteration, running.ready.node).dead;
  const auto first_output = running.values.begin() + static_cast<int64_t>(n.inputs.size());
  std::vector<Tensor> outputs(first_output, running.values.end());
  for (size_t i = 0; i < outputs.size() && status.ok(); ++i) {
    if (outputs[i].empty() && !n.may_be_dead && !was_dead) {
      status = Internal("the kernel did not set output ", i);
    }
  }
  if (!status.ok()) {
    std::vector<const Tensor*> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) inputs.push_back(&running.values[i]);
    Fail(NodeError(status, n, context_of(running.ready.node), inputs));
    return;
  }
  const bool dead = was_dead || (n.may_be_dead && n.num_outputs > 0 && outputs[0].empty());
  running.values.clear();
  Propagate(running.ready, outputs, dead);
}

void PlainStep::Propagate(const Ready& ready, const std::vector<Tensor>& outputs, bool dead) {
  const ProgramNode& n = node(ready.node);
  for (size_t f = 0; f < fetched_.size(); ++f) {
    const Value& fetch = plan_.program.fetches[f];
    if (fetch.node == ready.node && !outputs.empty()) fetched_[f] = outputs[fetch.index];
  }
  if (n.control == Control::kEnter) return PropagateEnter(ready, outputs[0]);
  if (n.control == Control::kNextIteration) return PropagateNext(ready, outputs[0]);
  Frame* frame = ready.frame;
  Iteration* iteration = ready.iteration;
  if (n.control == Control::kExit) {
    if (dead || frame->exited[ready.node]) return;
    frame->exited[ready.node] = true;
    iteration = frame->parent_iteration;
    frame = frame->parent;
  }
  for (const Edge& edge : plan_.edges[ready.node]) {
    if (edge.input < 0) {
      Arrive(*frame, *iteration, edge, Tensor(), dead);
    } else {
      const Tensor& value = outputs[edge.output];
      Arrive(*frame, *iteration, edge, value, value.empty());
    }
  }
}

void PlainStep::PropagateEnter(const Ready& ready, const Tensor& value) {
  const int opened = plan_.tree.opens[ready.node];
  std::unique_ptr<Frame>& child = ready.iteration->children[opened];
  if (child == nullptr) {
    child = std::make_unique<Frame>();
    child->index = opened;
    child->parent = ready.frame;
    child->parent_iteration = ready.iteration;
    child->tag = FrameTag(TagOf(ready), plan_.tree.frames[opened].name);
    if (args_.frames != nullptr) {
      args_.frames->OnFrame(child->tag, TagOf(ready), plan_.tree.frames[opened].name);
    }
    child->enters_left = static_cast<int>(plan_.tree.frames[opened].enters.size());
    ++ready.iteration->outstanding;
    StartIteration(*child);
  }
  Frame& frame = *child;
  --frame.enters_left;
  const bool dead = value.empty();
  if (node(ready.node).is_constant) frame.constants.emplace_back(ready.node, value);
  for (const auto& iteration : frame.live) {
    const bool here = node(ready.node).is_constant || iteration->number == 0;
    for (const Edge& edge : plan_.edges[ready.node]) {
      const bool merge = node(edge.reader).control == Control::kMerge && edge.input >= 0;
      if (here || !merge) Arrive(frame, *iteration, edge, value, dead || !here);
    }
  }
  ++frame.live.front()->outstanding;
  Leave(frame, *frame.live.front());
}

void PlainStep::PropagateNext(const Ready& ready, const Tensor& value) {
  if (value.empty()) return;
  Frame& frame = *ready.frame;
  Iteration* following = nullptr;
  for (const auto& iteration : frame.live) {
    if (iteration->number == ready.iteration->number + 1) following = iteration.get();
  }
  ready.iteration->next_delivered[ready.node] = true;
  if (following == nullptr) {
    if (static_cast<int>(frame.live.size()) >= plan_.tree.frames[frame.index].parallel_iterations) {
      frame.parked.push_back({ready.node, value});
      return;
    }
    following = &StartIteration(frame);
  }
  for (const Edge& edge : plan_.edges[ready.node]) Arrive(frame, *following, edge, value, false);
}

Iteration& PlainStep::StartIteration(Frame& frame) {
  frame.live.push_back(std::make_unique<Iteration>());
  Iteration& iteration = *frame.live.back();
  iteration.number = frame.iterations++;
  if (iteration.number == 0) return iteration;
  for (const auto& [enter, value] : frame.constants) {
    for (const Edge& edge : plan_.edges[enter]) {
      Arrive(frame, iteration, edge, value, value.empty());
    }
  }
  // What reads a variable Enter without a Merge has a value in iteration 0 only.
  for (const int enter : plan_.tree.frames[frame.index].enters) {
    if (node(enter).is_constant) continue;
    for (const Edge& edge : plan_.edges[enter]) {
      const bool merge = node(edge.reader).control == Control::kMerge && edge.input >= 0;
      if (!merge) Arrive(frame, iteration, edge, Tensor(), true);
    }
  }
  return iteration;
}

// One thing of an iteration has ended; ends iterations, in order, and the frame.
void PlainStep::Leave(Frame& frame, Iteration& iteration) {
  --iteration.outstanding;
  if (frame.parent == nullptr) return;
  while (frame.live.front()->outstanding == 0 && frame.enters_left == 0) {
    const std::unique_ptr<Iteration> ended = std::move(frame.live.front());
    frame.live.pop_front();
    if (Stopped()) frame.parked.clear();
    if (!frame.parked.empty()) {
      Iteration& started = StartIteration(frame);
      for (const Parked& parked : std::exchange(frame.parked, {})) {
        for (const Edge& edge : plan_.edges[parked.next]) {
          Arrive(frame, started, edge, parked.value, false);
        }
      }
    }
    if (frame.live.empty()) return EndFrame(frame);
    // So that every node of an iteration that exists runs or is dead.
    for (const int next : plan_.tree.frames[frame.index].nexts) {
      if (ended->next_delivered[next]) continue;
      for (const Edge& edge : plan_.edges[next]) {
        Arrive(frame, *frame.live.front(), edge, Tensor(), true);
      }
    }
  }
}

void PlainStep::EndFrame(Frame& frame) {
  Frame& parent = *frame.parent;
  Iteration& iteration = *frame.parent_iteration;
  if (!Stopped()) {
    for (const int exit : plan_.tree.frames[frame.index].exits) {
      if (frame.exited[exit]) continue;
      for (const Edge& edge : plan_.edges[exit]) Arrive(parent, iteration, edge, Tensor(), true);
    }
  }
  iteration.children.erase(frame.index);  // `frame` is gone
  Leave(parent, iteration);
}

void PlainStep::Fail(Status status) {
  if (!status_.ok()) return;
  status_ = std::move(status);
  args_.contexts[0]->cancellation->Cancel(status_);
}

void PlainStep::OnDone(uint64_t token, Status status) {
  MutexLock lock(mutex_);
  ended_.push_back({token, std::move(status)});
  changed_.NotifyAll();
}

// False when nothing runs any more.
bool PlainStep::WaitForEnded(std::vector<Ended>* ended) {
  if (running_.empty()) return false;
  MutexLock lock(mutex_);
  while (ended_.empty()) changed_.Wait(mutex_);
  ended->swap(ended_);
  return true;
}

Status PlainStep::Run() {
  const FloatingPointScope floating_point;
  root_.live.push_back(std::make_unique<Iteration>());
  Iteration& iteration = *root_.live.front();
  for (int i = 0; i < static_cast<int>(plan_.program.nodes.size()); ++i) {
    const ProgramNode& n = node(i);
    if (plan_.tree.frame_of[i] != 0 || n.is_free_constant()) continue;
    NodeState& state = State(iteration, i);
    if (n.control == Control::kMerge) {
      for (int k = 0; k < static_cast<int>(n.inputs.size()); ++k) {
        const Value& input = n.inputs[k];
        if (input.is_feed()) {
          Arrive(root_, iteration, {0, i, k}, args_.feeds[input.index], false);
        } else if (node(input.node).is_free_constant()) {
          Arrive(root_, iteration, {0, i, k}, node(input.node).constant, false);
        }
      }
    } else if (state.waits == 0) {
      state.fired = true;
      ++iteration.outstanding;
      ready_.push_back({&root_, &iteration, i});
    }
  }
  std::vector<Ended> ended;
  do {
    for (Ended& one : ended) {
      const auto at = running_.find(one.token);
      const std::unique_ptr<Running> running = std::move(at->second);
      running_.erase(at);
      Finish(*running, std::move(one.status));
      Leave(*running->ready.frame, *running->ready.iteration);
    }
    ended.clear();
    while (!ready_.empty()) {
      const Ready ready = ready_.back();
      ready_.pop_back();
      const size_t before = running_.size();
      Execute(ready);
      if (running_.size() == before) Leave(*ready.frame, *ready.iteration);
    }
  } while (WaitForEnded(&ended));
  std::vector<ValueRecord> none;
  if (args_.trace != nullptr) args_.trace->Add(&records_, &none);
  RETURN_IF_ERROR(status_);
  if (skipped_) return args_.contexts[0]->cancellation->Reason();
  for (size_t f = 0; f < fetched_.size(); ++f) {
    const Value& fetch = plan_.program.fetches[f];
    if (fetch.is_feed()) {
      fetched_[f] = args_.feeds[fetch.index];
    } else if (node(fetch.node).is_free_constant()) {
      fetched_[f] = node(fetch.node).constant;
    }
    if (fetched_[f].empty()) return DeadFetchError(plan_.program, fetch);
    if (fetch.read_reference) {
      ASSIGN_OR_RETURN(fetched_[f], ReadReference(fetched_[f]));
    }
  }
  for (size_t f = 0; f < fetched_.size(); ++f) args_.fetches[f] = std::move(fetched_[f]);
  return OkStatus();
}

class PlainExecutor : public Executor {
 public:
  explicit PlainExecutor(PlainPlan plan) : plan_(std::move(plan)) {}
  Status Run(const Executor::Step& step) override { return PlainStep(plan_, step).Run(); }
  void RunAsync(const Executor::Step& step, std::function<void(Status)> done) override {
    done(Run(step));
  }
  const Program& program() const override { return plan_.program; }
  // It frees nothing before the end of a step.
  MemoryPlan PlanMemory(const OutputBytes&) const override { return {}; }

 private:
  const PlainPlan plan_;
};

}  // namespace

Result<std::unique_ptr<Executor>> MakePlainExecutor(Program program) {
  PlainPlan plan;
  ASSIGN_OR_RETURN(plan.tree, AssignFrames(program));
  plan.program = std::move(program);
  const std::vector<ProgramNode>& nodes = plan.program.nodes;
  plan.edges.resize(nodes.size());
  for (int reader = 0; reader < static_cast<int>(nodes.size()); ++reader) {
    for (int i = 0; i < static_cast<int>(nodes[reader].inputs.size()); ++i) {
      const Value& input = nodes[reader].inputs[i];
      if (!input.is_feed()) plan.edges[input.node].push_back({input.index, reader, i});
    }
    for (const int before : nodes[reader].control_inputs) {
      plan.edges[before].push_back({0, reader, -1});
    }
  }
  return std::unique_ptr<Executor>(std::make_unique<PlainExecutor>(std::move(plan)));
}

}  // namespace thalweg
