// SPDX-License-Identifier: Apache-2.0
// Gradients of while loops through a session: against formulas and differences, what they take of
// memory, and what is refused. More programs: python/tests/test_while_gradients.py.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <thread>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/autodiff/test_loop.h"
#include "thalweg/base/cancellation.h"
#include "thalweg/testing/graph_session.h"

namespace thalweg {
namespace {

class LoopGradientsTest : public testing::TestWithParam<int> {
 protected:
  LoopGradientsTest()
      : local_(GetParam()),
        environment_(local_.environment),
        graph_(local_.graph),
        b_(local_.b),
        session_(local_.session),
        x_(b_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}}, "x")),
        n_(b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}}, "n")) {}

  Output Number(double value) { return b_.ScalarConst(DType::kDouble, value); }
  Output Mul(Output a, Output b) { return b_.Op("Mul", {a, b}); }
  Output Add(Output a, Output b) { return b_.Op("AddV2", {a, b}); }

  // body(loop, i, y), n times.
  Output Repeat(std::string frame, const Output& first, const Output& times,
                const std::function<Output(Loop&, Output, Output)>& body, bool back_prop = true) {
    Loop loop(b_, std::move(frame), back_prop);
    const Output limit = loop.Invariant(times);
    // Constants inside the loop around this one wait for something of it.
    GraphBuilder behind = b_.WithControls({first.node});
    const Output one = loop.Invariant(behind.ScalarConst(DType::kInt32, 1));
    const Output start = behind.ScalarConst(DType::kInt32, 0);
    const Values last = loop.Run(
        {start, first},
        [&](const Values& v) {
          return b_.Op("Less", {v[0], limit});
        },
        [&](const Values& v) {
          return Values{Add(v[0], one), body(loop, v[0], v[1])};
        });
    EXPECT_TRUE(b_.ok()) << b_.status().ToString();
    return last.empty() ? Output() : last[1];
  }
  Result<std::vector<GradientValue>> Gradients(const Values& ys, const Values& xs,
                                               bool allow_unconnected = false) {
    RETURN_IF_ERROR(b_.status());
    GradientOptions options;
    options.allow_unconnected = allow_unconnected;
    return AddGradients(graph_.get(), ys, xs, options);
  }
  Output Gradient(const Output& y, const Output& x) {
    const auto gradients = Gradients({y}, {x});
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    return gradients.ok() ? (*gradients)[0].values : Output();
  }
  Result<double> Value(const Output& fetch, double x, int n) {
    const Tensor feeds[] = {Tensor::Scalar(x), Tensor::Scalar<int32_t>(n)};
    Tensor out;
    RETURN_IF_ERROR(session_->Run(RunOptions(), {{x_, n_}, {fetch}, {}}, feeds, {&out, 1}));
    return out.scalar<double>();
  }
  double At(const Output& fetch, double x, int n) {
    const Result<double> value = Value(fetch, x, n);
    EXPECT_TRUE(value.ok()) << value.status().ToString();
    return value.ok() ? *value : NAN;
  }
  // The gradient is what differences of y say.
  void ExpectSlope(const Output& y, const Output& gradient, double x, int n) {
    constexpr double kStep = 1e-6;
    const double slope = (At(y, x + kStep, n) - At(y, x - kStep, n)) / (2 * kStep);
    EXPECT_NEAR(At(gradient, x, n), slope, 1e-6 * (1 + std::abs(slope))) << "x " << x << " n " << n;
  }

  GraphSession local_;
  const std::shared_ptr<Environment>& environment_;
  const std::shared_ptr<Graph>& graph_;
  GraphBuilder b_;
  const std::unique_ptr<Session>& session_;
  const Output x_, n_;
};

TEST_P(LoopGradientsTest, PowersAndTheirDerivatives) {
  const Output y = Repeat("power", Number(1), n_,
                          [&](Loop& loop, Output, Output y) { return Mul(y, loop.Invariant(x_)); });
  const Output first = Gradient(y, x_), second = Gradient(first, x_), third = Gradient(second, x_);
  for (const int n : {0, 1, 2, 7}) {
    EXPECT_DOUBLE_EQ(At(first, 1.5, n), n * std::pow(1.5, n - 1)) << n;
    EXPECT_DOUBLE_EQ(At(second, 1.5, n), n * (n - 1) * std::pow(1.5, n - 2)) << n;
    EXPECT_NEAR(At(third, 1.5, n), n * (n - 1) * (n - 2) * std::pow(1.5, n - 3), 1e-10) << n;
  }
}

