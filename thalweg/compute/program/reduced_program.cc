// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/reduced_program.h"

#include <algorithm>
#include <charconv>

#include "thalweg/compute/program/reduced_split.h"

namespace thalweg::compute {
namespace {

struct NamedReduction {
  std::string_view name;
  ReduceOp op;
};
constexpr NamedReduction kReductions[] = {{"Max", ReduceOp::kMax},
                                          {"Mean", ReduceOp::kMean},
                                          {"Min", ReduceOp::kMin},
                                          {"Prod", ReduceOp::kProd},
                                          {"Sum", ReduceOp::kSum}};

std::string_view NextWord(std::string_view* text, char separator) {
  const size_t end = std::min(text->find(separator), text->size());
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return word;
}

template <class T>
bool ReadNumber(std::string_view word, T* number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace

std::string ReducedInstruction::ToText() const {
  if (!reduces) return element.ToText();
  std::string text;
  for (const NamedReduction& named : kReductions) {
    if (named.op == op) text = named.name;
  }
  text += StrCat(" ", operand);
  for (size_t i = 0; i < axes.size(); ++i) text += StrCat(i == 0 ? " axes " : ",", axes[i]);
  return keep_dims ? text + " keep" : text;
}

Result<ReducedInstruction> ReducedInstruction::Parse(std::string_view text) {
  const std::string_view all = text;
  ReducedInstruction instruction;
  const std::string_view name = NextWord(&text, ' ');
  const auto* found = std::find_if(std::begin(kReductions), std::end(kReductions),
                                   [&](const NamedReduction& r) { return r.name == name; });
  if (found == std::end(kReductions)) {
    ASSIGN_OR_RETURN(instruction.element, EwInstruction::Parse(all));
    return instruction;
  }
  instruction.reduces = true;
  instruction.op = found->op;
  bool good = ReadNumber(NextWord(&text, ' '), &instruction.operand);
  if (text.starts_with("axes ")) {
    text.remove_prefix(5);
    std::string_view list = NextWord(&text, ' ');
    while (good && !list.empty()) {
      good = ReadNumber(NextWord(&list, ','), &instruction.axes.emplace_back());
    }
  }
  instruction.keep_dims = text == "keep";
  if (good && (text.empty() || instruction.keep_dims)) return instruction;
  return InvalidArgument("'", all, "' should be like 'Sum 5 axes 0,-1 keep'");
}

Result<ReducedProgram> ReducedProgram::Make(std::vector<DType> inputs,
                                            std::vector<ReducedInstruction> instructions,
                                            std::vector<int> outputs) {
  if (inputs.size() > EwProgram::kMostInputs || instructions.empty() || outputs.empty() ||
      instructions.size() > EwProgram::kMostInstructions) {
    return InvalidArgument("a program has at most ", EwProgram::kMostInputs, " inputs, 1 to ",
                           EwProgram::kMostInstructions, " instructions and an output");
  }
  ReducedProgram program;
  program.num_inputs_ = static_cast<int>(inputs.size());
  program.types_ = std::move(inputs);
  program.stage_.assign(program.types_.size(), 0);
  for (DType type : program.types_) {
    if (!EwProgram::Takes(type)) return Unimplemented("a program with inputs of type ", type);
  }
  std::vector<bool> read(program.types_.size() + instructions.size());
  int reductions = 0;
  for (size_t i = 0; i < instructions.size(); ++i) {
    const ReducedInstruction& instruction = instructions[i];
    std::vector<DType> types;
    int stage = 0;
    for (int k = 0; k < instruction.num_operands(); ++k) {
      const auto from = static_cast<size_t>(instruction.operand_at(k));
      if (from >= program.types_.size()) {
        return InvalidArgument("'", instruction.ToText(), "' reads a value that is not made yet");
      }
      read[from] = true;
      types.push_back(program.types_[from]);
      stage = std::max(stage, program.stage_[from]);
    }
    if (instruction.reduces) {
      if (types[0] != DType::kFloat && types[0] != DType::kDouble && types[0] != DType::kInt32 &&
          types[0] != DType::kInt64) {
        return Unimplemented("'", instruction.ToText(), "' of elements of type ", types[0]);
      }
      ++reductions;
      program.only_reduction_ = static_cast<int>(i);
      program.types_.push_back(types[0]);
      program.stage_.push_back(stage + 1);
      continue;
    }
    // The rules for types are those of a program of this instruction alone.
    EwInstruction alone = instruction.element;
    for (size_t k = 0; k < types.size(); ++k) alone.operands[k] = static_cast<uint16_t>(k);
    const int result = static_cast<int>(types.size());
    ASSIGN_OR_RETURN(const EwProgram one, EwProgram::Make(std::move(types), {alone}, {result}));
    program.types_.push_back(one.type(result));
    program.stage_.push_back(stage);
  }
  RETURN_IF_ERROR(CheckProgramOutputs(outputs, program.num_inputs_, program.num_values()));
  program.instructions_ = std::move(instructions);
  program.outputs_ = std::move(outputs);
  if (reductions != 1 || read[static_cast<size_t>(program.num_inputs_) +
                              static_cast<size_t>(program.only_reduction_)]) {
    program.only_reduction_ = -1;
  }
  ASSIGN_OR_RETURN(program.whole_, program.MakeSplit(std::vector<bool>(program.types_.size())));
  return program;
}

Result<std::unique_ptr<ReducedProgram::Split>> ReducedProgram::MakeSplit(
    const std::vector<bool>& rows) const {
  auto split = std::make_unique<Split>();
  split->rows = rows;
  const auto group = [&](int id) {  // instructions of one group run together
    const auto v = static_cast<size_t>(num_inputs_) + static_cast<size_t>(id);
    return 2 * stage_[v] + (rows[v] ? 0 : 1);
  };
  const int count = static_cast<int>(instructions_.size());
  const int stages = *std::max_element(stage_.begin(), stage_.end());
  for (int number = 0; number < 2 * (stages + 1); ++number) {
    Step step;
    std::vector<int> place(types_.size(), -1);
    std::vector<DType> types;
    for (int id = 0; id < count; ++id) {
      if (!instructions_[static_cast<size_t>(id)].reduces && group(id) == number) {
        step.instructions.push_back(id);
        place[static_cast<size_t>(num_inputs_) + static_cast<size_t>(id)] = -2;
      }
    }
    for (int id : step.instructions) {
      const ReducedInstruction& instruction = instructions_[static_cast<size_t>(id)];
      for (int k = 0; k < instruction.num_operands(); ++k) {
        const int from = instruction.operand_at(k);
        if (place[static_cast<size_t>(from)] != -1) continue;
        place[static_cast<size_t>(from)] = static_cast<int>(step.inputs.size());
        step.inputs.push_back(from);
        types.push_back(type(from));
      }
    }
    std::vector<EwInstruction> inside;
    for (int id : step.instructions) {
      EwInstruction instruction = instructions_[static_cast<size_t>(id)].element;
      for (int k = 0; k < instruction.num_operands(); ++k) {
        uint16_t& operand = instruction.operands[static_cast<size_t>(k)];
        operand = static_cast<uint16_t>(place[operand]);
      }
      place[static_cast<size_t>(num_inputs_) + static_cast<size_t>(id)] =
          static_cast<int>(types.size() + inside.size());
      inside.push_back(instruction);
    }
    std::vector<int> outputs;
    for (int id : step.instructions) {
      const int value = num_inputs_ + id;
      bool seen = std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
      for (int reader = 0; reader < count && !seen; ++reader) {
        const ReducedInstruction& instruction = instructions_[static_cast<size_t>(reader)];
        if (!instruction.reduces && group(reader) == number) continue;
        for (int k = 0; k < instruction.num_operands(); ++k) {
          seen |= instruction.operand_at(k) == value;
        }
      }
      if (!seen) continue;
      step.outputs.push_back(value);
      outputs.push_back(place[static_cast<size_t>(value)]);
    }
    if (!outputs.empty()) {
      ASSIGN_OR_RETURN(EwProgram made, EwProgram::Make(types, std::move(inside), outputs));
      step.program = std::make_unique<EwProgram>(std::move(made));
      split->steps.push_back(std::move(step));
    }
    if (number % 2 == 0) continue;
    for (int id = 0; id < count; ++id) {
      const ReducedInstruction& instruction = instructions_[static_cast<size_t>(id)];
      if (!instruction.reduces || stage_[instruction.operand] != number / 2) continue;
      Step reduction;
      reduction.instructions = {id};
      split->steps.push_back(std::move(reduction));
    }
  }
  return split;
}

ReducedProgram::ReducedProgram(ReducedProgram&& other) noexcept
    : num_inputs_(other.num_inputs_),
      types_(std::move(other.types_)),
      instructions_(std::move(other.instructions_)),
      outputs_(std::move(other.outputs_)),
      stage_(std::move(other.stage_)),
      only_reduction_(other.only_reduction_),
      whole_(std::move(other.whole_)),
      blocks_(other.blocks_.exchange(nullptr)) {}

ReducedProgram::~ReducedProgram() { delete blocks_.load(); }

}  // namespace thalweg::compute
