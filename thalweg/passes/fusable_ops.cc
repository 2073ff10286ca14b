// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/fusable_ops.h"

#include <algorithm>

#include "thalweg/tensor/integers.h"

namespace thalweg {
namespace {

using compute::BinaryOp;
using compute::EwInstruction;
using compute::UnaryOp;

struct Named {
  std::string_view name;
  enum class Kind : uint8_t { kForward, kUnary, kBinary, kSame, kSelect, kCast, kSum } kind;
  uint8_t op = 0;
};

constexpr Named Unary(std::string_view name, UnaryOp op) {
  return {name, Named::Kind::kUnary, static_cast<uint8_t>(op)};
}
constexpr Named Binary(std::string_view name, BinaryOp op) {
  return {name, Named::Kind::kBinary, static_cast<uint8_t>(op)};
}
// Operands of one shape.
constexpr Named Same(std::string_view name, BinaryOp op) {
  return {name, Named::Kind::kSame, static_cast<uint8_t>(op)};
}

// By name.
constexpr Named kOps[] = {
    Unary("Abs", UnaryOp::kAbs),
    {"AccumulateNV2", Named::Kind::kSum},
    Unary("Acos", UnaryOp::kAcos),
    Unary("Acosh", UnaryOp::kAcosh),
    Binary("Add", BinaryOp::kAdd),
    {"AddN", Named::Kind::kSum},
    Binary("AddV2", BinaryOp::kAdd),
    Unary("Asin", UnaryOp::kAsin),
    Unary("Asinh", UnaryOp::kAsinh),
    Unary("Atan", UnaryOp::kAtan),
    Binary("Atan2", BinaryOp::kAtan2),
    Unary("Atanh", UnaryOp::kAtanh),
    Binary("BiasAdd", BinaryOp::kAdd),
    Binary("BiasAddV1", BinaryOp::kAdd),
    {"Cast", Named::Kind::kCast},
    Unary("Ceil", UnaryOp::kCeil),
    Unary("Cos", UnaryOp::kCos),
    Unary("Cosh", UnaryOp::kCosh),
    Binary("Div", BinaryOp::kDiv),
    Binary("DivNoNan", BinaryOp::kDivNoNan),
    Unary("Elu", UnaryOp::kElu),
    Same("EluGrad", BinaryOp::kEluGrad),
    Binary("Equal", BinaryOp::kEqual),
    Unary("Erf", UnaryOp::kErf),
    Unary("Erfc", UnaryOp::kErfc),
    Unary("Exp", UnaryOp::kExp),
    Unary("Expm1", UnaryOp::kExpm1),
    Unary("Floor", UnaryOp::kFloor),
    Binary("FloorDiv", BinaryOp::kFloorDiv),
    Binary("FloorMod", BinaryOp::kFloorMod),
    Binary("Greater", BinaryOp::kGreater),
    Binary("GreaterEqual", BinaryOp::kGreaterEqual),
    {"Identity", Named::Kind::kForward},
    Unary("Inv", UnaryOp::kReciprocal),
    Same("InvGrad", BinaryOp::kReciprocalGrad),
    Unary("IsFinite", UnaryOp::kIsFinite),
    Unary("IsInf", UnaryOp::kIsInf),
    Unary("IsNan", UnaryOp::kIsNan),
    Binary("Less", BinaryOp::kLess),
    Binary("LessEqual", BinaryOp::kLessEqual),
    Unary("Log", UnaryOp::kLog),
    Unary("Log1p", UnaryOp::kLog1p),
    Binary("LogicalAnd", BinaryOp::kLogicalAnd),
    Unary("LogicalNot", UnaryOp::kLogicalNot),
    Binary("LogicalOr", BinaryOp::kLogicalOr),
    Binary("Maximum", BinaryOp::kMaximum),
    Binary("Minimum", BinaryOp::kMinimum),
    Binary("Mul", BinaryOp::kMul),
    Binary("MulNoNan", BinaryOp::kMulNoNan),
    Unary("Neg", UnaryOp::kNeg),
    Binary("NotEqual", BinaryOp::kNotEqual),
    Binary("Pow", BinaryOp::kPow),
    Binary("RealDiv", BinaryOp::kDiv),
    Unary("Reciprocal", UnaryOp::kReciprocal),
    Same("ReciprocalGrad", BinaryOp::kReciprocalGrad),
    Unary("Relu", UnaryOp::kRelu),
    Unary("Relu6", UnaryOp::kRelu6),
    Same("Relu6Grad", BinaryOp::kRelu6Grad),
    Same("ReluGrad", BinaryOp::kReluGrad),
    Unary("Rint", UnaryOp::kRound),
    Unary("Rsqrt", UnaryOp::kRsqrt),
    Same("RsqrtGrad", BinaryOp::kRsqrtGrad),
    {"Select", Named::Kind::kSelect},
    {"SelectV2", Named::Kind::kSelect},
    Unary("Selu", UnaryOp::kSelu),
    Same("SeluGrad", BinaryOp::kSeluGrad),
    Unary("Sigmoid", UnaryOp::kSigmoid),
    Same("SigmoidGrad", BinaryOp::kSigmoidGrad),
    Unary("Sign", UnaryOp::kSign),
    Unary("Sin", UnaryOp::kSin),
    Unary("Sinh", UnaryOp::kSinh),
    Unary("Softplus", UnaryOp::kSoftplus),
    Same("SoftplusGrad", BinaryOp::kSoftplusGrad),
    Unary("Softsign", UnaryOp::kSoftsign),
    Same("SoftsignGrad", BinaryOp::kSoftsignGrad),
    Unary("Sqrt", UnaryOp::kSqrt),
    Same("SqrtGrad", BinaryOp::kSqrtGrad),
    Unary("Square", UnaryOp::kSquare),
    Binary("SquaredDifference", BinaryOp::kSquaredDifference),
    {"StopGradient", Named::Kind::kForward},
    Binary("Sub", BinaryOp::kSub),
    Unary("Tan", UnaryOp::kTan),
    Unary("Tanh", UnaryOp::kTanh),
    Same("TanhGrad", BinaryOp::kTanhGrad),
    Binary("Xdivy", BinaryOp::kXdivy),
    Binary("Xlogy", BinaryOp::kXlogy),
};

constexpr bool IsSorted() {
  for (size_t i = 1; i < std::size(kOps); ++i) {
    if (kOps[i - 1].name >= kOps[i].name) return false;
  }
  return true;
}
static_assert(IsSorted());

const Named* Find(std::string_view name) {
  const Named* found =
      std::lower_bound(std::begin(kOps), std::end(kOps), name,
                       [](const Named& a, std::string_view b) { return a.name < b; });
  return found != std::end(kOps) && found->name == name ? found : nullptr;
}

// One channel dimension, the last, that is known to be as long as the bias: else an error that
// broadcasting would hide could come.
bool IsPlainBias(const Node& node) {
  const Result<std::string> format = node.Attr<std::string>("data_format");
  if (format.ok() && *format != "NHWC") return false;
  const PartialShape &value = node.input(0).shape(), &bias = node.input(1).shape();
  return value.known_rank() && value.rank() >= 2 && bias.known_rank() && bias.rank() == 1 &&
         bias.dim(0) > 0 && bias.dim(0) == value.dim(value.rank() - 1);
}

bool HasOneKnownShape(const Node& node) {
  for (const Output& input : node.inputs()) {
    if (!input.shape().IsFullyDefined() || !(input.shape() == node.input(0).shape())) return false;
  }
  return true;
}

bool TypesFit(const Named& op, const Node& node) {
  const DType type = node.input_type(0);
  switch (op.kind) {
    case Named::Kind::kForward:
      return compute::EwProgram::Takes(type);
    case Named::Kind::kUnary:
      return HasUnary(static_cast<UnaryOp>(op.op), type);
    case Named::Kind::kBinary:
    case Named::Kind::kSame:
      return node.input_type(1) == type && HasBinary(static_cast<BinaryOp>(op.op), type);
    case Named::Kind::kSelect:
      return type == DType::kBool && compute::EwProgram::Takes(node.input_type(1));
    case Named::Kind::kCast:
      return compute::EwProgram::Takes(type) && compute::EwProgram::Takes(node.output_type(0));
    case Named::Kind::kSum:
      return HasBinary(BinaryOp::kAdd, type);
  }
  return false;
}

}  // namespace

int FusableInstructions(const Node& node) {
  const Named* op = Find(node.op_name());
  if (op == nullptr || node.num_inputs() == 0 || node.num_outputs() != 1 || !TypesFit(*op, node)) {
    return -1;
  }
  if (op->name.starts_with("BiasAdd") && !IsPlainBias(node)) return -1;
  // A vector chooses rows.
  if (op->name == "Select" && !HasOneKnownShape(node)) return -1;
  if (op->name == "Equal" || op->name == "NotEqual") {
    const Result<bool> strict = node.Attr<bool>("incompatible_shape_error");
    if (!strict.ok() || !*strict) return -1;
  }
  if (op->kind == Named::Kind::kForward) return 0;
  return op->kind == Named::Kind::kSum ? node.num_inputs() - 1 : 1;
}

int EmitInstructions(const Node& node, std::span<const int> operands, int next,
                     std::vector<EwInstruction>* instructions) {
  const Named& op = *Find(node.op_name());
  switch (op.kind) {
    case Named::Kind::kForward:
      return operands[0];
    case Named::Kind::kUnary:
      instructions->push_back(EwInstruction::Unary(static_cast<UnaryOp>(op.op), operands[0]));
      return next;
    case Named::Kind::kBinary:
    case Named::Kind::kSame:
      instructions->push_back(EwInstruction::Binary(static_cast<BinaryOp>(op.op), operands[0],
                                                    operands[1], op.kind == Named::Kind::kSame));
      return next;
    case Named::Kind::kSelect:
      instructions->push_back(EwInstruction::Select(operands[0], operands[1], operands[2]));
      return next;
    case Named::Kind::kCast:
      instructions->push_back(EwInstruction::Cast(node.output_type(0), operands[0]));
      return next;
    case Named::Kind::kSum:
      // From left to right, as the kernel does.
      for (size_t i = 1; i < operands.size(); ++i) {
        const int left = i == 1 ? operands[0] : next + static_cast<int>(i) - 2;
        instructions->push_back(EwInstruction::Binary(BinaryOp::kAdd, left, operands[i], true));
      }
      return operands.size() == 1 ? operands[0] : next + static_cast<int>(operands.size()) - 2;
  }
  return next;
}

namespace {

struct NamedReduction {
  std::string_view name;
  compute::ReduceOp op;
};
constexpr NamedReduction kReductions[] = {{"BiasAddGrad", compute::ReduceOp::kSum},
                                          {"Max", compute::ReduceOp::kMax},
                                          {"Mean", compute::ReduceOp::kMean},
                                          {"Min", compute::ReduceOp::kMin},
                                          {"Sum", compute::ReduceOp::kSum}};

// False when they are not known, out of range or repeated: the operation itself says so.
bool FindAxes(const Node& node, int rank, std::vector<int64_t>* axes) {
  if (node.op_name() == "BiasAddGrad") {
    const Result<std::string> format = node.Attr<std::string>("data_format");
    if (!format.ok() || *format != "NHWC" || rank < 2) return false;
    for (int axis = 0; axis + 1 < rank; ++axis) axes->push_back(axis);
    return true;
  }
  const Node* source = node.input(1).node;
  if (source == nullptr || source->op_name() != "Const" || !source->control_inputs().empty()) {
    return false;
  }
  const Result<Tensor> value = source->Attr<Tensor>("value");
  if (!value.ok() || value->rank() > 1 || !IsIndexType(value->dtype())) return false;
  for (int64_t i = 0; i < value->num_elements(); ++i) {
    const int64_t given = IntAt(*value, i), axis = given < 0 ? given + rank : given;
    if (axis < 0 || axis >= rank) return false;
    if (std::find(axes->begin(), axes->end(), axis) != axes->end()) return false;
    axes->push_back(axis);
  }
  std::sort(axes->begin(), axes->end());
  return true;
}

}  // namespace

std::optional<FusableReduction> FindReduction(const Node& node) {
  const auto* found = std::find_if(std::begin(kReductions), std::end(kReductions),
                                   [&](const auto& r) { return r.name == node.op_name(); });
  if (found == std::end(kReductions) || node.num_inputs() == 0 || node.num_outputs() != 1) {
    return std::nullopt;
  }
  const DType type = node.input_type(0);
  if (type != DType::kFloat && type != DType::kDouble && type != DType::kInt32 &&
      type != DType::kInt64) {
    return std::nullopt;
  }
  const PartialShape& shape = node.input(0).shape();
  FusableReduction fusable;
  fusable.instruction.reduces = true;
  fusable.instruction.op = found->op;
  std::vector<int64_t>& axes = fusable.instruction.axes;
  if (!shape.known_rank() || !FindAxes(node, shape.rank(), &axes)) return std::nullopt;
  if (axes.empty()) return std::nullopt;  // its kernel passes the input on
  const Result<bool> keep = node.Attr<bool>("keep_dims");
  fusable.instruction.keep_dims = keep.ok() && *keep;
  const auto count = static_cast<int64_t>(axes.size());
  fusable.in_rows = fusable.instruction.keep_dims && count > 0 && count < shape.rank() &&
                    axes.front() == shape.rank() - count;
  return fusable;
}

}  // namespace thalweg