TEST_P(LoopGradientsTest, LoopsInLoops) {
  const Output y = Repeat("outer", x_, n_, [&](Loop& outer, Output i, Output y) {
    const Output x = outer.Invariant(x_);
    const Output z = Repeat("inner", y, i, [&](Loop& inner, Output, Output z) {
      return Add(b_.Op("Sin", {Mul(z, inner.Invariant(x))}), inner.Invariant(y));
    });
    return Mul(z, b_.Op("Cos", {y}));
  });
  const Output gradient = Gradient(y, x_), second = Gradient(gradient, x_);
  for (const int n : {0, 1, 2, 5}) {
    ExpectSlope(y, gradient, 0.7, n);
    ExpectSlope(gradient, second, 0.7, n);
  }
}

// What is read in a branch is remembered only where the branch is taken.
TEST_P(LoopGradientsTest, BranchesInALoop) {
  const Output y = Repeat("branches", x_, n_, [&](Loop& loop, Output i, Output y) {
    const Output odd =
        b_.Op("Equal", {b_.Op("FloorMod", {i, loop.Invariant(b_.ScalarConst(DType::kInt32, 2))}),
                        loop.Invariant(b_.ScalarConst(DType::kInt32, 1))});
    Node* const parts = b_.OpNode("Switch", {y, odd});
    const Output then = b_.Op("Exp", {b_.Op("Sin", {{parts, 1}})});
    // Would be an error in the other branch.
    const Output checked =
        b_.Op("CheckNumerics", {b_.Op("Log", {b_.Op("Square", {{parts, 0}})})}, {{"message", "m"}});
    return b_.Op("Merge", {Mul(checked, {parts, 0}), Mul(then, then)});
  });
  const Output gradient = Gradient(y, x_), second = Gradient(gradient, x_);
  for (const int n : {0, 1, 4}) {
    ExpectSlope(y, gradient, 1.3, n);
    ExpectSlope(gradient, second, 1.3, n);
  }
}

TEST_P(LoopGradientsTest, OnlyWhatIsAskedForRunsInTheForwardLoop) {
  const Output y = Repeat("power", Number(1), n_,
                          [&](Loop& loop, Output, Output y) { return Mul(y, loop.Invariant(x_)); });
  Gradient(y, x_);
  const Result<std::string> plan = session_->DescribePlan(
      std::vector<std::string>{"x:0", "n:0"}, std::vector<std::string>{y.ToString()}, {});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->find("_PushLoopStack"), std::string::npos) << *plan;
}

// 10,000 steps of 8 KB each, remembered once: nothing else grows, nothing stays.
TEST_P(LoopGradientsTest, MemoryIsThatOfTheStackAndGoesWithTheStep) {
  constexpr int kSteps = 10'000;
  const Output wide = b_.Op("Fill", {b_.Const(std::vector<int32_t>{1024}), x_});
  const Output last = Repeat("long", wide, n_, [&](Loop&, Output, Output y) {
    const Output bent = b_.Op("Tanh", {y});
    return b_.Op("Sub", {bent, Mul(Mul(bent, bent), bent)});
  });
  const Output y = b_.Op("Sum", {last, b_.Const(std::vector<int32_t>{0})});
  const Output gradient = Gradient(y, x_);
  const int64_t before = environment_->allocator()->Stats().bytes_in_use;
  ExpectSlope(y, gradient, 0.3, 20);
  EXPECT_TRUE(std::isfinite(At(gradient, 0.3, kSteps)));
  const AllocatorStats stats = environment_->allocator()->Stats();
  // Tanh, its square: two values of 8 KB in each iteration.
  EXPECT_LT(stats.peak_bytes_in_use, int64_t{3} * kSteps * 8192);
  EXPECT_LT(stats.bytes_in_use, before + (1 << 20));
}

TEST_P(LoopGradientsTest, AnErrorHalfWayLeavesNothing) {
  const Output wide = b_.Op("Fill", {b_.Const(std::vector<int32_t>{1024}), x_});
  const Output last = Repeat("breaks", wide, n_, [&](Loop&, Output, Output y) {
    return b_.Op("CheckNumerics", {Mul(y, b_.Op("Exp", {y}))}, {{"message", "too large"}});
  });
  const Output y = b_.Op("Sum", {last, b_.Const(std::vector<int32_t>{0})});
  const Output gradient = Gradient(y, x_);
  EXPECT_TRUE(std::isfinite(At(gradient, -1.0, 5)));
  const int64_t before = environment_->allocator()->Stats().bytes_in_use;
  EXPECT_EQ(Value(gradient, 1.0, 1000).status().code(), Code::kInvalidArgument);
  EXPECT_LE(environment_->allocator()->Stats().bytes_in_use, before);
}

