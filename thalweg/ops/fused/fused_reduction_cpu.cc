// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/ew/reduced_program.h"
#include "thalweg/kernel/kernel_registry.h"

namespace thalweg {
namespace {

using compute::EwRun;
using compute::ReducedInstruction;
using compute::ReducedProgram;
using compute::ReducedRun;

class FusedReductionCpu : public Kernel {
 public:
  FusedReductionCpu(ReducedProgram program, std::vector<std::string> nodes)
      : program_(std::move(program)), nodes_(std::move(nodes)) {}

  static Result<std::unique_ptr<Kernel>> Create(const KernelConstruction& c) {
    ASSIGN_OR_RETURN(const auto text, c.Attr<std::vector<std::string>>("program"));
    ASSIGN_OR_RETURN(const auto results, c.Attr<std::vector<int64_t>>("results"));
    ASSIGN_OR_RETURN(auto nodes, c.Attr<std::vector<std::string>>("nodes"));
    std::vector<ReducedInstruction> instructions;
    for (const std::string& line : text) {
      ASSIGN_OR_RETURN(instructions.emplace_back(), ReducedInstruction::Parse(line));
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
    ASSIGN_OR_RETURN(ReducedProgram program,
                     ReducedProgram::Make(std::move(inputs), std::move(instructions), outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const DType made = program.type(outputs[i]), declared = c.output_type(static_cast<int>(i));
      if (made != declared) {
        return InvalidArgument("output ", i, " is declared as ", declared, ", the program makes ",
                               made);
      }
    }
    return std::unique_ptr<Kernel>(
        std::make_unique<FusedReductionCpu>(std::move(program), std::move(nodes)));
  }

  Status Compute(Context& ctx) override {
    std::vector<Shape> shapes;
    std::vector<EwRun::Input> inputs;
    for (int i = 0; i < ctx.num_inputs(); ++i) shapes.push_back(ctx.input(i).shape());
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      inputs.push_back({ctx.input(i).raw_data(), shapes[static_cast<size_t>(i)].dims()});
    }
    ReducedRun run(program_, ctx.work().isa(), inputs);
    Status status = run.InferShapes();
    std::vector<void*> outputs;
    for (int i = 0; status.ok() && i < ctx.num_outputs(); ++i) {
      const DType dtype = program_.type(program_.outputs()[static_cast<size_t>(i)]);
      Result<Tensor*> made = ctx.AllocateOutput(i, dtype, Shape(run.output_dims(i)));
      if (made.ok()) outputs.push_back((*made)->mutable_raw_data());
      status = made.status();
    }
    if (status.ok()) status = run.Execute(ctx.work(), outputs);
    const int failed = run.failed_instruction();
    if (status.ok() || failed < 0 || nodes_.empty()) return status;
    return status.WithContext(nodes_[static_cast<size_t>(failed)]);
  }

 private:
  const ReducedProgram program_;
  const std::vector<std::string> nodes_;
};

}  // namespace
}  // namespace thalweg

THALWEG_KERNEL(fused_reduction, cpu) { registry.Add<FusedReductionCpu>("_FusedReduction", kCpu); }
