// SPDX-License-Identifier: Apache-2.0
#include "thalweg/autodiff/loop_gradient.h"

#include <algorithm>

#include "thalweg/graph/variable_zeros.h"

namespace thalweg {
namespace {

using Control = Node::Control;

// Loops in loops are differentiated by recursion.
constexpr int kMaxDepth = 32;

}  // namespace

LoopGradient::LoopGradient(GradientRun& run, Frame* loop, Frame* outer, const GraphBuilder& b)
    : run_(run), loop_(loop), outer_(outer), b_(b) {}

Status LoopGradient::Check() const {
  std::string flaw = loop_->flaw;
  if (loop_->depth > kMaxDepth) flaw = StrCat("it is in more than ", kMaxDepth, " other loops");
  if (run_.frames->gates_are_too_deep()) flaw = "conditionals are nested too deeply";
  if (flaw.empty()) return OkStatus();
  return Unimplemented("the gradient of the while loop '", loop_->name, "' (its condition is ",
                       loop_->condition->Label(), "): ", flaw);
}

// The nodes that last values with a gradient depend on, in any iteration, and who reads them.
std::unordered_set<const Node*> LoopGradient::ReachBack(
    const std::vector<GradientValue>& exit_grads,
    std::unordered_map<const Node*, std::vector<const Node*>>* readers) const {
  std::unordered_set<const Node*> reached;
  std::vector<const Node*> queue;
  const auto reach = [&](const Node* node) {
    if (reached.insert(node).second) queue.push_back(node);
  };
  for (size_t i = 0; i < exit_grads.size(); ++i) {
    if (exit_grads[i].present()) reach(loop_->variables[i].merge);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    const Node* const node = queue[i];
    const bool enters = node->control() == Control::kEnter && run_.frames->Of(node) == loop_;
    if (enters || run_.stops.contains(node)) continue;
    for (const Output& input : run_.InputsOf(node)) {
      if (input.node == nullptr || !IsDifferentiable(input.dtype())) continue;
      (*readers)[input.node].push_back(node);
      reach(input.node);
    }
  }
  return reached;
}

// A variable matters when a last value depends on it, and it on something that is asked for.
void LoopGradient::FindActive(const std::vector<GradientValue>& exit_grads,
                              const std::function<bool(const Output&)>& is_wanted) {
  std::unordered_map<const Node*, std::vector<const Node*>> readers;
  const std::unordered_set<const Node*> back = ReachBack(exit_grads, &readers);
  std::unordered_set<const Node*> forward;
  std::vector<const Node*> queue;
  const auto consider = [&](Node* enter) {
    const Output& source = enter->input(0);
    const bool matters =
        back.contains(enter) && IsDifferentiable(source.dtype()) && is_wanted(source);
    if (matters && forward.insert(enter).second) queue.push_back(enter);
    return matters;
  };
  for (const LoopVariable& variable : loop_->variables) consider(variable.enter);
  for (Node* enter : loop_->invariants) {
    if (consider(enter)) active_invariants_.push_back(enter);
  }
  for (size_t i = 0; i < queue.size(); ++i) {
    for (const Node* reader : readers[queue[i]]) {
      if (forward.insert(reader).second) queue.push_back(reader);
    }
  }
  for (const LoopVariable& variable : loop_->variables) {
    const bool is_number = variable.merge->output_type(0) != DType::kResource;
    if (is_number && forward.contains(variable.merge)) carried_.push_back({variable, 0, {}});
  }
}

Output LoopGradient::Dense(const GradientValue& grad, const Output& of) {
  GradientValue value = grad;
  if (value.is_sparse() && value.dense_shape.node == nullptr) {
    value.dense_shape = b_.Op("Shape", {of});
  }
  return Densify(b_, value);
}

Output LoopGradient::Initial(const LoopVariable& variable, const GradientValue& grad) {
  const Output last = memory_->LastValue(variable);
  if (!b_.ok()) return {};
  return grad.present() ? Dense(grad, last) : b_.Op("ZerosLike", {last});
}

// The loop that counts down the iterations that were made.
void LoopGradient::StartLoop(std::vector<Output> initial) {
  const Output count = b_.Op("Identity", {memory_->AddCounter()}, {}, "count");
  if (!b_.ok()) return;
  // Constants that are there where the loop was.
  count_ = count.node;
  GraphBuilder around = b_.WithControls({count_});
  const Output zero = around.Const(Tensor::Scalar<int64_t>(0), "zero");
  const Output one = around.Const(Tensor::Scalar<int64_t>(1), "one");
  if (!b_.ok()) return;
  std::string name = b_.prefix();
  name.pop_back();
  Frame* const frame = run_.frames->NewFrame(std::move(name), outer_);
  frame->parallel_iterations = loop_->parallel_iterations;
  back_.emplace(run_, frame, b_);
  const int left = back_->Start(count, Shape());
  back_->SetCondition(back_->Op("Greater", {back_->merged(left), back_->Invariant(zero)}));
  const Output less = back_->Op("Sub", {back_->body(left), back_->Invariant(one)});
  back_->SetPivot(less.node);
  back_->Finish(left, less);
  for (size_t i = 0; i < carried_.size(); ++i) {
    const Node* const merge = carried_[i].forward.merge;
    const bool is_variant = merge->output_type(0) == DType::kVariant;
    carried_[i].index =
        back_->Start(initial[i], is_variant ? PartialShape::Unknown() : merge->output_shape(0));
  }
}

Status LoopGradient::DifferentiateBody() {
  std::vector<Output> ys, xs;
  std::vector<GradientValue> grad_ys;
  for (const Carried& carried : carried_) {
    ys.push_back(carried.forward.next->input(0));
    grad_ys.push_back({back_->body(carried.index), {}, {}});
    xs.push_back({carried.forward.merge, 0});
  }
  for (Node* enter : active_invariants_) xs.push_back({enter, 0});
  for (const LoopVariable& variable : loop_->variables) {
    if (variable.merge->output_type(0) == DType::kResource) xs.push_back({variable.merge, 0});
  }
  RETURN_IF_ERROR(b_.status());
  GradientWalk walk(run_, {loop_, back_->frame()}, ys, grad_ys, xs, b_);
  ASSIGN_OR_RETURN(const std::vector<GradientValue> grads, walk.Run());
  size_t next = 0;
  for (Carried& carried : carried_) {
    const GradientValue& grad = grads[next];
    const Output& value = xs[next++];
    carried.gradient = grad.present() ? Dense(grad, value) : b_.Op("ZerosLike", {value});
  }
  for (Node* enter : active_invariants_) {
    const GradientValue& grad = grads[next++];
    if (!grad.present()) continue;
    summed_.push_back({enter, grad});
  }
  for (; next < xs.size(); ++next) {
    if (!grads[next].present()) continue;
    return Unimplemented("the gradient of the while loop '", loop_->name, "' with respect to '",
                         xs[next], "', a handle that is a variable of the loop (let the loop ",
                         "capture the handle instead)");
  }
  return b_.status();
}

Output LoopGradient::Sum(const Output& source, const Output& gradient) {
  const bool is_list = source.dtype() == DType::kVariant;
  const Output zeros = source.dtype() == DType::kResource
                           ? ZerosOfVariable(b_, source, gradient.dtype())
                           : b_.Op("ZerosLike", {source});
  if (!b_.ok()) return {};
  const int sum = back_->Start(zeros, is_list ? PartialShape::Unknown() : gradient.shape());
  const std::vector<Output> terms = {back_->body(sum), gradient};
  back_->Finish(
      sum, is_list ? back_->Op("AddN", terms, {{"N", int64_t{2}}}) : back_->Op("AddV2", terms));
  return back_->Exit(sum);
}

// `first` and what each iteration gives, one behind the other. A list holds them until the end, so
// that each is copied once.
Output LoopGradient::CollectParts(const Output& element_shape, const Output& first,
                                  const Output& part) {
  GraphBuilder around = b_.WithControls({count_});
  const DType dtype = part.dtype();
  const Output no_limit = around.ScalarConst(DType::kInt32, -1);
  const Output none =
      b_.Op("EmptyTensorList", {element_shape, no_limit}, {{"element_dtype", dtype}});
  const Output start = b_.Op("TensorListPushBack", {none, first}, {{"element_dtype", dtype}});
  if (!b_.ok()) return {};
  const int parts = back_->Start(start, PartialShape::Unknown());
  back_->Finish(parts, back_->Op("TensorListPushBack", {back_->body(parts), part},
                                 {{"element_dtype", dtype}}));
  const Output lengths = around.Const(std::vector<int64_t>{});
  return b_.Op("TensorListConcatV2", {back_->Exit(parts), element_shape, lengths},
               {{"element_dtype", dtype}});
}

// Rows stay rows. As in TensorFlow a row of zeros for row 0 comes first: an optimizer with a memory
// of its own for each row sees row 0 in every step.
GradientValue LoopGradient::CollectRows(const Output& source, const GradientValue& rows) {
  GraphBuilder around = b_.WithControls({count_});
  const bool is_handle = source.dtype() == DType::kResource;
  const Output shape = b_.Op(is_handle ? "VariableShape" : "Shape", {source});
  const auto numbers = [&](int32_t value) { return around.Const(std::vector<int32_t>{value}); };
  const Output rest =
      b_.Op("StridedSlice", {shape, numbers(1), numbers(0), numbers(1)}, {{"end_mask", 1}});
  const auto many_rows = [&](int32_t count) {
    return b_.Op("ConcatV2", {numbers(count), rest, around.ScalarConst(DType::kInt32, 0)});
  };
  const DType index_type = rows.indices.dtype();
  const Output no_row = b_.Op("Fill", {many_rows(1), around.ScalarConst(rows.values.dtype(), 0)});
  const Output row_0 = b_.Op("Fill", {numbers(1), around.ScalarConst(index_type, 0)});
  return {CollectParts(many_rows(-1), no_row, rows.values),
          CollectParts(numbers(-1), row_0, rows.indices), shape};
}

LoopInputGradients LoopGradient::Finish() {
  LoopInputGradients all;
  for (const Carried& carried : carried_) {
    back_->Finish(carried.index, carried.gradient);
    all.push_back({carried.forward.enter, {back_->Exit(carried.index), {}, {}}});
  }
  for (const Summed& summed : summed_) {
    if (!b_.ok()) return {};
    const Output source = summed.enter->input(0);
    const GradientValue& gradient = summed.gradient;
    all.push_back({summed.enter, gradient.is_sparse()
                                     ? CollectRows(source, gradient)
                                     : GradientValue{Sum(source, gradient.values), {}, {}}});
  }
  return all;
}

Result<LoopInputGradients> LoopGradient::Add(std::vector<GradientValue> exit_grads,
                                             const std::function<bool(const Output&)>& is_wanted) {
  RETURN_IF_ERROR(Check());
  FindActive(exit_grads, is_wanted);
  if (carried_.empty()) return LoopInputGradients();
  b_ = b_.Scope(StrCat(loop_->condition->name(), "_grad"));
  memory_.emplace(run_, loop_, b_.Scope("forward"));
  std::vector<Output> initial;
  for (const Carried& carried : carried_) {
    const auto same = [&](const LoopVariable& v) { return v.merge == carried.forward.merge; };
    const auto at = std::find_if(loop_->variables.begin(), loop_->variables.end(), same);
    const auto i = static_cast<size_t>(at - loop_->variables.begin());
    initial.push_back(Initial(carried.forward, exit_grads[i]));
  }
  StartLoop(std::move(initial));
  RETURN_IF_ERROR(b_.status());
  const int first = run_.graph->num_nodes();
  RETURN_IF_ERROR(DifferentiateBody());
  std::vector<Output*> results;
  for (Carried& carried : carried_) results.push_back(&carried.gradient);
  for (Summed& summed : summed_) {
    results.push_back(&summed.gradient.values);
    if (summed.gradient.is_sparse()) results.push_back(&summed.gradient.indices);
  }
  RETURN_IF_ERROR(memory_->MoveInto(*back_, first, run_.graph->num_nodes(), results));
  LoopInputGradients gradients = Finish();
  RETURN_IF_ERROR(b_.status());
  return gradients;
}

}  // namespace thalweg
