// SPDX-License-Identifier: Apache-2.0
// ShapeContext: what a shape function sees of a node, and where it puts what it knows.
//
//   Status MatMulShape(ShapeContext& c) {
//     ASSIGN_OR_RETURN(PartialShape a, c.InputWithRank(0, 2));
//     ASSIGN_OR_RETURN(PartialShape b, c.InputWithRank(1, 2));
//     ...
//     c.set_output(0, PartialShape{a.dim(0), b.dim(1)});
//     return OkStatus();
//   }
//
// A shape function says what is certain and no more: unknown inputs give unknown outputs.
// Ownership: the node outlives the context; input(i) refers to its graph's shapes, all else are
// values.
// Threads: one at a time for each context; the functions on shapes from any.
// Errors: the user's: InvalidArgument that says what was expected and found; AddNode puts node and
// operation before it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/tensor/shape.h"

namespace thalweg {

class ShapeContext {
 public:
  explicit ShapeContext(const Node& node);

  const Node& node() const { return node_; }
  int num_inputs() const { return node_.num_inputs(); }
  int num_outputs() const { return node_.num_outputs(); }
  // Unknown for an open back edge.
  const PartialShape& input(int i) const;
  // Input i if its rank is `rank` or unknown (then that rank with unknown dimensions);
  // InvalidArgument otherwise.
  Result<PartialShape> InputWithRank(int i, int rank) const;
  Result<PartialShape> InputWithRankAtLeast(int i, int rank) const;
  // The value of input i when the graph fixes it (a constant, or computed from constants); an empty
  // tensor otherwise.
  Tensor InputValue(int i) const;
  // Input i read as a shape, an int32 or int64 vector with -1 for unknown: what can be known of it,
  // also dimension by dimension through Shape, Pack, ConcatV2, StridedSlice, Cast and the like.
  // Unknown when nothing is.
  PartialShape InputAsShape(int i) const;
  // The same of an argument that must be a shape: a vector without numbers below -1.
  Result<PartialShape> ShapeArgument(int i) const;
  const HandleShape* input_handle_shape(int i) const;
  template <class T>
  Result<T> Attr(std::string_view name) const {
    return node_.Attr<T>(name);
  }

  // An output that is never set stays unknown.
  void set_output(int i, PartialShape shape) { outputs_[i] = std::move(shape); }
  void set_output_handle(int i, HandleShape handle) {
    handles_[i] = std::make_unique<HandleShape>(std::move(handle));
  }
  const std::vector<PartialShape>& outputs() const { return outputs_; }
  PartialShape& mutable_output(int i) { return outputs_[i]; }
  std::vector<std::unique_ptr<HandleShape>>& handles() { return handles_; }

 private:
  const Node& node_;
  std::vector<PartialShape> outputs_;
  std::vector<std::unique_ptr<HandleShape>> handles_;
};

// Shape functions that many operations share.
Status UnchangedShape(ShapeContext& c);  // output i has input 0's shape
Status ScalarShape(ShapeContext& c);     // every output is a scalar
Status NoOutputs(ShapeContext& c);
Status UnknownShape(ShapeContext& c);
Status BroadcastBinaryShape(ShapeContext& c);  // inputs 0 and 1 broadcast together
Status MergedInputsShape(ShapeContext& c);     // all inputs have one shape, and so has output 0
// Broadcasting of partial shapes; InvalidArgument "shapes [2,3] and [4] do not broadcast together".
Result<PartialShape> BroadcastShapes(const PartialShape& a, const PartialShape& b);
// A dimension computed by a and b both: the known one, InvalidArgument when they differ.
Result<int64_t> MergeDims(int64_t a, int64_t b);
// InvalidArgument unless the dimension is `wanted`, or one of the two is not known.
Status CheckDim(int64_t dim, int64_t wanted);
// The same of a rank; either may be the length of a vector that has an element for each dimension.
Status CheckRank(int64_t rank, int64_t wanted);
Status CheckRankAtLeast(int64_t rank, int64_t wanted);
Status CheckRankAtMost(int64_t rank, int64_t wanted);
// An axis that may count from the back, counted from the front; InvalidArgument, in the words of
// CheckRankAtLeast, where a tensor of the (known) rank has not so many dimensions.
Result<int> CheckAxis(int64_t axis, int rank);
// The shape of a tensor whose first dimensions are `prefix`, as far as both say; InvalidArgument,
// in the words of CheckRankAtLeast and MergeDims, where they do not.
Result<PartialShape> MergePrefix(const PartialShape& shape, const PartialShape& prefix);
// How often `divisor` fits into a dimension; InvalidArgument when something is left.
Result<int64_t> DivideDim(int64_t dim, int64_t divisor);

// An error of those above, whose words are TensorFlow's, with more behind them: "WORDS; PARTS"; ok
// stays ok.
template <class... Parts>
Status Explained(const Status& status, const Parts&... parts) {
  if (status.ok()) return status;
  return Status(status.code(), StrCat(status.message(), "; ", parts...));
}

}  // namespace thalweg
