// SPDX-License-Identifier: Apache-2.0
// FusedKernel: what the kernels of this family share: a program made of the node's attributes,
// which are checked once, and errors that name the user's node.
// Ownership: owns its program and the names of the nodes.
// Threads: Compute from any, several at once, as a program is.
// Errors: InvalidArgument for attributes that do not belong together, when it is made; those of the
// program, with the user's node.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {

// Program::Make(inputs, instructions, outputs) as EwProgram has it; Instruction::Parse(line).
template <class Program, class Instruction>
class FusedKernel : public Kernel {
 public:
  FusedKernel(Program program, std::vector<std::string> nodes)
      : program_(std::move(program)), nodes_(std::move(nodes)) {}

 protected:
  template <class Made>
  static Result<std::unique_ptr<Kernel>> Make(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const auto text, c.Attr<std::vector<std::string>>("program"));
    ASSIGN_OR_RETURN(const auto results, c.Attr<std::vector<int64_t>>("results"));
    ASSIGN_OR_RETURN(auto nodes, c.Attr<std::vector<std::string>>("nodes"));
    std::vector<Instruction> instructions;
    for (const std::string& line : text) {
      ASSIGN_OR_RETURN(instructions.emplace_back(), Instruction::Parse(line));
    }
    std::vector<DType> inputs;
    for (int i = 0; i < c.node().num_inputs(); ++i) inputs.push_back(c.input_type(i));
    if (!nodes.empty() && nodes.size() != text.size()) {
      return InvalidArgument("attribute 'nodes' has ", nodes.size(), " names for ", text.size(),
                             " instructions");
    }
    if (static_cast<int>(results.size()) != c.node().num_outputs()) {
      return InvalidArgument("attribute 'results' names ", results.size(), " values for ",
                             c.node().num_outputs(), " outputs");
    }
    std::vector<int> outputs;
    for (int64_t value : results) {
      outputs.push_back(value < 0 || value > 1000 ? -1 : static_cast<int>(value));
    }
    ASSIGN_OR_RETURN(Program program,
                     Program::Make(std::move(inputs), std::move(instructions), outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const DType made = program.type(outputs[i]), declared = c.output_type(static_cast<int>(i));
      if (made != declared) {
        return InvalidArgument("output ", i, " is declared as ", declared, ", the program makes ",
                               made);
      }
    }
    return std::unique_ptr<Kernel>(std::make_unique<Made>(std::move(program), std::move(nodes)));
  }

  const Program& program() const { return program_; }
  DType output_type(int i) const {
    return program_.type(program_.outputs()[static_cast<size_t>(i)]);
  }
  // `status` of a run, with the node whose instruction failed; -1: none did.
  Status Named(Status status, int failed_instruction) const {
    if (status.ok() || failed_instruction < 0 || nodes_.empty()) return status;
    return Status(status.code(), StrCat(status.message(), "; in ",
                                        nodes_[static_cast<size_t>(failed_instruction)]));
  }

 private:
  const Program program_;
  const std::vector<std::string> nodes_;
};

}  // namespace thalweg
