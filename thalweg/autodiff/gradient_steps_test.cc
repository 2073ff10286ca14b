// SPDX-License-Identifier: Apache-2.0
// Nodes whose gradient a function says, in loops and with loops of its own, through a session. More
// programs: python/tests/test_custom_gradients.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "thalweg/autodiff/gradients.h"
#include "thalweg/autodiff/test_loop.h"
#include "thalweg/testing/graph_session.h"

namespace thalweg {
namespace {

using ::testing::HasSubstr;

using Gradients = std::vector<GradientValue>;

class GradientStepsTest : public testing::Test {
 protected:
  Output Number(double value) { return b_.ScalarConst(DType::kDouble, value); }
  // first -> body(loop, value), as often as n_ says.
  Output Repeat(GraphBuilder& b, const Output& first, const Output& n,
                const std::function<Output(Loop&, Output)>& body) {
    Loop loop(b, StrCat("repeat", loops_++));  // loops of one name are one loop
    const Output limit = loop.Invariant(n);
    const Values last = loop.Run(
        {b.WithControls({first.node}).ScalarConst(DType::kInt32, 0), first},
        [&](const Values& v) {
          return b.Op("Less", {v[0], limit});
        },
        [&](const Values& v) {
          const Output one = b.WithControls({v[0].node}).ScalarConst(DType::kInt32, 1);
          return Values{b.Op("AddV2", {v[0], one}), body(loop, v[1])};
        });
    EXPECT_TRUE(b.ok()) << b.status().ToString();
    return last.empty() ? Output() : last[1];
  }
  // What a function adds stands under the scope of the gradients.
  GraphBuilder InScope() { return b_.Scope("gradients/step"); }
  Result<Gradients> Add(const Values& ys, const Values& xs, std::vector<GradientStep> steps) {
    RETURN_IF_ERROR(b_.status());
    GradientOptions options;
    options.steps = std::move(steps);
    options.stop_gradients = stops_;
    options.allow_unconnected = true;
    return AddGradients(local_.graph.get(), ys, xs, options);
  }
  Output Gradient(const Output& y, const Output& x, std::vector<GradientStep> steps) {
    const Result<Gradients> gradients = Add({y}, {x}, std::move(steps));
    EXPECT_TRUE(gradients.ok()) << gradients.status().ToString();
    return gradients.ok() ? (*gradients)[0].values : Output();
  }
  double At(const Output& fetch, double x, int n = 0) {
    const Tensor feeds[] = {Tensor::Scalar(x), Tensor::Scalar<int32_t>(n)};
    Tensor out;
    const Status status =
        local_.session->Run(RunOptions(), {{x_, n_}, {fetch}, {}}, feeds, {&out, 1});
    EXPECT_TRUE(status.ok()) << status.ToString();
    return status.ok() ? out.scalar<double>() : NAN;
  }

  GraphSession local_;
  GraphBuilder b_{local_.b};
  int loops_ = 0;
  Values stops_;
  const Output x_ = b_.Op("Placeholder", {}, {{"dtype", DType::kDouble}, {"shape", Shape()}}, "x");
  const Output n_ = b_.Op("Placeholder", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}}, "n");
};

TEST_F(GradientStepsTest, TheFunctionIsAskedOnceWithTheSumsInsteadOfTheNodes) {
  const Output inner = b_.Op("Exp", {x_}), out = b_.Op("Log1p", {inner});
  const Output farther = b_.Op("Mul", {out, Number(4)});
  const Output y = b_.Op("AddN", {out, farther, inner}, {{"N", int64_t{3}}});
  int calls = 0;
  const GradientStep step{{x_}, {inner, out}, [&](const Gradients& grads, const GradientPlace&) {
                            ++calls;
                            GraphBuilder b = InScope();
                            const Output ten = b.Op("Mul", {grads[1].values, Number(10)});
                            return Gradients{{b.Op("Sub", {ten, grads[0].values}), {}, {}}};
                          }};
  const Output gradient = Gradient(y, x_, {step});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(At(gradient, 1000), 49);  // not a number by the nodes between
}

