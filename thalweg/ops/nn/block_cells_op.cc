// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks as single operations: LSTMBlockCell, BlockLSTM (a whole sequence),
// its version 2, GRUBlockCell, and their gradients.
#include <algorithm>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/op_registry.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

// Outputs [begin, end) like input `like`.
Status SetLike(ShapeContext& c, int begin, int end, const PartialShape& shape) {
  for (int i = begin; i < end; ++i) c.set_output(i, shape);
  return OkStatus();
}

// x, cs_prev, ...: all seven outputs are [batch, cells].
Status CellShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(x.dim(0), state.dim(0)));
  return SetLike(c, 0, 7, PartialShape{batch, state.dim(1)});
}

// A number of cells times `times`; unknown if it is.
int64_t Gates(int64_t cells, int times) {
  int64_t gates = 0;
  if (cells < 0 || __builtin_mul_overflow(cells, times, &gates)) return PartialShape::kUnknownDim;
  return gates;
}

Status CellGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(7, 1));
  ASSIGN_OR_RETURN(const int64_t gates, MergeDims(b.dim(0), Gates(state.dim(1), 4)));
  c.set_output(0, state);
  c.set_output(1, PartialShape{state.dim(0), gates});
  return SetLike(c, 2, 5, PartialShape{state.dim(1)});
}

// seq_len_max, x [time, batch, inputs], cs_prev ...
Status SequenceShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(1, 3));
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(2, 2));
  RETURN_IF_ERROR(c.InputWithRank(8, 1).status());
  return SetLike(c, 0, 7, PartialShape{x.dim(0), x.dim(1), state.dim(1)});
}

Status SequenceGradShape(ShapeContext& c) {
  constexpr int kRanks[] = {3, 2, 2, 2, 1, 1, 1, 1};  // of x, cs_prev, h_prev, w, wci ...
  for (int i = 0; i < 8; ++i) {
    ASSIGN_OR_RETURN(const PartialShape like, c.InputWithRank(i + 1, kRanks[i]));
    c.set_output(i, like);
  }
  return OkStatus();
}

template <const char* Op>
Status SequenceGradient(GradientContext& c) {
  std::vector<Output> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(c.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(c.output(i));
  inputs.push_back(c.grad(1));
  inputs.push_back(c.grad(6));
  Node* grads = c.b().OpNode(Op, inputs, {{"use_peephole", *c.node().FindAttr("use_peephole")}});
  for (int i = 0; i < 8; ++i) c.set_input_grad(i + 1, Output{grads, i});
  return c.b().status();
}

Status GruShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const int64_t batch, MergeDims(x.dim(0), state.dim(0)));
  return SetLike(c, 0, 4, PartialShape{batch, state.dim(1)});
}

Status GruGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(1, 2));
  RETURN_IF_ERROR(c.InputWithRank(2, 2).status());
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(4, 1));
  ASSIGN_OR_RETURN(const int64_t gates, MergeDims(b.dim(0), Gates(state.dim(1), 2)));
  c.set_output(0, x);
  c.set_output(1, state);
  c.set_output(2, state);
  c.set_output(3, PartialShape{state.dim(0), gates});
  return OkStatus();
}

// Only outputs `used` of a cell are read by networks; a gradient of another one would be lost.
Status OnlyGradientsOf(GradientContext& c, std::initializer_list<int> used) {
  for (int i = 0; i < c.node().num_outputs(); ++i) {
    if (!c.has_grad(i) || std::find(used.begin(), used.end(), i) != used.end()) continue;
    return Unimplemented(c.node().op_name(), " has no gradient for its output ", i,
                         ", which shows a gate");
  }
  return OkStatus();
}

// What x and the state get of the gradient of a product [x, state] * w.
void SplitColumns(GradientContext& c, Output grad, int x, int state) {
  GraphBuilder& b = c.b();
  const auto size = [&](int i) {
    return b.Op("Slice", {b.Op("Shape", {c.input(i)}), b.Const(std::vector<int32_t>{1}),
                          b.Const(std::vector<int32_t>{1})});
  };
  const Output zero = b.Const(std::vector<int32_t>{0}), axis = b.Const(Tensor::Scalar<int32_t>(0));
  const Output all = b.Const(std::vector<int32_t>{-1, -1});
  const Output first =
      b.Op("ConcatV2", {b.Const(std::vector<int32_t>{-1}), size(x), axis}, {{"N", int64_t{2}}});
  c.set_input_grad(x, b.Op("Slice", {grad, b.Const(std::vector<int32_t>{0, 0}), first}));
  const Output begin = b.Op("ConcatV2", {zero, size(x), axis}, {{"N", int64_t{2}}});
  c.set_input_grad(state, b.Op("Slice", {grad, begin, all}));
}

