// SPDX-License-Identifier: Apache-2.0
// EwProgram: several element-wise operations as one pass over memory. Values are numbered: first
// the inputs, then what each instruction makes. Tiles of some hundred elements go through all
// instructions while they lie in the first-level cache.
//
//   ASSIGN_OR_RETURN(EwProgram program, EwProgram::Make({DType::kFloat, DType::kFloat},
//       {EwInstruction::Binary(BinaryOp::kMul, 0, 1), EwInstruction::Unary(UnaryOp::kTanh, 2)},
//       {3}));
//   EwRun run(program, isa, inputs);
//   RETURN_IF_ERROR(run.InferShapes());            // then allocate outputs of run.output_dims(i)
//   RETURN_IF_ERROR(run.Execute(work, outputs));
//
// The bits are those of RunUnary, RunBinary, RunSelect and RunCast, one after the other: the loops
// are the same, and narrow types are rounded after every instruction. What is smaller than the
// result (a vector before it is broadcast) is computed once.
// Ownership: a program owns its instructions and plans; a run points at program and inputs, and
// writes the caller's outputs.
// Threads: a program is read-only but for a cache of its own.
// Errors: those of the single operations; failed_instruction() says whose.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/compute/ew/ew.h"
#include "thalweg/tensor/dims.h"

namespace thalweg::compute {

struct EwInstruction {
  enum class Kind : uint8_t { kUnary, kBinary, kSelect, kCast };
  Kind kind = Kind::kUnary;
  uint8_t op = 0;                // UnaryOp or BinaryOp
  DType target = DType::kFloat;  // of a cast
  bool same_shape = false;       // operands must not broadcast
  std::array<uint16_t, 3> operands{};

  static EwInstruction Unary(UnaryOp op, int x);
  static EwInstruction Binary(BinaryOp op, int x, int y, bool same_shape = false);
  static EwInstruction Select(int condition, int x, int y);
  static EwInstruction Cast(DType target, int x);

  int num_operands() const { return kind == Kind::kBinary ? 2 : kind == Kind::kSelect ? 3 : 1; }
  // "Mul 0 1", "TanhGrad 3 4 same", "Cast:int32 2", "Select 0 1 2".
  std::string ToText() const;
  static Result<EwInstruction> Parse(std::string_view text);
  friend bool operator==(const EwInstruction&, const EwInstruction&) = default;
};

// InvalidArgument unless every output is an instruction's value, and none is named twice.
Status CheckProgramOutputs(std::span<const int> outputs, int num_inputs, int num_values);

// Private: program_plan.h.
struct EwPart;
struct EwPlan;

class EwProgram {
 public:
  static constexpr int kMostInputs = 40;
  static constexpr int kMostInstructions = 64;

  // Whether values may have this type.
  static bool Takes(DType dtype);
  // InvalidArgument for operands that do not exist yet, types that do not fit and unused outputs;
  // Unimplemented for an operation that the type does not have.
  static Result<EwProgram> Make(std::vector<DType> inputs, std::vector<EwInstruction> instructions,
                                std::vector<int> outputs);
  EwProgram(EwProgram&&) noexcept;
  EwProgram& operator=(EwProgram&&) = delete;
  ~EwProgram();

  int num_inputs() const { return num_inputs_; }
  int num_values() const { return static_cast<int>(types_.size()); }
  DType type(int value) const { return types_[static_cast<size_t>(value)]; }
  const std::vector<EwInstruction>& instructions() const { return instructions_; }
  const std::vector<int>& outputs() const { return outputs_; }

 private:
  friend class EwRun;
  static constexpr int kCached = 4;

  EwProgram() = default;
  // The plan of all instructions with the inputs in `scalars` constant along the innermost
  // dimension. Cached, or made into `own`.
  const EwPlan& PlanFor(const IsaTable& isa, uint64_t scalars, std::unique_ptr<EwPlan>* own) const;

  int num_inputs_ = 0;
  std::vector<DType> types_;  // of inputs and instructions
  std::vector<EwInstruction> instructions_;
  std::vector<int> outputs_;
  mutable std::array<std::atomic<EwPlan*>, kCached> plans_{};
};

// One run of a program; lives on the stack.
class EwRun {
 public:
  struct Input {
    const void* data;
    std::span<const int64_t> dims;
  };
  // All outlive the run.
  EwRun(const EwProgram& program, const IsaTable& isa, std::span<const Input> inputs);
  ~EwRun();

  Status InferShapes();
  const Dims& output_dims(int output) const;
  // An input that has the shape of a program's only output may be overwritten by it.
  Status Execute(Work& work, std::span<void* const> outputs);
  // After an error: whose it is, or -1.
  int failed_instruction() const { return failed_; }

 private:
  struct General;

  // kFlat: inputs have the result's shape or are scalars. kWhole: all instructions have the
  // result's elements. kLevels: anything.
  enum class Way : uint8_t { kFlat, kWhole, kLevels };

  bool TryFlat();
  bool TryWhole();
  Status ExecuteLevels(Work& work, std::span<void* const> outputs);
  Status ExecutePart(Work& work, EwPart* part, bool whole, int group,
                     const std::vector<const void*>& data, const std::vector<void*>& made);

  const EwProgram& program_;
  const IsaTable& isa_;
  const std::span<const Input> inputs_;
  Way way_ = Way::kLevels;
  Dims dims_;                         // of every output, unless kLevels
  uint64_t scalars_ = 0;              // which inputs are, when kFlat
  std::unique_ptr<General> general_;  // shapes of all values, when kLevels
  int failed_ = -1;
};

}  // namespace thalweg::compute
