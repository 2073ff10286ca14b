// SPDX-License-Identifier: Apache-2.0
#include "thalweg/session/plan_cache.h"

#include <gtest/gtest.h>

#include "thalweg/session/session_fixture.h"

namespace thalweg {
namespace {

std::shared_ptr<StepPlan> PlanOf(const Output& fetch) {
  auto plan = std::make_shared<StepPlan>();
  plan->signature.fetches = {fetch};
  return plan;
}

TEST(PlanCacheTest, ForgetsTheLeastRecentlyUsed) {
  SessionFixture f;
  const auto a = PlanOf(f.Float(1)), b = PlanOf(f.Float(2)), c = PlanOf(f.Float(3));
  PlanCache cache(2);
  cache.Insert(a);
  cache.Insert(b);
  EXPECT_EQ(cache.Find(a->signature), a);  // now b was used longest ago
  cache.Insert(c);
  EXPECT_EQ(cache.Find(a->signature), a);
  EXPECT_EQ(cache.Find(b->signature), nullptr);
  EXPECT_EQ(cache.Find(c->signature), c);
  cache.Clear();
  EXPECT_EQ(cache.Find(a->signature), nullptr);
}

TEST(PlanCacheTest, NamesForgetByThemselves) {
  SessionFixture f;
  const auto plan = PlanOf(f.Float(1));
  const std::vector<std::string> a{"a:0"}, b{"b:0"}, c{"c:0"};
  PlanCache cache(2);
  cache.Insert(plan);
  cache.Insert({.fetches = a}, plan);
  cache.Insert({.fetches = b}, plan);
  EXPECT_EQ(cache.Find({.fetches = a}), plan);
  EXPECT_EQ(cache.Find({.targets = a}), nullptr);  // the same words, asked for otherwise
  cache.Insert({.fetches = c}, plan);
  EXPECT_EQ(cache.Find({.fetches = b}), nullptr);
  EXPECT_EQ(cache.Find({.fetches = c}), plan);
  EXPECT_EQ(cache.Find(plan->signature), plan);
}

}  // namespace
}  // namespace thalweg