// The loop runs ahead of who takes its numbers, until the queue is full.
TEST_P(LoopGradientsTest, AStepCancelledInTheMiddleOfItsLoopLeavesNothing) {
  const Output queue = b_.Op("FIFOQueueV2", {},
                             {{"component_types", std::vector<DType>{DType::kInt32}},
                              {"shapes", std::vector<PartialShape>{Shape()}},
                              {"capacity", int64_t{100}}});
  const Output wide = b_.Op("Fill", {b_.Const(std::vector<int32_t>{1024}), x_});
  const Output last = Repeat("long", wide, n_, [&](Loop& loop, Output i, Output y) {
    Node* const put = b_.OpNode("QueueEnqueueV2", {loop.Invariant(queue), i});
    return b_.WithControls({put}).Op("Tanh", {y});
  });
  const Output y = b_.Op("Sum", {last, b_.Const(std::vector<int32_t>{0})});
  const Output gradient = Gradient(y, x_);
  const Output taken =
      b_.Op("QueueDequeueManyV2", {queue, b_.Const(Tensor::Scalar<int32_t>(400), "many")},
            {{"component_types", std::vector<DType>{DType::kInt32}}});
  ASSERT_TRUE(b_.ok()) << b_.status().ToString();
  const int64_t before = environment_->allocator()->Stats().bytes_in_use;
  CancellationManager cancellation;
  Status ended;
  std::thread step([&] {
    const Tensor feeds[] = {Tensor::Scalar(0.5), Tensor::Scalar<int32_t>(10'000)};
    Tensor out;
    ended = session_->Run({.cancellation = &cancellation}, {{x_, n_}, {gradient}, {}}, feeds,
                          {&out, 1});
  });
  Tensor numbers;
  const Status taking = session_->Run(RunOptions(), {{}, {taken}, {}}, {}, {&numbers, 1});
  const int64_t amid = environment_->allocator()->Stats().bytes_in_use;
  cancellation.Cancel();
  step.join();
  EXPECT_TRUE(taking.ok()) << taking.ToString();
  EXPECT_EQ(ended.code(), Code::kCancelled) << ended.ToString();
  EXPECT_GT(amid, before + 300 * 8192);
  EXPECT_LT(environment_->allocator()->Stats().bytes_in_use, before + 65536);
}

TEST_P(LoopGradientsTest, AConstantToGradients) {
  const auto body = [&](Loop& loop, Output, Output y) { return Mul(y, loop.Invariant(x_)); };
  const Output y = Mul(Repeat("stopped", Number(1), n_, body, false), x_);
  const Output gradient = Gradient(y, x_);
  EXPECT_DOUBLE_EQ(At(gradient, 2, 3), 8);
}

void ExpectRefusal(const Status& status, Code code, std::string_view words) {
  EXPECT_EQ(status.code(), code);
  EXPECT_NE(status.message().find(words), std::string_view::npos) << status.ToString();
}

TEST_P(LoopGradientsTest, WhatIsNotDefinedIsSaid) {
  Output inside;
  const Output y = Repeat("refused", x_, n_, [&](Loop&, Output, Output y) {
    inside = b_.Op("Sin", {y});
    return inside;
  });
  ExpectRefusal(Gradients({y}, {inside}).status(), Code::kInvalidArgument,
                "a value inside the while loop 'refused'");
  ExpectRefusal(Gradients({inside}, {x_}).status(), Code::kUnimplemented,
                "goes through earlier iterations");
  ExpectRefusal(Gradients({y, inside}, {x_}).status(), Code::kInvalidArgument,
                "values of different loops");
}

TEST_P(LoopGradientsTest, AnUnusualLoopIsNamed) {
  Output half;
  const Output y = Repeat("odd", x_, n_, [&](Loop& loop, Output, Output y) {
    half = Mul(y, loop.Invariant(Number(0.5)));
    return half;
  });
  // Brings out what is no variable.
  const Output out = b_.Op("Exit", {half});
  ExpectRefusal(Gradients({Add(y, out)}, {x_}).status(), Code::kUnimplemented, "while loop 'odd'");
}

// sum of (i + 1) x w[i]^2, w being all x: the gradient by w is a row of zeros for row 0 and the
// rows of the iterations, the last first; that of these rows is there too.
TEST_P(LoopGradientsTest, RowsOfAnInvariantStayRows) {
  const Output w = b_.Op("Fill", {b_.Const(std::vector<int32_t>{1000, 2}), x_}, {}, "w");
  const Output sum_up = b_.Const(std::vector<int32_t>{0, 1});
  const Output y = Repeat("rows", Number(0), n_, [&](Loop& loop, Output i, Output y) {
    const Output axis = b_.WithControls({i.node}).ScalarConst(DType::kInt32, 0);
    const Output row = b_.Op("GatherV2", {loop.Invariant(w), b_.Op("ExpandDims", {i, axis}), axis});
    const Output number = b_.Op("Cast", {i}, {{"DstT", DType::kDouble}});
    const Output squares = b_.Op("Sum", {Mul(row, row), loop.Invariant(sum_up)});
    return Add(y, Mul(Mul(Add(number, loop.Invariant(Number(1))), squares), loop.Invariant(x_)));
  });
  const auto gradients = Gradients({y}, {w});
  ASSERT_TRUE(gradients.ok()) << gradients.status().ToString();
  const GradientValue& rows = (*gradients)[0];
  ASSERT_TRUE(rows.is_sparse());
  const Tensor feeds[] = {Tensor::Scalar(0.5), Tensor::Scalar<int32_t>(3)};
  Tensor outs[3];
  const Status ran = session_->Run(
      RunOptions(), {{x_, n_}, {rows.values, rows.indices, rows.dense_shape}, {}}, feeds, outs);
  ASSERT_TRUE(ran.ok()) << ran.ToString();
  EXPECT_EQ(outs[0].ToString(),
            Tensor::Of<double>(std::vector<double>{0, 0, 1.5, 1.5, 1, 1, 0.5, 0.5}, Shape{4, 2})
                .ToString());
  EXPECT_EQ(outs[1].ToString(), Tensor::Vector<int32_t>({0, 2, 1, 0}).ToString());
  EXPECT_EQ(outs[2].ToString(), Tensor::Vector<int32_t>({1000, 2}).ToString());
  const Output sum = b_.Op("Sum", {rows.values, sum_up});
  const Output gradient = Gradient(y, x_), second = Gradient(sum, x_);
  for (const int n : {0, 1, 4}) {
    ExpectSlope(y, gradient, 0.7, n);
    ExpectSlope(sum, second, 0.7, n);
  }
}

// As TensorFlow writes gradients of loops: nothing but a stack leads from the one to the other.
TEST_P(LoopGradientsTest, SecondDerivativesOfLoopsWithStacksAreRefused) {
  const AttrMap attrs = {{"elem_type", DType::kDouble}};
  const Output stack =
      b_.Op("StackV2", {b_.Const(Tensor::Scalar<int32_t>(-1), "no_limit")}, attrs, "stack");
  const Output last = Repeat("forward", x_, n_, [&](Loop& loop, Output, Output y) {
    const Output kept = b_.Op("StackPushV2", {loop.Invariant(stack), y});
    return Mul(kept, y);
  });
  const Output start = Number(1), factor = Number(3);
  GraphBuilder plain = b_;
  b_ = plain.WithControls({last.node});
  const Output seed = b_.Op("Identity", {start});
  b_ = plain;
  const auto back = [&](const char* frame, const Output& other) {
    return Repeat(frame, seed, n_, [&](Loop& loop, Output, Output y) {
      const Output kept = b_.Op("StackPopV2", {loop.Invariant(stack)}, attrs);
      return Mul(Mul(y, kept), loop.Invariant(other));
    });
  };
  const Output y = back("backward", x_), z = back("aside", factor);
  ExpectRefusal(Gradients({y}, {x_}).status(), Code::kUnimplemented,
                "Second-order gradient for while loops not supported: the gradient of the while "
                "loop 'backward'");
  ExpectRefusal(Gradients({Add(z, x_)}, {x_}).status(), Code::kUnimplemented,
                "while loop 'forward' put there");
  EXPECT_TRUE(Gradients({z}, {factor}).ok()) << "no part of what was pushed";
  EXPECT_TRUE(Gradients({Add(last, x_)}, {x_}).ok());
}

INSTANTIATE_TEST_SUITE_P(Threads, LoopGradientsTest, testing::Values(1, 3));

}  // namespace
}  // namespace thalweg
