// SPDX-License-Identifier: Apache-2.0
#include "thalweg/compute/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "thalweg/compute/test_work.h"

namespace thalweg::compute {
namespace {

struct State {
  double var, slot[3], grad;
};

constexpr double kLr = 0.125, kRho = 0.75, kMomentum = 0.5, kEpsilon = 0.0625, kBeta1 = 0.875,
                 kBeta2 = 0.96875;
constexpr double kPower1 = 0.765625, kPower2 = 0.9384765625;  // after two steps

UpdateScalars ScalarsOf(UpdateRule rule, DType dtype) {
  switch (rule) {
    case UpdateRule::kMomentum:
    case UpdateRule::kNesterov:
      return {{kLr, kMomentum}};
    case UpdateRule::kAdagradV2:
      return {{kLr, kEpsilon}};
    case UpdateRule::kAdadelta:
      return {{kLr, kRho, kEpsilon}};
    case UpdateRule::kRmsProp:
    case UpdateRule::kCenteredRmsProp:
      return {{kLr, kRho, kMomentum, kEpsilon}};
    case UpdateRule::kAdam:
    case UpdateRule::kAdamNesterov:
      return AdamScalars(dtype, kLr, kBeta1, kBeta2, kEpsilon, kPower1, kPower2);
    default:
      return {{kLr}};
  }
}

// The textbook formulas.
State Expected(UpdateRule rule, State s) {
  const double g = s.grad;
  double* k = s.slot;
  switch (rule) {
    case UpdateRule::kGradientDescent:
      s.var -= kLr * g;
      break;
    case UpdateRule::kMomentum:
      k[0] = kMomentum * k[0] + g;
      s.var -= kLr * k[0];
      break;
    case UpdateRule::kNesterov:
      k[0] = kMomentum * k[0] + g;
      s.var -= kLr * (g + kMomentum * k[0]);
      break;
    case UpdateRule::kAdagrad:
      k[0] += g * g;
      s.var -= kLr * g / std::sqrt(k[0]);
      break;
    case UpdateRule::kAdagradV2:
      k[0] += g * g;
      s.var -= kLr * g / (std::sqrt(k[0]) + kEpsilon);
      break;
    case UpdateRule::kAdadelta: {
      k[0] = kRho * k[0] + (1 - kRho) * g * g;
      const double step = std::sqrt(k[1] + kEpsilon) / std::sqrt(k[0] + kEpsilon) * g;
      k[1] = kRho * k[1] + (1 - kRho) * step * step;
      s.var -= kLr * step;
      break;
    }
    case UpdateRule::kRmsProp:
      k[0] = kRho * k[0] + (1 - kRho) * g * g;
      k[1] = kMomentum * k[1] + kLr * g / std::sqrt(k[0] + kEpsilon);
      s.var -= k[1];
      break;
    case UpdateRule::kCenteredRmsProp:
      k[0] = kRho * k[0] + (1 - kRho) * g * g;
      k[2] = kRho * k[2] + (1 - kRho) * g;
      k[1] = kMomentum * k[1] + kLr * g / std::sqrt(k[0] - k[2] * k[2] + kEpsilon);
      s.var -= k[1];
      break;
    case UpdateRule::kAdam:
    case UpdateRule::kAdamNesterov: {
      k[0] = kBeta1 * k[0] + (1 - kBeta1) * g;
      k[1] = kBeta2 * k[1] + (1 - kBeta2) * g * g;
      const double rate = kLr * std::sqrt(1 - kPower2) / (1 - kPower1);
      const double m = rule == UpdateRule::kAdam ? k[0] : kBeta1 * k[0] + (1 - kBeta1) * g;
      s.var -= rate * m / (std::sqrt(k[1]) + kEpsilon);
      break;
    }
    default:
      ADD_FAILURE() << "rule " << static_cast<int>(rule);
  }
  return s;
}

int SlotsOf(UpdateRule rule) {
  switch (rule) {
    case UpdateRule::kGradientDescent:
      return 0;
    case UpdateRule::kMomentum:
    case UpdateRule::kNesterov:
    case UpdateRule::kAdagrad:
    case UpdateRule::kAdagradV2:
      return 1;
    case UpdateRule::kCenteredRmsProp:
      return 3;
    default:
      return 2;
  }
}

template <class T>
struct Model {
  explicit Model(int64_t n)
      : var(RandomValues<T>(n, -1, 1, 1)),
        slots{RandomValues<T>(n, 1, 2, 2), RandomValues<T>(n, 0.5, 1, 3),
              RandomValues<T>(n, -0.5, 0.5, 4)} {}
  Update MakeUpdate(UpdateRule rule, const std::vector<T>& grad) {
    Update update{.rule = rule,
                  .var = var.data(),
                  .grad = grad.data(),
                  .scalars = ScalarsOf(rule, kDTypeOf<T>)};
    for (int k = 0; k < SlotsOf(rule); ++k) update.slots[k] = slots[k].data();
    return update;
  }
  State At(int64_t i, T grad) const {
    return {ToDouble(var[i]),
            {ToDouble(slots[0][i]), ToDouble(slots[1][i]), ToDouble(slots[2][i])},
            ToDouble(grad)};
  }
  std::vector<T> var;
  std::array<std::vector<T>, 3> slots;
};

template <class T>
void CheckDense(IsaLevel level, UpdateRule rule, int64_t n, double tolerance) {
  Model<T> model(n);
  const auto grad = RandomValues<T>(n, -1, 1, 5);
  const Model<T> before = model;
  TestWork work(level, 2);
  ASSERT_TRUE(RunUpdate(work, kDTypeOf<T>, n, model.MakeUpdate(rule, grad)).ok());
  for (int64_t i = 0; i < n; ++i) {
    const State expected = Expected(rule, before.At(i, grad[i]));
    const State actual = model.At(i, grad[i]);
    ASSERT_NEAR(actual.var, expected.var, tolerance) << "rule " << static_cast<int>(rule);
    for (int k = 0; k < 3; ++k) {
      const double value = k < SlotsOf(rule) ? expected.slot[k] : ToDouble(before.slots[k][i]);
      ASSERT_NEAR(actual.slot[k], value, tolerance)
          << "rule " << static_cast<int>(rule) << " slot " << k;
    }
  }
}

TEST(OptimizerTest, EveryRuleAtEveryLevel) {
  for (int rule = 0; rule < kUpdateRules; ++rule) {
    for (IsaLevel level : TestLevels()) {
      for (int64_t n : {0, 1, 37, 4000}) {
        CheckDense<float>(level, static_cast<UpdateRule>(rule), n, 2e-6);
        CheckDense<double>(level, static_cast<UpdateRule>(rule), n, 1e-14);
      }
    }
    CheckDense<Half>(BestIsaLevel(), static_cast<UpdateRule>(rule), 700, 4e-3);
    CheckDense<Bfloat16>(BestIsaLevel(), static_cast<UpdateRule>(rule), 700, 3e-2);
  }
}

TEST(OptimizerTest, SparseRowsInOrderAlsoWhenTheyRepeat) {
  constexpr int64_t kInner = 70;
  const std::vector<int64_t> indices = {4, 1, 4};
  for (int rule = 0; rule < kUpdateRules; ++rule) {
    Model<float> model(6 * kInner);
    const auto grad = RandomValues(3 * kInner, -1, 1, 5);
    std::vector<State> expected;
    for (int64_t i = 0; i < 6 * kInner; ++i) expected.push_back(model.At(i, 0));
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t i = 0; i < kInner; ++i) {
        State& s = expected[static_cast<size_t>(indices[r] * kInner + i)];
        s.grad = grad[r * kInner + i];
        s = Expected(static_cast<UpdateRule>(rule), s);
      }
    }
    TestWork work(BestIsaLevel(), 2);
    const Update update = model.MakeUpdate(static_cast<UpdateRule>(rule), grad);
    ASSERT_TRUE(RunSparseUpdate(work, DType::kFloat, {indices.data(), 3, kInner}, update).ok());
    for (int64_t i = 0; i < 6 * kInner; ++i)
      ASSERT_NEAR(model.var[i], expected[i].var, 4e-6) << "rule " << rule;
  }
}

