// SPDX-License-Identifier: Apache-2.0
// Cells of recurrent networks as single operations: LSTMBlockCell, BlockLSTM (a whole sequence),
// its version 2, GRUBlockCell, and their gradients.
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

Status CellGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(1, 2));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(7, 1));
  c.set_output(0, state);
  c.set_output(1, PartialShape{state.dim(0), b.dim(0)});
  return SetLike(c, 2, 5, PartialShape{state.dim(1)});
}

// seq_len_max, x [time, batch, inputs], cs_prev ...
Status SequenceShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const PartialShape x, c.InputWithRank(1, 3));
  ASSIGN_OR_RETURN(const PartialShape state, c.InputWithRank(2, 2));
  return SetLike(c, 0, 7, PartialShape{x.dim(0), x.dim(1), state.dim(1)});
}

Status SequenceGradShape(ShapeContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 3).status());
  for (int i = 0; i < 8; ++i) c.set_output(i, c.input(i + 1));
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
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(4, 1));
  c.set_output(0, x);
  c.set_output(1, state);
  c.set_output(2, state);
  c.set_output(3, PartialShape{state.dim(0), b.dim(0)});
  return OkStatus();
}

constexpr char kGrad[] = "BlockLSTMGrad", kGradV2[] = "BlockLSTMGradV2";
constexpr char kNone[] = "TensorFlow has no gradient of it either";

}  // namespace
}  // namespace thalweg

THALWEG_OP(block_cells) {
  registry.Op("LSTMBlockCell")
      .Shape(CellShape)
      .NotDifferentiable(kNone)
      .Doc("One step of an LSTM.");
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
  registry.Op("GRUBlockCell").Shape(GruShape).NotDifferentiable(kNone).Doc("One step of a GRU.");
  registry.Op("GRUBlockCellGrad")
      .Shape(GruGradShape)
      .NotDifferentiable(kNone)
      .Doc("The gradient of GRUBlockCell.");
}