TEST_F(GradientStepsTest, OutputsThatNobodyReadsOrThatAreStoppedHaveNoGradient) {
  const Output a = b_.Op("Neg", {x_}), b = b_.Op("Square", {x_}), c = b_.Op("Exp", {x_});
  const Output y = b_.Op("AddV2", {a, c});
  Gradients given;
  const GradientStep step{{x_}, {a, b, c}, [&](const Gradients& grads, const GradientPlace&) {
                            given = grads;
                            return Gradients{grads[0]};
                          }};
  stops_ = {c};
  EXPECT_EQ(At(Gradient(y, x_, {step}), 3), 1);
  ASSERT_EQ(given.size(), 3u);
  EXPECT_TRUE(given[0].present());
  EXPECT_FALSE(given[1].present()) << "nobody reads it";
  EXPECT_FALSE(given[2].present()) << "it is stopped";
  given.clear();
  stops_ = {a, b, c};
  const Result<Gradients> stopped = Add({y}, {x_}, {step});
  ASSERT_TRUE(stopped.ok()) << stopped.status().ToString();
  EXPECT_FALSE((*stopped)[0].present());
  EXPECT_TRUE(given.empty()) << "nothing to ask for";
}

TEST_F(GradientStepsTest, AnIntegerBetweenIsNoEndInside) {
  GradientStep step;
  const auto cut = [&](const Output& v) {
    const Output whole = b_.Op("Cast", {v}, {{"DstT", DType::kInt32}});
    const Output out = b_.Op("Cast", {whole}, {{"DstT", DType::kDouble}});
    step = {{v}, {out}, [](const Gradients& grads, const GradientPlace&) { return grads; }};
    return out;
  };
  const Output once = cut(x_);
  EXPECT_EQ(At(Gradient(b_.Op("Mul", {once, once}), x_, {step}), 2.5), 4);
  const Output often = Repeat(b_, Number(1), n_, [&](Loop& loop, Output v) {
    return b_.Op("AddV2", {v, cut(loop.Invariant(x_))});
  });
  EXPECT_EQ(At(Gradient(often, x_, {step}), 2.5, 3), 3);
}

// It reads a value of each iteration, as if there were but one.
TEST_F(GradientStepsTest, InALoopItIsAskedOnceForAllIterations) {
  int calls = 0;
  GradientStep step;
  const Output y = Repeat(b_, x_, n_, [&](Loop&, Output v) {
    const Output squared = b_.Op("Square", {v});
    step = {{v}, {squared}, [&, v](const Gradients& grads, const GradientPlace&) {
              ++calls;
              GraphBuilder b = InScope();
              return Gradients{{b.Op("Mul", {grads[0].values, v}), {}, {}}};
            }};
    return squared;
  });
  const Output gradient = Gradient(y, x_, {step});
  EXPECT_EQ(calls, 1);
  EXPECT_DOUBLE_EQ(At(gradient, 1.1, 0), 1);
  EXPECT_DOUBLE_EQ(At(gradient, 1.1, 2), 1.1 * (1.1 * 1.1));  // half of each factor
  EXPECT_NEAR(At(gradient, 1.1, 3), std::pow(1.1, 7), 1e-12);
}

// In iteration k, dy times v, m times, where m is the loop's invariant and v the iteration's.
TEST_F(GradientStepsTest, AFunctionMayMakeLoopsOfItsOwnInALoop) {
  GradientStep step;
  Output times;
  const Output y = Repeat(b_, x_, n_, [&](Loop& loop, Output v) {
    times = loop.Invariant(b_.ScalarConst(DType::kInt32, 3));
    const Output squared = b_.Op("Square", {v});
    step = {{v}, {squared}, [&, v](const Gradients& grads, const GradientPlace&) {
              GraphBuilder b = InScope();
              const Output made = Repeat(b, grads[0].values, times, [&](Loop& inner, Output grad) {
                return b.Op("Mul", {grad, inner.Invariant(v)});
              });
              return Gradients{{b.Op("Neg", {made}), {}, {}}};
            }};
    return squared;
  });
  const Output gradient = Gradient(y, x_, {step});
  EXPECT_DOUBLE_EQ(At(gradient, 1.1, 1), -std::pow(1.1, 3));
  EXPECT_NEAR(At(gradient, 1.1, 2), std::pow(1.1, 3) * std::pow(1.1, 6), 1e-12);
}

