// SPDX-License-Identifier: Apache-2.0
// Programs give the bits of their operations run one by one.
#include "thalweg/compute/program/program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "thalweg/compute/ew/storage.h"
#include "thalweg/compute/test_work.h"
#include "thalweg/tensor/shape.h"

namespace thalweg::compute {
namespace {

using I = EwInstruction;

struct Value {
  DType type = DType::kFloat;
  Dims dims;
  std::vector<char> bytes;

  Value() = default;
  Value(DType t, Dims d) : type(t), dims(std::move(d)) {
    bytes.resize(static_cast<size_t>(elements()) * DTypeSize(type));
  }
  int64_t elements() const { return Shape(dims).num_elements(); }
};

// Numbers of moderate size, the same in every run; no integer is zero.
Value RandomValue(DType type, const Dims& dims, uint32_t seed) {
  Value value(type, dims);
  const Broadcast flat = Broadcast::Dense(value.elements(), 1);
  std::vector<double> numbers = RandomValues<double>(flat.elements(), 1, 4, seed);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i % 3 == 1) numbers[i] = -numbers[i];
    if (type == DType::kBool) numbers[i] = i % 3 == 0;
  }
  SerialWork work(GetIsaTable(IsaLevel::kSse4));
  EXPECT_TRUE(
      RunCast(work, DType::kDouble, type, flat.elements(), numbers.data(), value.bytes.data())
          .ok());
  return value;
}

// One instruction by the functions for whole tensors.
Value RunAlone(Work& work, const I& instruction, const std::vector<Value>& values) {
  const auto in = [&](size_t k) -> const Value& { return values[instruction.operands[k]]; };
  Status status;
  Value out;
  switch (instruction.kind) {
    case I::Kind::kUnary: {
      const auto op = static_cast<UnaryOp>(instruction.op);
      out = Value(UnaryResult(op, in(0).type), in(0).dims);
      status = RunUnary(work, op, in(0).type, out.elements(), in(0).bytes.data(), out.bytes.data());
      break;
    }
    case I::Kind::kBinary: {
      const auto op = static_cast<BinaryOp>(instruction.op);
      const Broadcast broadcast = *Broadcast::Make({in(0).dims, in(1).dims});
      out = Value(BinaryResult(op, in(0).type), broadcast.output_dims());
      status = RunBinary(work, op, in(0).type, broadcast, in(0).bytes.data(), in(1).bytes.data(),
                         out.bytes.data());
      break;
    }
    case I::Kind::kSelect: {
      const Broadcast broadcast = *Broadcast::Make({in(0).dims, in(1).dims, in(2).dims});
      out = Value(in(1).type, broadcast.output_dims());
      status = RunSelect(work, DTypeSize(out.type), broadcast,
                         reinterpret_cast<const bool*>(in(0).bytes.data()), in(1).bytes.data(),
                         in(2).bytes.data(), out.bytes.data());
      break;
    }
    case I::Kind::kCast:
      out = Value(instruction.target, in(0).dims);
      status =
          RunCast(work, in(0).type, out.type, out.elements(), in(0).bytes.data(), out.bytes.data());
      break;
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  return out;
}

std::vector<EwRun::Input> InputsOf(const std::vector<Value>& values) {
  std::vector<EwRun::Input> inputs;
  for (const Value& value : values) inputs.push_back({value.bytes.data(), value.dims});
  return inputs;
}

void ExpectSameAsAlone(IsaLevel level, int threads, std::vector<Value> values,
                       const std::vector<I>& instructions, const std::vector<int>& outputs) {
  std::string text;
  for (const I& instruction : instructions) text += instruction.ToText() + "; ";
  SCOPED_TRACE(text);
  TestWork work(level, threads);
  std::vector<DType> types;
  for (const Value& value : values) types.push_back(value.type);
  Result<EwProgram> program = EwProgram::Make(types, instructions, outputs);
  ASSERT_TRUE(program.ok()) << program.status().ToString();
  const std::vector<EwRun::Input> inputs = InputsOf(values);
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second run finds a cached plan
    EwRun run(*program, work.isa(), inputs);
    ASSERT_TRUE(run.InferShapes().ok());
    std::vector<Value> got;
    std::vector<void*> pointers;
    for (size_t o = 0; o < outputs.size(); ++o) {
      got.emplace_back(program->type(outputs[o]), run.output_dims(static_cast<int>(o)));
    }
    for (Value& value : got) pointers.push_back(value.bytes.data());
    const Status status = run.Execute(work, pointers);
    ASSERT_TRUE(status.ok()) << status.ToString();
    std::vector<Value> all = values;
    for (const I& instruction : instructions) all.push_back(RunAlone(work, instruction, all));
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Value& want = all[static_cast<size_t>(outputs[o])];
      EXPECT_EQ(got[o].dims, want.dims);
      ASSERT_EQ(got[o].bytes.size(), want.bytes.size());
      size_t at = 0;
      while (at < want.bytes.size() && got[o].bytes[at] == want.bytes[at]) ++at;
      EXPECT_EQ(at, want.bytes.size()) << "output " << o << " of type " << DTypeName(want.type);
    }
  }
}

