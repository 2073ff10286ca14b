// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/program.h"

#include <algorithm>
#include <charconv>

#include "thalweg/compute/program/program_plan.h"

namespace thalweg::compute {

using Kind = EwInstruction::Kind;

EwInstruction EwInstruction::Unary(UnaryOp op, int x) {
  return {
      .kind = Kind::kUnary, .op = static_cast<uint8_t>(op), .operands = {static_cast<uint16_t>(x)}};
}

EwInstruction EwInstruction::Binary(BinaryOp op, int x, int y, bool same_shape) {
  return {.kind = Kind::kBinary,
          .op = static_cast<uint8_t>(op),
          .same_shape = same_shape,
          .operands = {static_cast<uint16_t>(x), static_cast<uint16_t>(y)}};
}

EwInstruction EwInstruction::Select(int condition, int x, int y) {
  return {.kind = Kind::kSelect,
          .operands = {static_cast<uint16_t>(condition), static_cast<uint16_t>(x),
                       static_cast<uint16_t>(y)}};
}

EwInstruction EwInstruction::Cast(DType target, int x) {
  return {.kind = Kind::kCast, .target = target, .operands = {static_cast<uint16_t>(x)}};
}

namespace {

const char* NameOf(const EwInstruction& instruction) {
  switch (instruction.kind) {
    case Kind::kUnary:
      return UnaryOpName(static_cast<UnaryOp>(instruction.op));
    case Kind::kBinary:
      return BinaryOpName(static_cast<BinaryOp>(instruction.op));
    case Kind::kSelect:
      return "Select";
    case Kind::kCast:
      return "Cast";
  }
  return "";
}

// The name may be that of a unary and of a binary operation never at once.
bool FindName(std::string_view name, EwInstruction* instruction) {
  for (int op = 0; op < kUnaryOps; ++op) {
    if (name != UnaryOpName(static_cast<UnaryOp>(op))) continue;
    instruction->kind = Kind::kUnary;
    instruction->op = static_cast<uint8_t>(op);
    return true;
  }
  for (int op = 0; op < kBinaryOps; ++op) {
    if (name != BinaryOpName(static_cast<BinaryOp>(op))) continue;
    instruction->kind = Kind::kBinary;
    instruction->op = static_cast<uint8_t>(op);
    return true;
  }
  if (name == "Select") {
    instruction->kind = Kind::kSelect;
    return true;
  }
  if (!name.starts_with("Cast:")) return false;
  instruction->kind = Kind::kCast;
  Result<DType> target = ParseDType(name.substr(5));
  if (!target.ok()) return false;
  instruction->target = *target;
  return true;
}

std::string_view NextWord(std::string_view* text) {
  const size_t end = std::min(text->find(' '), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

}  // namespace

std::string EwInstruction::ToText() const {
  std::string text = NameOf(*this);
  if (kind == Kind::kCast) text += StrCat(":", DTypeName(target));
  for (int i = 0; i < num_operands(); ++i) text += StrCat(" ", operands[static_cast<size_t>(i)]);
  if (same_shape) text += " same";
  return text;
}

Result<EwInstruction> EwInstruction::Parse(std::string_view text) {
  const std::string_view all = text;
  EwInstruction instruction;
  if (!FindName(NextWord(&text), &instruction)) {
    return InvalidArgument("'", all, "' names no element-wise operation");
  }
  for (int i = 0; i < instruction.num_operands(); ++i) {
    const std::string_view word = NextWord(&text);
    uint16_t& operand = instruction.operands[static_cast<size_t>(i)];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), operand);
    if (error != std::errc() || end != word.data() + word.size()) {
      return InvalidArgument("'", all, "' needs ", instruction.num_operands(),
                             " operands, numbers of values");
    }
  }
  instruction.same_shape = instruction.kind == Kind::kBinary && text == "same";
  if (!text.empty() && !instruction.same_shape) {
    return InvalidArgument("'", all, "': '", text, "' is not understood");
  }
  return instruction;
}

namespace {

Status CheckTypes(const EwInstruction& instruction, const std::vector<DType>& types,
                  DType* result) {
  const auto type = [&](int i) { return types[instruction.operands[static_cast<size_t>(i)]]; };
  switch (instruction.kind) {
    case Kind::kUnary: {
      const auto op = static_cast<UnaryOp>(instruction.op);
      if (!HasUnary(op, type(0))) return Unimplemented("of elements of type ", type(0));
      *result = UnaryResult(op, type(0));
      return OkStatus();
    }
    case Kind::kBinary: {
      const auto op = static_cast<BinaryOp>(instruction.op);
      if (type(0) != type(1)) {
        return InvalidArgument("operands are ", type(0), " and ", type(1));
      }
      if (!HasBinary(op, type(0))) return Unimplemented("of elements of type ", type(0));
      *result = BinaryResult(op, type(0));
      return OkStatus();
    }
    case Kind::kSelect:
      if (type(0) != DType::kBool || type(1) != type(2)) {
        return InvalidArgument("operands are ", type(0), ", ", type(1), " and ", type(2));
      }
      *result = type(1);
      return OkStatus();
    case Kind::kCast:
      *result = instruction.target;
      return StorageTypeOf(*result).ok ? OkStatus() : Unimplemented("to type ", *result);
  }
  return OkStatus();
}

}  // namespace

bool EwProgram::Takes(DType dtype) { return StorageTypeOf(dtype).ok; }

Status CheckProgramOutputs(std::span<const int> outputs, int num_inputs, int num_values) {
  std::vector<bool> taken(static_cast<size_t>(num_values));
  for (int output : outputs) {
    if (output < num_inputs || output >= num_values || taken[static_cast<size_t>(output)]) {
      return InvalidArgument("output ", output, " is no instruction's, or named twice");
    }
    taken[static_cast<size_t>(output)] = true;
  }
  return OkStatus();
}

Result<EwProgram> EwProgram::Make(std::vector<DType> inputs,
                                  std::vector<EwInstruction> instructions,
                                  std::vector<int> outputs) {
  if (inputs.size() > kMostInputs || instructions.size() > kMostInstructions ||
      instructions.empty() || outputs.empty()) {
    return InvalidArgument("a program has at most ", kMostInputs, " inputs, 1 to ",
                           kMostInstructions, " instructions and an output; got ", inputs.size(),
                           ", ", instructions.size(), " and ", outputs.size());
  }
  EwProgram program;
  program.num_inputs_ = static_cast<int>(inputs.size());
  for (DType type : inputs) {
    if (!StorageTypeOf(type).ok) return Unimplemented("a program with inputs of type ", type);
  }
  program.types_ = std::move(inputs);
  for (const EwInstruction& instruction : instructions) {
    for (int i = 0; i < instruction.num_operands(); ++i) {
      if (instruction.operands[static_cast<size_t>(i)] >= program.types_.size()) {
        return InvalidArgument("'", instruction.ToText(), "' reads a value that is not made yet");
      }
    }
    DType result = DType::kInvalid;
    const Status status = CheckTypes(instruction, program.types_, &result);
    if (!status.ok()) return status.WithContext(StrCat("'", instruction.ToText(), "'"));
    program.types_.push_back(result);
  }
  RETURN_IF_ERROR(CheckProgramOutputs(outputs, program.num_inputs_, program.num_values()));
  program.instructions_ = std::move(instructions);
  program.outputs_ = std::move(outputs);
  return program;
}

EwProgram::EwProgram(EwProgram&& other) noexcept
    : num_inputs_(other.num_inputs_),
      types_(std::move(other.types_)),
      instructions_(std::move(other.instructions_)),
      outputs_(std::move(other.outputs_)) {
  for (size_t i = 0; i < plans_.size(); ++i) plans_[i] = other.plans_[i].exchange(nullptr);
}

EwProgram::~EwProgram() {
  for (auto& plan : plans_) delete plan.load();
}

const EwPlan& EwProgram::PlanFor(const IsaTable& isa, uint64_t scalars,
                                 std::unique_ptr<EwPlan>* own) const {
  for (auto& cell : plans_) {
    const EwPlan* plan = cell.load(std::memory_order_acquire);
    if (plan == nullptr) break;
    if (plan->scalars == scalars && plan->isa == &isa) return *plan;
  }
  EwPart part;
  for (int i = 0; i < num_inputs_; ++i) {
    part.externals.push_back(i);
    part.scalar.push_back((scalars >> i) & 1);
  }
  for (size_t i = 0; i < instructions_.size(); ++i)
    part.instructions.push_back(static_cast<int>(i));
  part.outputs = outputs_;
  auto made = std::make_unique<EwPlan>(MakeEwPlan(*this, part, isa));
  made->scalars = scalars;
  for (auto& cell : plans_) {
    EwPlan* expected = nullptr;
    if (cell.compare_exchange_strong(expected, made.get(), std::memory_order_acq_rel)) {
      return *made.release();
    }
  }
  *own = std::move(made);
  return **own;
}

}  // namespace thalweg::compute
