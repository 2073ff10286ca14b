// SPDX-License-Identifier: Apache-2.0
// The harness finds what is wrong: operations that are broken on purpose must fail their cases.
#include "thalweg/testing/op_case.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/graph/gradient_math.h"
#include "thalweg/graph/shape_inference.h"
#include "thalweg/testing/op_case_node.h"
#include "thalweg/testing/registries.h"

namespace thalweg {
namespace {

enum class Fault {
  kNone,
  kValue,
  kWritesBehind,
  kWritesInput,
  kReadsTakenInput,
  kOrderOfShards,
  kShape,
  kMessage
};

// Square of a float tensor with one fault.
template <Fault F>
Status Square(Context& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() == 0) return InvalidArgument(F == Fault::kMessage ? "no" : "x is a scalar");
  const int64_t n = x.num_elements();
  const float* in = x.data<float>();
  Tensor* y = nullptr;
  if (F == Fault::kReadsTakenInput) {
    ASSIGN_OR_RETURN(y, ctx.TakeOrAllocateOutput({0}, 0, DType::kFloat, x.shape()));
    if (y->mutable_data<float>() == in) std::fill_n(y->mutable_data<float>(), n, 0.0f);
  } else {
    ASSIGN_OR_RETURN(
        y, ctx.AllocateOutput(0, DType::kFloat, F == Fault::kShape ? Shape{n, 1} : x.shape()));
  }
  float* out = y->mutable_data<float>();
  for (int64_t i = 0; i < n; ++i) out[i] = in[i] * in[i];
  if (F == Fault::kValue && n > 5) out[5] += 0.5f;
  if (F == Fault::kWritesBehind) out[n] = 1;
  if (F == Fault::kWritesInput && n > 0) const_cast<float*>(in)[0] += 1;
  if (F == Fault::kOrderOfShards && n > 0) {  // the last writer wins
    ctx.work().ParallelFor(
        4,
        [](void* p, int64_t shard) {
          auto* const first = static_cast<float*>(p);
          *first = std::round(*first * 1e4f) * 1e-4f + 1e-5f * static_cast<float>(shard);
        },
        out);
  }
  return OkStatus();
}

Status RightGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, m.Op("Square", {c.grad(0)}));
  return m.status();
}
Status NoSuchGradient(GradientContext& c) {
  GradientMath m(c);
  c.set_input_grad(0, c.grad(0));
  return m.status();
}
Status TooSureShape(ShapeContext& c) {
  c.set_output(0, PartialShape{1, 2});
  return OkStatus();
}

template <Fault F>
TestRegistries Registries(ShapeFn shape = UnchangedShape, GradientFn gradient = nullptr) {
  auto ops = std::make_shared<OpRegistry>();
  RegisterSources(*ops);
  ops->Op("Square").Shape(shape).Gradient(gradient);
  auto kernels = std::make_shared<KernelRegistry>();
  kernels->AddFunction<Square<F>>("Square", kCpu, {{"T", DType::kFloat}});
  return {ops, kernels};
}

void RunSquare(const TestRegistries& registries) {
  OpCase("Square")
      .Elementwise([](double x) { return x * x; })
      .Try({In({7, 31})})
      .Try({In({0})})
      .Bad({In({})}, {}, Code::kInvalidArgument, "scalar")
      .Tolerance(DType::kFloat, 1e-4)
      .GradStep(1e-2, 1e-2)
      .Run(registries);
}

TEST(OpCaseTest, ASoundOperationPasses) { RunSquare(Registries<Fault::kNone>()); }

TEST(OpCaseTest, FindsWhatIsWrong) {
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kValue>()), "element 5 of 217");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kWritesBehind>()), "was overwritten");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kWritesInput>()),
                          "a pinned input was overwritten");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kReadsTakenInput>()), "with inputs taken");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kOrderOfShards>()), "backwards");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kMessage>()), "with 'scalar', got");
}

TEST(OpCaseTest, FindsWrongInference) {
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kNone>(TooSureShape)),
                          "inference promised [1,2]");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kShape>()), "inference promised [7,31]");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kNone>(UnknownShape)), "inferred <unknown>");
}

TEST(OpCaseTest, FindsWrongGradients) {
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kNone>(UnchangedShape, RightGradient)),
                          "gradient of input 0");
  EXPECT_NONFATAL_FAILURE(RunSquare(Registries<Fault::kNone>(UnchangedShape, NoSuchGradient)),
                          "gradient of input 0");
}

TEST(OpCaseTest, FlagsCasesThatCouldNotFail) {
  const auto run = [](double value) {
    OpCase("Square")
        .Elementwise([](double x) { return x * x; })
        .Try({In({2}, {value, value})})
        .Run(Registries<Fault::kNone>());
  };
  EXPECT_NONFATAL_FAILURE(run(0), "untrusted");
  EXPECT_NONFATAL_FAILURE(run(1), "untrusted");
  run(2);
}

}  // namespace
}  // namespace thalweg