TEST(EwProgramTest, Chains) {
  for (IsaLevel level : TestLevels()) {
    for (int64_t n : {1, 7, 255, 256, 1000, 70000}) {
      for (DType type : {DType::kFloat, DType::kDouble, DType::kHalf, DType::kBfloat16}) {
        std::vector<Value> values = {RandomValue(type, {n}, 1), RandomValue(type, {n}, 2),
                                     RandomValue(type, {}, 3)};
        // tanh(x * s + b) * sigmoid(x) - x * x
        ExpectSameAsAlone(level, 2, values,
                          {I::Binary(BinaryOp::kMul, 0, 2), I::Binary(BinaryOp::kAdd, 3, 1),
                           I::Unary(UnaryOp::kTanh, 4), I::Unary(UnaryOp::kSigmoid, 0),
                           I::Binary(BinaryOp::kMul, 5, 6), I::Binary(BinaryOp::kMul, 0, 0),
                           I::Binary(BinaryOp::kSub, 7, 8)},
                          {9});
      }
    }
  }
}

TEST(EwProgramTest, Broadcasts) {
  const std::pair<Dims, Dims> shapes[] = {{{5, 300}, {300}},
                                          {{5, 300}, {5, 1}},
                                          {{40, 7}, {7}},
                                          {{40, 7}, {40, 1}},
                                          {{3, 4, 5}, {4, 1}},
                                          {{6, 1, 300}, {6, 5, 1}},
                                          {{2, 3, 1, 9}, {3, 8, 1}},
                                          {{1, 300}, {300}},
                                          {{300}, {2, 1}},
                                          {{2, 70000}, {70000}},
                                          {{1, 1, 1}, {4}},
                                          {{9}, {0, 1}},
                                          {{0}, {1, 1}},
                                          {{40000, 3}, {40000, 1}},
                                          {{2, 150, 96}, {150, 1}}};
  for (IsaLevel level : TestLevels()) {
    for (const auto& [a, b] : shapes) {
      for (DType type : {DType::kFloat, DType::kHalf, DType::kInt8}) {
        std::vector<Value> values = {RandomValue(type, a, 1), RandomValue(type, b, 2),
                                     RandomValue(type, {1}, 3)};
        // The square and the negation are made before they are broadcast.
        ExpectSameAsAlone(level, 2, values,
                          {I::Unary(UnaryOp::kSquare, 1), I::Unary(UnaryOp::kNeg, 2),
                           I::Binary(BinaryOp::kMul, 4, 2), I::Binary(BinaryOp::kAdd, 0, 3),
                           I::Binary(BinaryOp::kMaximum, 6, 5), I::Unary(UnaryOp::kRelu, 7)},
                          {8});
      }
    }
  }
}

TEST(EwProgramTest, SelectsCastsAndComparisons) {
  for (const Dims& dims : {Dims{1000}, Dims{6, 200}, Dims{50, 6}}) {
    for (DType type : {DType::kFloat, DType::kInt64, DType::kUint8, DType::kHalf}) {
      std::vector<Value> values = {RandomValue(type, dims, 1),
                                   RandomValue(type, {dims[dims.size() - 1]}, 2),
                                   RandomValue(type, {}, 3)};
      ExpectSameAsAlone(
          BestIsaLevel(), 1, values,
          {I::Binary(BinaryOp::kLess, 0, 1), I::Select(3, 0, 2), I::Cast(DType::kDouble, 4),
           I::Cast(DType::kInt16, 5), I::Cast(DType::kBfloat16, 6),
           I::Unary(UnaryOp::kLogicalNot, 3), I::Cast(DType::kFloat, 8), I::Cast(DType::kFloat, 7),
           I::Binary(BinaryOp::kAdd, 9, 10)},
          {11, 5, 8});
    }
  }
}

// In place, of what is read again, from an input, to an output.
TEST(EwProgramTest, CastsBetweenTypesThatAreComputedAlike) {
  const auto check = [](DType wide, DType narrow, DType other) {
    for (IsaLevel level : TestLevels()) {
      ExpectSameAsAlone(
          level, 3, {RandomValue(wide, {70001}, 1), RandomValue(narrow, {70001}, 2)},
          {I::Cast(narrow, 0), I::Cast(wide, 1), I::Cast(wide, 2), I::Binary(BinaryOp::kAdd, 4, 0),
           I::Cast(other, 5), I::Binary(BinaryOp::kMul, 5, 4), I::Cast(narrow, 7)},
          {2, 3, 6, 8});
    }
  };
  check(DType::kFloat, DType::kBfloat16, DType::kHalf);
  check(DType::kInt32, DType::kInt8, DType::kUint16);
}