// What a function asks of AddGradients itself, at the place that it was called with.
class GradientsWithinStepsTest : public GradientStepsTest {
 protected:
  Output Within(const GradientPlace& place, const Output& y, const Output& x, const Output& grad) {
    GradientOptions options;
    options.within = &place;
    options.grad_ys = {grad};
    options.scope = StrCat("gradients/step/", calls_++);
    options.allow_unconnected = true;
    const Result<Gradients> made = AddGradients(local_.graph.get(), {y}, {x}, options);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? (*made)[0].values : Output();
  }
  // The gradient of x, squared n times, when `function` gives that of a square of v.
  using Function = std::function<Output(const GradientPlace&, const Output& v, const Output& y,
                                        const Output& g)>;
  Output OfSquares(const Function& function, const std::function<Output(Loop&, Output)>& square) {
    GradientStep step;
    const Output y = Repeat(b_, x_, n_, [&](Loop& loop, Output v) {
      const Output in = b_.Op("Identity", {v}), out = square(loop, in);
      step = {{in}, {out}, [&, in, out](const Gradients& grads, const GradientPlace& place) {
                return Gradients{{function(place, in, out, grads[0].values), {}, {}}};
              }};
      return out;
    });
    return Gradient(y, x_, {step});
  }
  Output Squared(const Output& v) { return b_.Op("Square", {v}); }
  int calls_ = 0;
};

TEST_F(GradientsWithinStepsTest, OfAValueOfTheIteration) {
  const Output gradient = OfSquares([&](const GradientPlace& place, Output v, Output y,
                                        Output g) { return Within(place, y, v, g); },
                                    [&](Loop&, Output v) { return Squared(v); });
  EXPECT_NEAR(At(gradient, 1.1, 3), 8 * std::pow(1.1, 7), 1e-12);
}

TEST_F(GradientsWithinStepsTest, OfWhatTheFunctionMade) {
  const Output gradient = OfSquares(
      [&](const GradientPlace& place, Output v, Output, Output g) {
        GraphBuilder b = InScope();
        const Output copy = b.Op("Identity", {v}),
                     cube = b.Op("Mul", {b.Op("Square", {copy}), copy});
        return Within(place, cube, copy, g);
      },
      [&](Loop&, Output v) { return Squared(v); });
  const double first = 1.1, second = 1.1 * 1.1;
  EXPECT_NEAR(At(gradient, 1.1, 2), 3 * first * first * 3 * second * second, 1e-12);
}

// The derivative of the derivative: 6 v.
TEST_F(GradientsWithinStepsTest, OfGradientsAskedForBefore) {
  const Output gradient = OfSquares(
      [&](const GradientPlace& place, Output v, Output, Output g) {
        GraphBuilder b = InScope();
        const Output copy = b.Op("Identity", {v}),
                     cube = b.Op("Mul", {b.Op("Square", {copy}), copy});
        return Within(place, Within(place, cube, copy, g), copy, {});
      },
      [&](Loop&, Output v) { return Squared(v); });
  EXPECT_NEAR(At(gradient, 1.1, 2), 6 * 1.1 * 6 * 1.21, 1e-12);
}

// The square is made by a loop: its iterations are remembered across the loop around them.
TEST_F(GradientsWithinStepsTest, OfALoopInTheIteration) {
  const Output two = b_.ScalarConst(DType::kInt32, 2);
  const auto cube = [&](Loop& loop, Output v) {
    return Repeat(b_, v, loop.Invariant(two), [&](Loop& inner, Output w) {
      return b_.Op("Mul", {w, inner.Invariant(v)});
    });
  };
  const auto once = [&](const GradientPlace& place, Output v, Output y, Output g) {
    return Within(place, y, v, g);
  };
  const Output gradient = OfSquares(once, cube);
  EXPECT_NEAR(At(gradient, 1.1, 1), 3 * std::pow(1.1, 2), 1e-12);
  EXPECT_NEAR(At(gradient, 1.1, 2), 9 * std::pow(1.1, 8), 1e-12);
}

