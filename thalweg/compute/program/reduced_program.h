// SPDX-License-Identifier: Apache-2.0
// ReducedProgram: element-wise operations and reductions of what they make, as one pass over memory
// where shapes allow it. Values are numbered as in EwProgram: inputs, then instructions.
//
//   "SquaredDifference 0 1", "Sum 2 axes 0,1"           a reduction ends the program
//   "Mean 0 axes -1 keep", "Sub 0 1"                    rows are reduced and broadcast back
//
// One reduction at the end takes its elements from the tiles while they are in cache. Reductions of
// whole rows whose results are used with the rows again run as a row program: blocks of rows go
// through all instructions while they are in cache. Anything else runs instruction by instruction.
// The bits are always those of RunBinary, Reduce ... one after the other.
// Ownership: a program owns its instructions and cuts; a run points at program and inputs, and
// writes the caller's outputs.
// Threads: read-only but for caches of its own.
// Errors: those of the single operations; failed_instruction() says whose.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "thalweg/compute/program/program.h"
#include "thalweg/compute/reduce/reduce.h"

namespace thalweg::compute {

struct ReducedInstruction {
  bool reduces = false;
  EwInstruction element;  // when it does not
  ReduceOp op = ReduceOp::kSum;
  uint16_t operand = 0;
  bool keep_dims = false;
  std::vector<int64_t> axes;

  std::string ToText() const;
  static Result<ReducedInstruction> Parse(std::string_view text);
  int num_operands() const { return reduces ? 1 : element.num_operands(); }
  int operand_at(int k) const {
    return reduces ? operand : element.operands[static_cast<size_t>(k)];
  }
};

class ReducedProgram {
 public:
  // As EwProgram::Make. Reduced are float, double, int32 and int64.
  static Result<ReducedProgram> Make(std::vector<DType> inputs,
                                     std::vector<ReducedInstruction> instructions,
                                     std::vector<int> outputs);
  ReducedProgram(ReducedProgram&&) noexcept;
  ~ReducedProgram();

  int num_inputs() const { return num_inputs_; }
  int num_values() const { return static_cast<int>(types_.size()); }
  DType type(int value) const { return types_[static_cast<size_t>(value)]; }
  const std::vector<ReducedInstruction>& instructions() const { return instructions_; }
  const std::vector<int>& outputs() const { return outputs_; }

 private:
  friend class ReducedRun;
  // The instructions as element-wise programs with reductions between them.
  struct Step;
  struct Split;

  ReducedProgram() = default;
  // Values that are true in `rows` are made apart from the others.
  Result<std::unique_ptr<Split>> MakeSplit(const std::vector<bool>& rows) const;

  int num_inputs_ = 0;
  std::vector<DType> types_;
  std::vector<ReducedInstruction> instructions_;
  std::vector<int> outputs_;
  std::vector<int> stage_;   // by value: reductions on the way to it
  int only_reduction_ = -1;  // the instruction, where nothing reads it
  std::unique_ptr<Split> whole_;
  mutable std::atomic<Split*> blocks_{nullptr};
};

// One run of a program; lives on the stack.
class ReducedRun {
 public:
  ReducedRun(const ReducedProgram& program, const IsaTable& isa,
             std::span<const EwRun::Input> inputs);
  ~ReducedRun();

  Status InferShapes();
  const Dims& output_dims(int output) const;
  // Outputs overlap no input.
  Status Execute(Work& work, std::span<void* const> outputs);
  int failed_instruction() const { return failed_; }

 private:
  class Source;
  struct Trouble;
  // How a value lies in a matrix [rows, columns].
  enum class Kind : uint8_t { kFull, kColumn, kRow, kScalar, kOther };

  Kind KindOf(std::span<const int64_t> dims, int kept) const;
  bool FindMatrix();  // of a program that one reduction ends
  bool FindRows();    // of a row program
  Status ExecuteEnded(Work& work, std::span<void* const> outputs);
  Status ExecuteBlocks(Work& work, std::span<void* const> outputs);
  Status ExecuteWhole(Work& work, std::span<void* const> outputs);
  bool RunBlock(Work& work, const ReducedProgram::Split& split, int64_t row, int64_t rows,
                std::span<void* const> outputs, char* scratch, Trouble* trouble) const;

  const ReducedProgram& program_;
  const IsaTable& isa_;
  const std::span<const EwRun::Input> inputs_;
  std::vector<Dims> dims_;  // by value
  Dims shape_;              // that is looked at as a matrix
  std::vector<Kind> kinds_;
  int64_t rows_ = 1, columns_ = 1;
  int failed_ = -1;
};

}  // namespace thalweg::compute