// Instructions at random over few types and shapes that broadcast together.
TEST(EwProgramTest, RandomPrograms) {
  const DType kTypes[] = {DType::kFloat, DType::kHalf, DType::kInt32, DType::kInt8,
                          DType::kComplex64};
  const UnaryOp kUnary[] = {UnaryOp::kNeg, UnaryOp::kSquare, UnaryOp::kTanh, UnaryOp::kSigmoid,
                            UnaryOp::kAbs};
  const BinaryOp kBinary[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kMaximum,
                              BinaryOp::kSquaredDifference};
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint32_t>(n)); };
    const Dims base = {1 + pick(3), 1 + pick(20), 1 + pick(400)};
    const DType type = kTypes[pick(5)];
    std::vector<Value> values;
    const int inputs = 1 + pick(4);
    for (int i = 0; i < inputs; ++i) {
      Dims dims = base;
      for (int d = 0; d < 3; ++d) {
        if (pick(4) == 0) dims[d] = 1;
      }
      for (int cut = pick(4); cut < 2; ++cut) dims.erase(0);
      values.push_back(RandomValue(type, dims, seed + static_cast<uint32_t>(i)));
    }
    std::vector<I> instructions;
    const int length = 1 + pick(30);
    for (int i = 0; i < length; ++i) {
      const int known = inputs + i;
      const auto unary = kUnary[pick(5)];
      const auto binary = kBinary[pick(5)];
      const bool one = pick(3) == 0 && HasUnary(unary, type);
      const I instruction =
          one || !HasBinary(binary, type)
              ? I::Unary(HasUnary(unary, type) ? unary : UnaryOp::kSquare, pick(known))
              : I::Binary(binary, pick(known), pick(known));
      instructions.push_back(instruction);
    }
    std::vector<int> outputs = {inputs + length - 1};
    if (length > 2) outputs.push_back(inputs + pick(length - 1));
    ExpectSameAsAlone(TestLevels()[seed % TestLevels().size()], 1 + pick(2), values, instructions,
                      outputs);
  }
}

TEST(EwProgramTest, OutputInPlaceOfAnInput) {
  TestWork work;
  const std::vector<float> a = RandomValues(3000), b = RandomValues(3000, -1, 1, 2);
  std::vector<float> x = a;
  const EwProgram program =
      *EwProgram::Make({DType::kFloat, DType::kFloat},
                       {I::Binary(BinaryOp::kMul, 0, 1), I::Binary(BinaryOp::kAdd, 2, 0)}, {3});
  const Dims dims = {3000};
  const EwRun::Input inputs[] = {{x.data(), dims}, {b.data(), dims}};
  EwRun run(program, work.isa(), inputs);
  ASSERT_TRUE(run.InferShapes().ok());
  void* outputs[] = {x.data()};
  ASSERT_TRUE(run.Execute(work, outputs).ok());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], a[i] * b[i] + a[i]) << i;
}

TEST(EwProgramTest, LargeOutputsAreStreamed) {
  const int64_t n = (int64_t{9} << 20) + 5;
  TestWork work(BestIsaLevel(), 2);
  const std::vector<float> x = RandomValues(n);
  const float scale = 3;
  const EwProgram program =
      *EwProgram::Make({DType::kFloat, DType::kFloat},
                       {I::Binary(BinaryOp::kMul, 0, 1), I::Binary(BinaryOp::kAdd, 2, 0)}, {3});
  const Dims dims = {n};
  const EwRun::Input inputs[] = {{x.data(), dims}, {&scale, {}}};
  std::vector<float> y(static_cast<size_t>(n) + 3, -7);
  EwRun run(program, work.isa(), inputs);
  ASSERT_TRUE(run.InferShapes().ok());
  void* outputs[] = {y.data() + 1};  // not aligned
  ASSERT_TRUE(run.Execute(work, outputs).ok());
  for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i + 1], x[i] * scale + x[i]) << i;
  EXPECT_EQ(y[0], -7);
  EXPECT_EQ(y[y.size() - 2], -7);
}

