// SPDX-License-Identifier: Apache-2.0
#include "thalweg/graph/op_costs.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

namespace thalweg {
namespace {

// How the operations of a node are counted; a row's factor is for each of what is said here.
enum class Rule : uint8_t {
  kNone,            // moves values
  kElement,         // element of output 0
  kInput,           // element of input 0
  kAddN,            // element of output 0, but for the first input
  kWindow,          // element of output 0 and element of the window
  kProduct,         // element of output 0 and element of the dimension that is summed
  kConvolution,     // element of output 0 and weight of its channel
  kDepthwise,       // the same, of which each has one input channel
  kInputGradient,   // element of the convolution's result and weight of its channel
  kFilterGradient,  // the same; the weights are the output
  kEinsum,          // element of the product of all labels' dimensions
  kRecurrent,       // row of x and weight
};

struct Row {
  std::string_view op;
  Rule rule;
  int factor;
};

constexpr auto kRows = std::to_array<Row>({
    {"Abs", Rule::kElement, 1},
    {"AccumulateNV2", Rule::kAddN, 1},
    {"Acos", Rule::kElement, 1},
    {"Acosh", Rule::kElement, 1},
    {"Add", Rule::kElement, 1},
    {"AddN", Rule::kAddN, 1},
    {"AddV2", Rule::kElement, 1},
    {"All", Rule::kInput, 1},
    {"Angle", Rule::kElement, 1},
    {"Any", Rule::kInput, 1},
    {"ArgMax", Rule::kInput, 1},
    {"ArgMin", Rule::kInput, 1},
    {"Asin", Rule::kElement, 1},
    {"Asinh", Rule::kElement, 1},
    {"Assert", Rule::kNone, 0},
    {"Atan", Rule::kElement, 1},
    {"Atan2", Rule::kElement, 1},
    {"Atanh", Rule::kElement, 1},
    {"AvgPool", Rule::kWindow, 1},
    {"AvgPool3D", Rule::kWindow, 1},
    {"BatchMatMul", Rule::kProduct, 2},
    {"BatchMatMulV2", Rule::kProduct, 2},
    {"BatchMatMulV3", Rule::kProduct, 2},
    {"BatchToSpace", Rule::kNone, 0},
    {"BatchToSpaceND", Rule::kNone, 0},
    {"BiasAdd", Rule::kElement, 1},
    {"BiasAddGrad", Rule::kInput, 1},
    {"BiasAddV1", Rule::kElement, 1},
    {"Bitcast", Rule::kNone, 0},
    {"BitwiseAnd", Rule::kElement, 1},
    {"BitwiseOr", Rule::kElement, 1},
    {"BitwiseXor", Rule::kElement, 1},
    {"BlockLSTM", Rule::kRecurrent, 2},
    {"BlockLSTMV2", Rule::kRecurrent, 2},
    {"BroadcastGradientArgs", Rule::kNone, 0},
    {"BroadcastTo", Rule::kNone, 0},
    {"Cast", Rule::kNone, 0},
    {"Ceil", Rule::kElement, 1},
    {"CheckNumerics", Rule::kNone, 0},
    {"ClipByValue", Rule::kElement, 1},
    {"Complex", Rule::kElement, 1},
    {"ComplexAbs", Rule::kElement, 1},
    {"Concat", Rule::kNone, 0},
    {"ConcatOffset", Rule::kNone, 0},
    {"ConcatV2", Rule::kNone, 0},
    {"Conj", Rule::kElement, 1},
    {"Const", Rule::kNone, 0},
    {"ControlTrigger", Rule::kNone, 0},
    {"Conv2D", Rule::kConvolution, 2},
    {"Conv2DBackpropFilter", Rule::kFilterGradient, 2},
    {"Conv2DBackpropInput", Rule::kInputGradient, 2},
    {"Conv3D", Rule::kConvolution, 2},
    {"Conv3DBackpropFilterV2", Rule::kFilterGradient, 2},
    {"Conv3DBackpropInputV2", Rule::kInputGradient, 2},
    {"Cos", Rule::kElement, 1},
    {"Cosh", Rule::kElement, 1},
    {"Cumprod", Rule::kInput, 1},
    {"Cumsum", Rule::kInput, 1},
    {"DepthToSpace", Rule::kNone, 0},
    {"DepthwiseConv2dNative", Rule::kDepthwise, 2},
    {"Digamma", Rule::kElement, 1},
    {"Div", Rule::kElement, 1},
    {"DivNoNan", Rule::kElement, 1},
    {"DynamicPartition", Rule::kNone, 0},
    {"DynamicStitch", Rule::kNone, 0},
    {"Einsum", Rule::kEinsum, 2},
    {"Elu", Rule::kElement, 1},
    {"EluGrad", Rule::kElement, 1},
    {"EmptyTensorList", Rule::kNone, 0},
    {"EnsureShape", Rule::kNone, 0},
    {"Enter", Rule::kNone, 0},
    {"Equal", Rule::kElement, 1},
    {"Erf", Rule::kElement, 1},
    {"Erfc", Rule::kElement, 1},
    {"Erfinv", Rule::kElement, 1},
    {"EuclideanNorm", Rule::kInput, 1},
    {"Exit", Rule::kNone, 0},
    {"Exp", Rule::kElement, 1},
    {"ExpandDims", Rule::kNone, 0},
    {"Expm1", Rule::kElement, 1},
    {"Fill", Rule::kNone, 0},
    {"Floor", Rule::kElement, 1},
    {"FloorDiv", Rule::kElement, 1},
    {"FloorMod", Rule::kElement, 1},
    {"FusedBatchNorm", Rule::kElement, 2},
    {"FusedBatchNormV2", Rule::kElement, 2},
    {"FusedBatchNormV3", Rule::kElement, 2},
    {"GRUBlockCell", Rule::kRecurrent, 2},
    {"Gather", Rule::kNone, 0},
    {"GatherNd", Rule::kNone, 0},
    {"GatherV2", Rule::kNone, 0},
    {"Greater", Rule::kElement, 1},
    {"GreaterEqual", Rule::kElement, 1},
    {"HashTableV2", Rule::kNone, 0},
    {"Identity", Rule::kNone, 0},
    {"IdentityN", Rule::kNone, 0},
    {"Inv", Rule::kElement, 1},
    {"InvGrad", Rule::kElement, 2},
    {"Invert", Rule::kElement, 1},
    {"InvertPermutation", Rule::kNone, 0},
    {"IsFinite", Rule::kElement, 1},
    {"IsInf", Rule::kElement, 1},
    {"IsNan", Rule::kElement, 1},
    {"L2Loss", Rule::kInput, 2},
    {"LSTMBlockCell", Rule::kRecurrent, 2},
    {"LeakyRelu", Rule::kElement, 1},
    {"LeakyReluGrad", Rule::kElement, 1},
    {"LeftShift", Rule::kElement, 1},
    {"Less", Rule::kElement, 1},
    {"LessEqual", Rule::kElement, 1},
    {"Lgamma", Rule::kElement, 1},
    {"Log", Rule::kElement, 1},
    {"Log1p", Rule::kElement, 1},
    {"LogSoftmax", Rule::kElement, 5},
    {"LogicalAnd", Rule::kElement, 1},
    {"LogicalNot", Rule::kElement, 1},
    {"LogicalOr", Rule::kElement, 1},
    {"LookupTableFindV2", Rule::kNone, 0},
    {"LookupTableSizeV2", Rule::kNone, 0},
    {"LoopCond", Rule::kNone, 0},
    {"MatMul", Rule::kProduct, 2},
    {"Max", Rule::kInput, 1},
    {"MaxPool", Rule::kWindow, 1},
    {"MaxPool3D", Rule::kWindow, 1},
    {"MaxPoolWithArgmax", Rule::kWindow, 1},
    {"Maximum", Rule::kElement, 1},
    {"Mean", Rule::kInput, 1},
    {"Merge", Rule::kNone, 0},
    {"Min", Rule::kInput, 1},
    {"Minimum", Rule::kElement, 1},
    {"MirrorPad", Rule::kNone, 0},
    {"Mod", Rule::kElement, 1},
    {"Mul", Rule::kElement, 1},
    {"MulNoNan", Rule::kElement, 1},
    {"Neg", Rule::kElement, 1},
    {"NextAfter", Rule::kElement, 1},
    {"NextIteration", Rule::kNone, 0},
    {"NoOp", Rule::kNone, 0},
    {"NotEqual", Rule::kElement, 1},
    {"OneHot", Rule::kNone, 0},
    {"OnesLike", Rule::kNone, 0},
    {"Pack", Rule::kNone, 0},
    {"Pad", Rule::kNone, 0},
    {"PadV2", Rule::kNone, 0},
    {"Placeholder", Rule::kNone, 0},
    {"PlaceholderWithDefault", Rule::kNone, 0},
    {"Pow", Rule::kElement, 1},
    {"PreventGradient", Rule::kNone, 0},
    {"Prod", Rule::kInput, 1},
    {"Range", Rule::kNone, 0},
    {"Rank", Rule::kNone, 0},
    {"ReadVariableOp", Rule::kNone, 0},
    {"RealDiv", Rule::kElement, 1},
    {"Reciprocal", Rule::kElement, 1},
    {"ReciprocalGrad", Rule::kElement, 2},
    {"Relu", Rule::kElement, 1},
    {"Relu6", Rule::kElement, 1},
    {"Relu6Grad", Rule::kElement, 1},
    {"ReluGrad", Rule::kElement, 1},
    {"Reshape", Rule::kNone, 0},
    {"ResourceGather", Rule::kNone, 0},
    {"ResourceGatherNd", Rule::kNone, 0},
    {"Reverse", Rule::kNone, 0},
    {"ReverseSequence", Rule::kNone, 0},
    {"ReverseV2", Rule::kNone, 0},
    {"RightShift", Rule::kElement, 1},
    {"Rint", Rule::kElement, 1},
    {"Round", Rule::kElement, 1},
    {"Rsqrt", Rule::kElement, 1},
    {"RsqrtGrad", Rule::kElement, 3},
    {"ScatterNd", Rule::kNone, 0},
    {"SegmentMax", Rule::kInput, 1},
    {"SegmentMean", Rule::kInput, 1},
    {"SegmentMin", Rule::kInput, 1},
    {"SegmentProd", Rule::kInput, 1},
    {"SegmentSum", Rule::kInput, 1},
    {"Select", Rule::kElement, 1},
    {"SelectV2", Rule::kElement, 1},
    {"Selu", Rule::kElement, 1},
    {"SeluGrad", Rule::kElement, 1},
    {"Shape", Rule::kNone, 0},
    {"ShapeN", Rule::kNone, 0},
    {"Sigmoid", Rule::kElement, 1},
    {"SigmoidGrad", Rule::kElement, 3},
    {"Sign", Rule::kElement, 1},
    {"Sin", Rule::kElement, 1},
    {"Sinh", Rule::kElement, 1},
    {"Size", Rule::kNone, 0},
    {"Slice", Rule::kNone, 0},
    {"Snapshot", Rule::kNone, 0},
    {"Softmax", Rule::kElement, 5},
    {"Softplus", Rule::kElement, 1},
    {"SoftplusGrad", Rule::kElement, 3},
    {"Softsign", Rule::kElement, 1},
    {"SoftsignGrad", Rule::kElement, 3},
    {"SpaceToBatch", Rule::kNone, 0},
    {"SpaceToBatchND", Rule::kNone, 0},
    {"SpaceToDepth", Rule::kNone, 0},
    {"SparseMatMul", Rule::kProduct, 2},
    {"SparseToDense", Rule::kNone, 0},
    {"Split", Rule::kNone, 0},
    {"SplitV", Rule::kNone, 0},
    {"Sqrt", Rule::kElement, 1},
    {"SqrtGrad", Rule::kElement, 3},
    {"Square", Rule::kElement, 1},
    {"SquaredDifference", Rule::kElement, 2},
    {"Squeeze", Rule::kNone, 0},
    {"StopGradient", Rule::kNone, 0},
    {"StridedSlice", Rule::kNone, 0},
    {"Sub", Rule::kElement, 1},
    {"Sum", Rule::kInput, 1},
    {"Switch", Rule::kNone, 0},
    {"Tan", Rule::kElement, 1},
    {"Tanh", Rule::kElement, 1},
    {"TanhGrad", Rule::kElement, 3},
    {"TensorArrayCloseV3", Rule::kNone, 0},
    {"TensorArrayGatherV3", Rule::kNone, 0},
    {"TensorArrayReadV3", Rule::kNone, 0},
    {"TensorArrayScatterV3", Rule::kNone, 0},
    {"TensorArraySizeV3", Rule::kNone, 0},
    {"TensorArrayV3", Rule::kNone, 0},
    {"TensorArrayWriteV3", Rule::kNone, 0},
    {"TensorListElementShape", Rule::kNone, 0},
    {"TensorListFromTensor", Rule::kNone, 0},
    {"TensorListGetItem", Rule::kNone, 0},
    {"TensorListLength", Rule::kNone, 0},
    {"TensorListPopBack", Rule::kNone, 0},
    {"TensorListPushBack", Rule::kNone, 0},
    {"TensorListReserve", Rule::kNone, 0},
    {"TensorListSetItem", Rule::kNone, 0},
    {"TensorListStack", Rule::kNone, 0},
    {"Tile", Rule::kNone, 0},
    {"Transpose", Rule::kNone, 0},
    {"TruncateDiv", Rule::kElement, 1},
    {"TruncateMod", Rule::kElement, 1},
    {"Unpack", Rule::kNone, 0},
    {"UnsortedSegmentMax", Rule::kInput, 1},
    {"UnsortedSegmentMin", Rule::kInput, 1},
    {"UnsortedSegmentProd", Rule::kInput, 1},
    {"UnsortedSegmentSum", Rule::kInput, 1},
    {"VarHandleOp", Rule::kNone, 0},
    {"VarIsInitializedOp", Rule::kNone, 0},
    {"Variable", Rule::kNone, 0},
    {"VariableShape", Rule::kNone, 0},
    {"VariableV2", Rule::kNone, 0},
    {"Where", Rule::kNone, 0},
    {"Xdivy", Rule::kElement, 1},
    {"Xlogy", Rule::kElement, 1},
    {"ZerosLike", Rule::kNone, 0},
    {"_SwitchN", Rule::kNone, 0},
});
static_assert(std::is_sorted(kRows.begin(), kRows.end(),
                             [](const Row& a, const Row& b) { return a.op < b.op; }));

const Row* FindRow(std::string_view op) {
  const auto at =
      std::lower_bound(kRows.begin(), kRows.end(), op,
                       [](const Row& row, std::string_view name) { return row.op < name; });
  return at != kRows.end() && at->op == op ? &*at : nullptr;
}

using Count = std::optional<double>;

Count Elements(const PartialShape& shape) {
  if (!shape.IsFullyDefined()) return std::nullopt;
  double count = 1;
  for (const int64_t dim : shape.dims()) count *= static_cast<double>(dim);
  return count;
}

Count Times(const Count& a, const Count& b) {
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  return *a * *b;
}

// A dimension from the end: -1 is the last.
Count Dim(const PartialShape& shape, int from_end) {
  if (!shape.known_rank() || shape.rank() < -from_end) return std::nullopt;
  const int64_t dim = shape.dim(shape.rank() + from_end);
  if (dim < 0) return std::nullopt;
  return static_cast<double>(dim);
}

Count Input(const Node& node, int i) {
  return i < node.num_inputs() ? Elements(node.input(i).shape()) : std::nullopt;
}

Count Output0(const Node& node) {
  return node.num_outputs() > 0 ? Elements(node.output_shape(0)) : std::nullopt;
}

bool IsOn(const Node& node, std::string_view attr) {
  const AttrValue* const value = node.FindAttr(attr);
  return value != nullptr && *value == AttrValue(true);
}

Count Window(const Node& node) {
  const Result<std::vector<int64_t>> window = node.Attr<std::vector<int64_t>>("ksize");
  if (!window.ok()) return std::nullopt;
  double size = 1;
  for (const int64_t dim : *window) size *= static_cast<double>(dim);
  return size;
}

// The dimension that a product sums over.
Count Summed(const Node& node) {
  const bool is_turned = IsOn(node, "transpose_a") || IsOn(node, "adj_x");
  return Dim(node.input(0).shape(), is_turned ? -2 : -1);
}

// The weights of one output channel.
Count WeightsOfChannel(const PartialShape& filter) {
  const Count channels = Dim(filter, -1), all = Elements(filter);
  if (!all.has_value() || *channels == 0) return std::nullopt;
  return *all / *channels;
}

Count WeightsOfDepthwise(const PartialShape& filter) {
  const Count inputs = Dim(filter, -2), weights = WeightsOfChannel(filter);
  if (!weights.has_value() || *inputs == 0) return std::nullopt;
  return *weights / *inputs;
}

// "ab,bc->ac": a times b times c. None where dots stand for dimensions.
Count EinsumElements(const Node& node) {
  const Result<std::string> equation = node.Attr<std::string>("equation");
  if (!equation.ok() || equation->find('.') != std::string::npos) return std::nullopt;
  std::map<char, double> dims;
  int input = 0, place = 0;
  for (const char c : equation->substr(0, equation->find("->"))) {
    if (c == ',') {
      ++input;
      place = 0;
      continue;
    }
    if (c == ' ') continue;
    if (input >= node.num_inputs()) return std::nullopt;
    const PartialShape& shape = node.input(input).shape();
    if (!shape.known_rank() || place >= shape.rank() || shape.dim(place) < 0) return std::nullopt;
    dims[c] = std::max(dims[c], static_cast<double>(shape.dim(place++)));
  }
  double elements = 1;
  for (const auto& [label, dim] : dims) elements *= dim;
  return elements;
}

// Every row of x, and of the state beside it, meets every weight.
Count RecurrentElements(const Node& node) {
  const Result<std::pair<int, int>> x = node.InputRange("x");
  if (!x.ok()) return std::nullopt;
  const PartialShape& rows = node.input(x->first).shape();
  const Count elements = Elements(rows), width = Dim(rows, -1);
  if (!elements.has_value() || *width == 0) return std::nullopt;
  double weights = 0;
  for (const char* name : {"w", "w_ru", "w_c"}) {
    const Result<std::pair<int, int>> at = node.InputRange(name);
    if (!at.ok()) continue;
    const Count count = Input(node, at->first);
    if (!count.has_value()) return std::nullopt;
    weights += *count;
  }
  return *elements / *width * weights;
}

Count CountBy(const Node& node, Rule rule) {
  switch (rule) {
    case Rule::kNone:
      return 0;
    case Rule::kElement:
      return Output0(node);
    case Rule::kInput:
      return Input(node, 0);
    case Rule::kAddN:
      return Times(Output0(node), std::max(node.num_inputs() - 1, 0));
    case Rule::kWindow:
      return Times(Output0(node), Window(node));
    case Rule::kProduct:
      return Times(Output0(node), Summed(node));
    case Rule::kConvolution:
      return Times(Output0(node), WeightsOfChannel(node.input(1).shape()));
    case Rule::kDepthwise:
      return Times(Output0(node), WeightsOfDepthwise(node.input(1).shape()));
    case Rule::kInputGradient:
      return Times(Input(node, 2), WeightsOfChannel(node.input(1).shape()));
    case Rule::kFilterGradient:
      return Times(Input(node, 2), WeightsOfChannel(node.output_shape(0)));
    case Rule::kEinsum:
      return EinsumElements(node);
    case Rule::kRecurrent:
      return RecurrentElements(node);
  }
  return std::nullopt;
}

Count BytesOf(DType dtype, const PartialShape& shape) {
  return Times(Elements(shape), static_cast<double>(DTypeStride(dtype)));
}

}  // namespace

bool HasCost(std::string_view op) { return FindRow(op) != nullptr; }

NodeCost CostOf(const Node& node) {
  NodeCost cost;
  if (const Row* const row = FindRow(node.op_name()); row != nullptr) {
    cost.flops = Times(CountBy(node, row->rule), row->factor);
  }
  double bytes = 0;
  bool is_known = true;
  const auto add = [&](const Output& value) {
    const Count size = BytesOf(value.dtype(), value.shape());
    is_known = is_known && size.has_value();
    bytes += size.value_or(0);
  };
  for (const Output& input : node.inputs()) add(input);
  for (int i = 0; i < node.num_outputs(); ++i) add({const_cast<Node*>(&node), i});
  if (is_known) cost.bytes = bytes;
  return cost;
}

}  // namespace thalweg
