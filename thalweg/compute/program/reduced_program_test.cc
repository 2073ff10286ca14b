// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/program/reduced_program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "thalweg/base/str_cat.h"
#include "thalweg/compute/test_work.h"
#include "thalweg/tensor/shape.h"

namespace thalweg::compute {
namespace {

struct RowValue {
  std::vector<int64_t> dims;
  std::vector<float> data;
};

RowValue Random(std::vector<int64_t> dims, uint32_t seed) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return {std::move(dims), RandomValues(n, -2, 2, seed)};
}

std::vector<EwRun::Input> RowInputs(const std::vector<RowValue>& values) {
  std::vector<EwRun::Input> inputs;
  for (const RowValue& v : values) inputs.push_back({v.data.data(), v.dims});
  return inputs;
}

int64_t Elements(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// All instructions, one after the other over the whole of memory.
std::vector<RowValue> OneByOne(const std::vector<std::string>& lines,
                               std::vector<RowValue> values) {
  SerialWork work(GetIsaTable(BestIsaLevel()));
  for (const std::string& line : lines) {
    ReducedInstruction instruction = *ReducedInstruction::Parse(line);
    RowValue made;
    if (instruction.reduces) {
      const RowValue& x = values[instruction.operand];
      const Reduction reduction = *Reduction::Make(x.dims, instruction.axes);
      const Dims dims = reduction.OutputDims(instruction.keep_dims);
      made.dims.assign(dims.begin(), dims.end());
      made.data.resize(static_cast<size_t>(Elements(dims)));
      EXPECT_TRUE(
          Reduce(work, instruction.op, DType::kFloat, reduction, x.data.data(), made.data.data())
              .ok());
    } else {
      std::vector<RowValue> operands;
      for (int k = 0; k < instruction.num_operands(); ++k) {
        operands.push_back(values[static_cast<size_t>(instruction.operand_at(k))]);
        instruction.element.operands[static_cast<size_t>(k)] = static_cast<uint16_t>(k);
      }
      const int result = instruction.num_operands();
      const EwProgram program = *EwProgram::Make(std::vector<DType>(operands.size(), DType::kFloat),
                                                 {instruction.element}, {result});
      const auto inputs = RowInputs(operands);
      EwRun run(program, work.isa(), inputs);
      EXPECT_TRUE(run.InferShapes().ok());
      made.dims.assign(run.output_dims(0).begin(), run.output_dims(0).end());
      made.data.resize(static_cast<size_t>(Elements(run.output_dims(0))));
      void* outputs[] = {made.data.data()};
      EXPECT_TRUE(run.Execute(work, outputs).ok());
    }
    values.push_back(std::move(made));
  }
  return values;
}

ReducedProgram MakeProgram(const std::vector<std::string>& lines, size_t inputs,
                           std::vector<int> outputs) {
  std::vector<ReducedInstruction> instructions;
  for (const std::string& line : lines) {
    instructions.push_back(*ReducedInstruction::Parse(line));
    EXPECT_EQ(instructions.back().ToText(), line);
  }
  Result<ReducedProgram> program = ReducedProgram::Make(
      std::vector<DType>(inputs, DType::kFloat), std::move(instructions), std::move(outputs));
  EXPECT_TRUE(program.ok()) << program.status().ToString();
  return *std::move(program);
}

void ExpectSameBits(const std::vector<std::string>& lines, const std::vector<RowValue>& inputs,
                    const std::vector<int>& outputs) {
  const std::vector<RowValue> expected = OneByOne(lines, inputs);
  const ReducedProgram program = MakeProgram(lines, inputs.size(), outputs);
  const auto views = RowInputs(inputs);
  for (int threads : {1, 2}) {
    TestWork work(BestIsaLevel(), threads);
    ReducedRun run(program, work.isa(), views);
    ASSERT_TRUE(run.InferShapes().ok());
    std::vector<std::vector<float>> made;
    std::vector<void*> places;
    for (size_t o = 0; o < outputs.size(); ++o) {
      made.emplace_back(static_cast<size_t>(Elements(run.output_dims(static_cast<int>(o)))), -77);
      places.push_back(made.back().data());
    }
    const Status status = run.Execute(work, places);
    ASSERT_TRUE(status.ok()) << status.ToString();
    for (size_t o = 0; o < outputs.size(); ++o) {
      const RowValue& want = expected[static_cast<size_t>(outputs[o])];
      ASSERT_EQ(Dims(want.dims), run.output_dims(static_cast<int>(o)));
      ASSERT_EQ(std::memcmp(made[o].data(), want.data.data(), 4 * want.data.size()), 0)
          << lines.back() << ", output " << o << ", " << Shape(Dims(inputs[0].dims)).ToString()
          << ", " << threads << " threads";
    }
  }
}

TEST(ReducedProgramTest, AReductionAtTheEnd) {
  const std::vector<std::vector<int64_t>> shapes = {
      {1},       {7},        {5000},     {16384},     {70001},     {600000},      {3, 10},
      {900, 10}, {40, 1000}, {2, 40000}, {3, 300000}, {70, 5, 33}, {2, 3, 4, 500}};
  for (const auto& shape : shapes) {
    const RowValue x = Random(shape, 1), y = Random(shape, 2), row = Random({shape.back()}, 3);
    std::vector<int64_t> column = shape;
    column.back() = 1;
    const std::vector<RowValue> inputs = {x, y, row, Random(column, 4), Random({}, 5)};
    std::vector<std::string> ends = {"", " axes 0", " axes -1", " axes -1 keep"};
    if (shape.size() == 1) ends = {" axes 0", " axes 0 keep"};
    if (shape.size() == 2) ends.push_back(" axes 0,1");
    if (shape.size() > 2) ends.insert(ends.end(), {" axes 1", " axes 0,2", " axes 0,1,2 keep"});
    for (const std::string& end : ends) {
      for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
        ExpectSameBits({"SquaredDifference 0 1", StrCat(op, " 5", end)}, inputs, {6});
      }
      ExpectSameBits({"Add 0 2", "Mul 5 3", "Sub 6 4", StrCat("Sum 7", end)}, inputs, {8});
      ExpectSameBits({"ReluGrad 0 1 same", StrCat("Sum 5", end)}, inputs, {5, 6});
      ExpectSameBits({"Add 0 2", "Mul 5 3", StrCat("Sum 6", end)}, inputs, {7, 6, 5});
    }
  }
}

const std::vector<std::string>& LayerNorm() {  // of 0 + 1; scale 2, offset 3, epsilon 4
  static const std::vector<std::string> lines = {"Add 0 1",
                                                 "Mean 5 axes -1 keep",
                                                 "SquaredDifference 5 6",
                                                 "Mean 7 axes -1 keep",
                                                 "Add 8 4",
                                                 "Rsqrt 9",
                                                 "Sub 5 6",
                                                 "Mul 11 10",
                                                 "Mul 12 2",
                                                 "Add 13 3"};
  return lines;
}

TEST(ReducedProgramTest, RowPrograms) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 5},
                                      {4, 1},
                                      {300, 10},
                                      {33, 256},
                                      {70, 1000},
                                      {5, 5000},
                                      {3, 70000}}) {
    const std::vector<RowValue> inputs = {Random({rows, columns}, 1), Random({rows, columns}, 2),
                                          Random({columns}, 3), Random({columns}, 4),
                                          Random({}, 5)};
    ExpectSameBits(LayerNorm(), inputs, {14});
    ExpectSameBits(LayerNorm(), inputs, {14, 5, 6, 10, 12});
    // Softmax.
    ExpectSameBits({"Max 0 axes 1 keep", "Sub 0 5", "Exp 6", "Sum 7 axes 1 keep", "Div 7 8"},
                   inputs, {9});
    // What does not lie in rows.
    ExpectSameBits({"Sum 0 axes 0 keep", "Sub 0 5", "Mul 2 3", "Mul 6 7"}, inputs, {8});
    ExpectSameBits({"Mean 0 axes 0,1", "Sub 0 5", "Square 6", "Sum 7 axes 1"}, inputs, {8, 5});
  }
  const std::vector<RowValue> inputs = {Random({3, 4, 5, 60}, 1), Random({5, 60}, 2)};
  ExpectSameBits({"Mul 0 1", "Mean 2 axes 2,3 keep", "Sub 2 3"}, inputs, {4, 3});
}

TEST(ReducedProgramTest, RefusedScratchAndCancel) {
  const RowValue x = Random({70, 1000}, 1), row = Random({1000}, 2), one = Random({}, 3);
  const std::vector<RowValue> kept = {x, x, row, row, one};
  const auto inputs = RowInputs(kept);
  for (const auto& lines : {LayerNorm(), std::vector<std::string>{"Add 0 1", "Sum 5 axes 0"}}) {
    const int last = 4 + static_cast<int>(lines.size());
    const ReducedProgram program = MakeProgram(lines, 5, {last});
    std::vector<float> y(70000);
    void* outputs[] = {y.data()};
    TestWork work;
    work.refuse_scratch = true;
    ReducedRun run(program, work.isa(), inputs);
    ASSERT_TRUE(run.InferShapes().ok());
    EXPECT_EQ(run.Execute(work, outputs).code(), Code::kResourceExhausted);
    work.refuse_scratch = false;
    work.cancel = true;
    EXPECT_EQ(run.Execute(work, outputs).code(), Code::kCancelled);
  }
}

}  // namespace
}  // namespace thalweg::compute