class LoopsOfFunctionsTest : public GradientsWithinStepsTest {
 protected:
  // The function makes g v^3 by a loop, and gives what `slope` makes of that.
  using Slope = std::function<Output(const GradientPlace&, const Output& made, const Output& v)>;
  Output OfCubes(const Slope& slope) {
    const Output three = b_.ScalarConst(DType::kInt32, 3);
    const auto function = [&](const GradientPlace& place, Output v, Output, Output g) {
      GraphBuilder b = InScope();
      const Output copy = b.Op("Identity", {v});
      const Output made = Repeat(b, g, three, [&](Loop& inner, Output w) {
        return b.Op("Mul", {w, inner.Invariant(copy)});
      });
      return slope(place, made, copy);
    };
    return OfSquares(function, [&](Loop&, Output v) { return Squared(v); });
  }
};

TEST_F(LoopsOfFunctionsTest, Once) {
  const Output gradient = OfCubes([&](const GradientPlace& place, Output made, Output v) {
    return Within(place, made, v, {});
  });
  EXPECT_NEAR(At(gradient, 1.1, 2), 3 * std::pow(1.1, 2) * 3 * std::pow(1.1, 4), 1e-12);
}

TEST_F(LoopsOfFunctionsTest, Twice) {
  const Output gradient = OfCubes([&](const GradientPlace& place, Output made, Output v) {
    return Within(place, Within(place, made, v, {}), v, {});
  });
  EXPECT_NEAR(At(gradient, 1.1, 2), 6 * 1.1 * 6 * 1.21, 1e-12);
}

TEST_F(GradientsWithinStepsTest, InAnotherGraphIsRefused) {
  GraphSession other;
  const Output far = other.b.Op("Neg", {other.b.ScalarConst(DType::kDouble, 1)});
  Status status;
  OfSquares(
      [&](const GradientPlace& place, Output, Output, Output g) {
        GradientOptions options;
        options.within = &place;
        status = AddGradients(other.graph.get(), {far}, {far}, options).status();
        return g;
      },
      [&](Loop&, Output v) { return Squared(v); });
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in another graph"));
}

TEST_F(GradientStepsTest, WhatIsNoStepIsRefused) {
  const Output y = b_.Op("Neg", {x_}), z = b_.Op("Exp", {y});
  const auto same = [](const Gradients& grads, const GradientPlace&) { return grads; };
  const auto refusal = [&](std::vector<GradientStep> steps) {
    const Status status = Add({z}, {x_}, std::move(steps)).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.ToString();
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({{{x_}, {}, same}}), HasSubstr("a step of gradients has no outputs"));
  EXPECT_THAT(refusal({{{{}}, {y}, same}}), HasSubstr("input of a step"));
  EXPECT_THAT(refusal({{{x_}, {{y.node, 1}}, same}}), HasSubstr("output of a step"));
  EXPECT_THAT(refusal({{{x_}, {y}, same}, {{y}, {z, y}, same}}),
              HasSubstr(StrCat("two steps of gradients end at '", y, "'")));
  EXPECT_THAT(refusal({{{x_, x_}, {y}, same}}), HasSubstr("gave 1 gradients for 2 inputs"));
  EXPECT_THAT(refusal({{{x_},
                        {y},
                        [](const Gradients&, const GradientPlace&) -> Result<Gradients> {
                          return InvalidArgument("of its own");
                        }}}),
              HasSubstr("of its own"));
  Output inside;
  Repeat(b_, x_, n_, [&](Loop&, Output v) { return inside = b_.Op("Neg", {v}); });
  for (const GradientStep& step : {GradientStep{{inside}, {z}, same}, {{y}, {z, inside}, same}}) {
    EXPECT_THAT(refusal({step}), HasSubstr(StrCat("belongs to one loop, but '", inside,
                                                  "' is not in that of '", z, "'")));
  }
}

}  // namespace
}  // namespace thalweg