// Four steps of the variable `b` of tests/golden/graphs/1.15/train_NAME_ref: gradients follow from
// the recorded state before each step (in double), values are those that TensorFlow 1.15 recorded
// after it.
struct GoldenStep {
  float grad[2], after[2];
};
struct Golden {
  const char* name;
  UpdateRule rule;
  float slots[3];
  UpdateScalars scalars;
  GoldenStep steps[4];
};
const Golden kGoldens[] = {
    {"sgd",
     UpdateRule::kGradientDescent,
     {},
     {{0.1f}},
     {{{-1.25801844f, -0.238800163f}, {-0.623027503f, -0.561634243f}},
      {{-1.09229555f, -0.212976712f}, {-0.513797939f, -0.540336549f}},
      {{-0.94919933f, -0.190181399f}, {-0.418878019f, -0.521318436f}},
      {{-0.825582346f, -0.17003237f}, {-0.336319774f, -0.504315197f}}}},
    {"momentum",
     UpdateRule::kMomentum,
     {0},
     {{0.1f, 0.9f}},
     {{{-1.25801844f, -0.238800163f}, {-0.623027503f, -0.561634243f}},
      {{-1.09229554f, -0.212976712f}, {-0.400576293f, -0.518844545f}},
      {{-0.800048741f, -0.166940287f}, {-0.120365322f, -0.463639796f}},
      {{-0.433773628f, -0.10808381f}, {0.175201923f, -0.403147161f}}}},
    {"nesterov",
     UpdateRule::kNesterov,
     {0},
     {{0.1f, 0.9f}},
     {{{-1.25801844f, -0.238800163f}, {-0.509805858f, -0.540142238f}},
      {{-0.943144969f, -0.189735606f}, {-0.228708833f, -0.484749675f}},
      {{-0.575718251f, -0.130685725f}, {0.0487819016f, -0.427142262f}},
      {{-0.217218392f, -0.0704432387f}, {0.287980378f, -0.373673111f}}}},
    {"adagrad",
     UpdateRule::kAdagrad,
     {0.1f},
     {{0.1f}},
     {{{-1.25801844f, -0.238800163f}, {-0.651846468f, -0.525251389f}},
      {{-1.08443882f, -0.173471047f}, {-0.587706745f, -0.485149056f}},
      {{-0.966250324f, -0.131694448f}, {-0.53808856f, -0.456024319f}},
      {{-0.873942217f, -0.102363649f}, {-0.497144639f, -0.433944881f}}}},
    {"adadelta",
     UpdateRule::kAdadelta,
     {0, 0},
     {{0.5f, 0.95f, 1e-8f}},
     {{{-1.25801844f, -0.238800163f}, {-0.748605788f, -0.58529067f}},
      {{-1.25757012f, -0.238566107f}, {-0.74837935f, -0.585064352f}},
      {{-1.25711609f, -0.238329191f}, {-0.748151064f, -0.584836245f}},
      {{-1.25665834f, -0.238090422f}, {-0.747921348f, -0.584606826f}}}},
    {"rmsprop",
     UpdateRule::kRmsProp,
     {1, 0},
     {{0.05f, 0.9f, 0.5f, 1e-10f}},
     {{{-1.25801844f, -0.238800163f}, {-0.687684417f, -0.572968066f}},
      {{-1.17606213f, -0.225231216f}, {-0.600808084f, -0.554260194f}},
      {{-1.05869801f, -0.205065223f}, {-0.506754637f, -0.53300631f}},
      {{-0.930855642f, -0.182284188f}, {-0.414754927f, -0.511256814f}}}},
    {"rmsprop_centered",
     UpdateRule::kCenteredRmsProp,
     {1, 0, 0},
     {{0.05f, 0.9f, 0, 1e-10f}},
     {{{-1.25801844f, -0.238800163f}, {-0.687222004f, -0.572964132f}},
      {{-1.17557725f, -0.225227126f}, {-0.629511714f, -0.560514867f}},
      {{-1.0977147f, -0.211830627f}, {-0.574661016f, -0.548193932f}},
      {{-1.02336014f, -0.19864254f}, {-0.522052765f, -0.53603071f}}}},
    {"adam",
     UpdateRule::kAdam,
     {0, 0},
     {},
     {{{-1.25801844f, -0.238800163f}, {-0.698829353f, -0.535514295f}},
      {{-1.15775934f, -0.186456219f}, {-0.648980618f, -0.486207545f}},
      {{-1.05783224f, -0.134973184f}, {-0.599404514f, -0.438390017f}},
      {{-0.958510878f, -0.0853782641f}, {-0.550239503f, -0.393208653f}}}},
};