// [x, state]^T * grad.
Output KernelGradient(GradientContext& c, Output x, Output state, Output grad) {
  GraphBuilder& b = c.b();
  const Output joined =
      b.Op("ConcatV2", {x, state, b.Const(Tensor::Scalar<int32_t>(1))}, {{"N", int64_t{2}}});
  return b.Op("MatMul", {joined, grad}, {{"transpose_a", true}});
}

// Inputs: x, cs_prev, h_prev, w, wci, wcf, wco, b.
Status CellGradient(GradientContext& c) {
  RETURN_IF_ERROR(OnlyGradientsOf(c, {1, 6}));
  GraphBuilder& b = c.b();
  std::vector<Output> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(c.input(i));
  for (int i = 0; i < 6; ++i) inputs.push_back(c.output(i));
  inputs.push_back(c.grad(1));
  inputs.push_back(c.grad(6));
  Node* const grads =
      b.OpNode("LSTMBlockCellGrad", inputs, {{"use_peephole", *c.node().FindAttr("use_peephole")}});
  if (grads == nullptr) return b.status();
  const Output gates{grads, 1};
  SplitColumns(c, b.Op("MatMul", {gates, c.input(3)}, {{"transpose_b", true}}), 0, 2);
  c.set_input_grad(1, Output{grads, 0});
  c.set_input_grad(3, KernelGradient(c, c.input(0), c.input(2), gates));
  for (int i = 0; i < 3; ++i) c.set_input_grad(4 + i, Output{grads, 2 + i});
  c.set_input_grad(7, b.Op("BiasAddGrad", {gates}));
  return b.status();
}

// Inputs: x, h_prev, w_ru, w_c, b_ru, b_c. Outputs: r, u, c, h.
Status GruGradient(GradientContext& c) {
  RETURN_IF_ERROR(OnlyGradientsOf(c, {3}));
  GraphBuilder& b = c.b();
  std::vector<Output> inputs;
  for (int i = 0; i < 6; ++i) inputs.push_back(c.input(i));
  for (int i = 0; i < 3; ++i) inputs.push_back(c.output(i));
  inputs.push_back(c.grad(3));
  Node* const grads = b.OpNode("GRUBlockCellGrad", inputs);
  if (grads == nullptr) return b.status();
  const Output candidate{grads, 2}, gates{grads, 3};
  c.set_input_grad(0, Output{grads, 0});
  c.set_input_grad(1, Output{grads, 1});
  c.set_input_grad(2, KernelGradient(c, c.input(0), c.input(1), gates));
  const Output reset = b.Op("Mul", {c.input(1), c.output(0)});
  c.set_input_grad(3, KernelGradient(c, c.input(0), reset, candidate));
  c.set_input_grad(4, b.Op("BiasAddGrad", {gates}));
  c.set_input_grad(5, b.Op("BiasAddGrad", {candidate}));
  return b.status();
}

constexpr char kGrad[] = "BlockLSTMGrad", kGradV2[] = "BlockLSTMGradV2";
constexpr char kNone[] = "TensorFlow has no gradient of it either";

}  // namespace
}  // namespace thalweg

THALWEG_OP(block_cells) {
  registry.Op("LSTMBlockCell").Shape(CellShape).Gradient(CellGradient).Doc("One step of an LSTM.");
  registry.Op("LSTMBlockCellGrad")
      .Shape(CellGradShape)
      .NotDifferentiable(kNone)
      .Doc("The gradient of LSTMBlockCell by its state and peepholes, and that of its gates.");
  registry.Op("BlockLSTM")
      .Shape(SequenceShape)
      .Gradient(SequenceGradient<kGrad>)
      .Doc("The steps of an LSTM over a sequence.");
  registry.Op("BlockLSTMV2")
      .Shape(SequenceShape)
      .Gradient(SequenceGradient<kGradV2>)
      .Doc("The steps of an LSTM over a sequence; the forget gate is the second.");
  for (const char* op : {kGrad, kGradV2}) {
    registry.Op(op)
        .Shape(SequenceGradShape)
        .NotDifferentiable(kNone)
        .Doc("The gradient of an LSTM over a sequence.");
  }
  registry.Op("GRUBlockCell").Shape(GruShape).Gradient(GruGradient).Doc("One step of a GRU.");
  registry.Op("GRUBlockCellGrad")
      .Shape(GruGradShape)
      .NotDifferentiable(kNone)
      .Doc("The gradient of GRUBlockCell.");
}
