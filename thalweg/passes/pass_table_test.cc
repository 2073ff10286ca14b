// SPDX-License-Identifier: Apache-2.0
#include "thalweg/passes/pass_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace thalweg {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> On(std::string_view words) {
  const Result<PassSet> set = PassSet::Parse(words);
  EXPECT_TRUE(set.ok()) << set.status().ToString();
  std::vector<std::string> names;
  for (const Pass& pass : PassTable()) {
    if (set.ok() && set->Has(pass.name)) names.emplace_back(pass.name);
  }
  return names;
}

// The passes that run where nobody says, without the rewrites, or with them.
std::vector<std::string> Names(bool rewrites) {
  std::vector<std::string> names;
  for (const Pass& pass : PassTable()) {
    if (pass.is_on && (rewrites || !pass.is_rewrite)) names.emplace_back(pass.name);
  }
  return names;
}

TEST(PassTableTest, EveryPassHasANameAndAWordForMessages) {
  std::set<std::string_view> names = {"all", "none", "rewrites"};
  for (const Pass& pass : PassTable()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_EQ(pass.name.find_first_of("+-, "), std::string_view::npos) << pass.name;
    EXPECT_FALSE(pass.does.empty()) << pass.name;
  }
}

TEST(PassSetTest, WordsSwitchPassesOffAndOn) {
  EXPECT_EQ(On(""), Names(true));
  EXPECT_EQ(On("all"), Names(true));
  EXPECT_THAT(On("all"), Not(Contains("check_numerics")));
  EXPECT_THAT(On("+check_numerics,cse"), Contains("check_numerics"));
  EXPECT_THAT(On("+check_numerics,none"), IsEmpty());
  EXPECT_THAT(On("none"), IsEmpty());
  EXPECT_THAT(On("-all"), IsEmpty());
  EXPECT_THAT(On("none, cse,+prune"), ElementsAre("cse", "prune"));
  EXPECT_EQ(On("-rewrites"), Names(false));
  EXPECT_THAT(On("none,rewrites"), Not(Contains("cse")));
  EXPECT_THAT(On(""), Contains("cse"));
  EXPECT_EQ(On("-cse").size(), On("").size() - 1);
}

TEST(PassSetTest, TheLastWordCounts) {
  EXPECT_EQ(On("-cse,cse"), On(""));
  EXPECT_THAT(On("cse,none"), IsEmpty());
  EXPECT_EQ(On(" ,, -cse ,"), On("-cse"));
}

TEST(PassSetTest, AWordThatIsNoneIsAnErrorThatNamesThem) {
  const Status status = PassSet::Parse("-cse,-join_product").status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'join_product'"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("nearest: 'join_products'"));
  for (const Pass& pass : PassTable()) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(pass.name));
  }
  EXPECT_FALSE(PassSet::Parse("--cse").ok());
}

}  // namespace
}  // namespace thalweg