TEST(OptimizerTest, FollowsTensorFlowsRecordedSteps) {
  for (const Golden& golden : kGoldens) {
    std::vector<float> var = {-0.7488293647766113f, -0.58551424741745f};
    std::vector<float> slots[3];
    for (int k = 0; k < 3; ++k) slots[k].assign(2, golden.slots[k]);
    float power1 = 0.9f, power2 = 0.999f;
    TestWork work;
    for (const GoldenStep& step : golden.steps) {
      Update update{
          .rule = golden.rule, .var = var.data(), .grad = step.grad, .scalars = golden.scalars};
      for (int k = 0; k < SlotsOf(golden.rule); ++k) update.slots[k] = slots[k].data();
      if (golden.rule == UpdateRule::kAdam) {
        update.scalars = AdamScalars(DType::kFloat, 0.05f, 0.9f, 0.999f, 1e-8f, power1, power2);
      }
      ASSERT_TRUE(RunUpdate(work, DType::kFloat, 2, update).ok());
      for (int i = 0; i < 2; ++i) EXPECT_NEAR(var[i], step.after[i], 3e-7) << golden.name;
      power1 *= 0.9f;
      power2 *= 0.999f;
    }
  }
}

TEST(OptimizerTest, OtherTypesAndRulesAreUnimplemented) {
  TestWork work;
  EXPECT_EQ(RunUpdate(work, DType::kInt32, 1, {.rule = UpdateRule::kGradientDescent}).code(),
            Code::kUnimplemented);
  EXPECT_EQ(RunUpdate(work, DType::kFloat, 1, {.rule = UpdateRule::kAdaMax}).code(),
            Code::kUnimplemented);
  EXPECT_EQ(RunSparseUpdate(work, DType::kFloat, {}, {.rule = UpdateRule::kKerasNesterov}).code(),
            Code::kUnimplemented);
}

}  // namespace
}  // namespace thalweg::compute