TEST(EwProgramTest, ErrorsNameTheInstruction) {
  TestWork work;
  const EwProgram program =
      *EwProgram::Make({DType::kInt32, DType::kInt32},
                       {I::Unary(UnaryOp::kNeg, 0), I::Binary(BinaryOp::kFloorDiv, 2, 1),
                        I::Binary(BinaryOp::kAdd, 3, 3)},
                       {4});
  const std::vector<int32_t> x(1000, 5);
  std::vector<int32_t> y(1000, 1), out(1000);
  y[700] = 0;
  const Dims dims = {1000}, other = {7}, row = {2, 500}, column = {500, 1};
  void* outputs[] = {out.data()};
  {
    const EwRun::Input inputs[] = {{x.data(), dims}, {y.data(), dims}};
    EwRun run(program, work.isa(), inputs);
    ASSERT_TRUE(run.InferShapes().ok());
    const Status status = run.Execute(work, outputs);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "Integer division by zero");
    EXPECT_EQ(run.failed_instruction(), 1);
  }
  {
    const EwRun::Input inputs[] = {{x.data(), dims}, {y.data(), other}};
    EwRun run(program, work.isa(), inputs);
    const Status status = run.InferShapes();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_EQ(status.message(), "Incompatible shapes: [1000] vs. [7]");
    EXPECT_EQ(run.failed_instruction(), 1);
  }
  const EwProgram strict = *EwProgram::Make(
      {DType::kFloat, DType::kFloat},
      {I::Binary(BinaryOp::kReluGrad, 0, 1, true), I::Unary(UnaryOp::kNeg, 2)}, {3});
  const EwRun::Input inputs[] = {{x.data(), dims}, {y.data(), {}}};
  EwRun run(strict, work.isa(), inputs);
  EXPECT_EQ(run.InferShapes().code(), Code::kInvalidArgument);
  EXPECT_EQ(run.failed_instruction(), 0);
}

TEST(EwProgramTest, RefusedScratchAndCancel) {
  const Dims column = {500, 1}, row = {3};
  const std::vector<float> x(500, 1), y(3, 2);
  std::vector<float> out(1500);
  const EwProgram program =
      *EwProgram::Make({DType::kFloat, DType::kFloat},
                       {I::Unary(UnaryOp::kNeg, 0), I::Binary(BinaryOp::kAdd, 2, 1)}, {3});
  const EwRun::Input inputs[] = {{x.data(), column}, {y.data(), row}};
  void* outputs[] = {out.data()};
  for (bool refuse : {true, false}) {
    TestWork work;
    work.refuse_scratch = refuse;
    work.cancel = !refuse;
    EwRun run(program, work.isa(), inputs);
    ASSERT_TRUE(run.InferShapes().ok());
    EXPECT_EQ(run.Execute(work, outputs).code(),
              refuse ? Code::kResourceExhausted : Code::kCancelled);
  }
}

TEST(EwProgramTest, BadProgramsAreRefused) {
  const auto make = [](std::vector<DType> inputs, std::vector<I> instructions,
                       std::vector<int> outputs) {
    return EwProgram::Make(std::move(inputs), std::move(instructions), std::move(outputs))
        .status()
        .code();
  };
  const DType f = DType::kFloat;
  EXPECT_EQ(make({f}, {I::Unary(UnaryOp::kNeg, 1)}, {1}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {I::Unary(UnaryOp::kNeg, 0)}, {0}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {I::Unary(UnaryOp::kNeg, 0)}, {2}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {I::Unary(UnaryOp::kNeg, 0)}, {1, 1}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {}, {0}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, std::vector<I>(65, I::Unary(UnaryOp::kNeg, 0)), {1}), Code::kInvalidArgument);
  EXPECT_EQ(make({DType::kString}, {I::Unary(UnaryOp::kNeg, 0)}, {1}), Code::kUnimplemented);
  EXPECT_EQ(make({f}, {I::Unary(UnaryOp::kInvert, 0)}, {1}), Code::kUnimplemented);
  EXPECT_EQ(make({f, DType::kDouble}, {I::Binary(BinaryOp::kAdd, 0, 1)}, {2}),
            Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {I::Select(0, 0, 0)}, {1}), Code::kInvalidArgument);
  EXPECT_EQ(make({f}, {I::Cast(DType::kString, 0)}, {1}), Code::kUnimplemented);
}

TEST(EwProgramTest, Text) {
  for (const I& instruction :
       {I::Unary(UnaryOp::kTanh, 3), I::Binary(BinaryOp::kMul, 0, 12),
        I::Binary(BinaryOp::kTanhGrad, 1, 2, true), I::Select(4, 5, 6), I::Cast(DType::kHalf, 1)}) {
    Result<I> parsed = I::Parse(instruction.ToText());
    ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
    EXPECT_EQ(*parsed, instruction) << instruction.ToText();
  }
  EXPECT_EQ(I::Binary(BinaryOp::kTanhGrad, 1, 2, true).ToText(), "TanhGrad 1 2 same");
  for (const char* bad : {"", "Tanh", "Tanh x", "Tanh 1 2", "Tanh 1 same", "Mul 1", "Mul 1 -2",
                          "Mul 1 99999", "Cast 1", "Cast:teapot 1", "Nothing 1"}) {
    EXPECT_EQ(I::Parse(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

}  // namespace
}  // namespace thalweg::compute
