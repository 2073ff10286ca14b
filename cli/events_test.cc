// SPDX-License-Identifier: Apache-2.0
// `thalweg events` on what both releases wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "npy.h"
#include "test_command.h"

namespace cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EventsCommandTest : public CommandFolder {
 protected:
  static std::string Logs(const std::string& release) { return Golden("events/" + release); }
};

TEST_F(EventsCommandTest, ListsRunsAndTags) {
  ASSERT_EQ(Run("events ls " + Golden("events")), 0) << output;
  EXPECT_THAT(output, HasSubstr(": 2 runs, 4 files, "));
  EXPECT_THAT(output, HasSubstr("\n  1.15  loss "));
  EXPECT_THAT(output, HasSubstr("\n  2.21  y_hist "));
  ASSERT_EQ(Run("events ls --json --run 2.21 --tag loss " + Golden("events")), 0) << output;
  EXPECT_THAT(output, HasSubstr("\"tag\":\"loss\",\"kind\":\"scalar\""));
}

TEST_F(EventsCommandTest, ShowsScalars) {
  for (const char* release : {"1.15", "2.21"}) {
    ASSERT_EQ(Run("events show --tag loss " + Logs(release)), 0) << output;
    EXPECT_THAT(output, StartsWith(". loss\n  step "));
    ASSERT_EQ(Run("events show --csv --tag loss " + Logs(release)), 0) << output;
    EXPECT_THAT(output, StartsWith("run,tag,step,wall_time,value\n.,loss,0,"));
    ASSERT_EQ(Run("events show --plot --tag loss " + Logs(release)), 0) << output;
    EXPECT_THAT(output, HasSubstr("█"));
    EXPECT_THAT(output, HasSubstr(", last "));
  }
  EXPECT_EQ(Run("events show --tag nothing " + Logs("2.21")), 1);
  EXPECT_THAT(output, HasSubstr("there are no such scalars"));
}

TEST_F(EventsCommandTest, DamageAndGrowth) {
  ASSERT_EQ(Run("events verify " + Golden("events")), 0) << output;
  EXPECT_THAT(output, HasSubstr("4 files, "));
  EXPECT_THAT(output, HasSubstr("all well\n"));
  const std::string good = ReadFile(Logs("1.15") + "/events.out.tfevents.1.host");
  WriteFile(Path("events.out.tfevents.1"), good.substr(0, good.size() - 5));
  EXPECT_EQ(Run("events ls " + Path("")), 0) << output;
  EXPECT_THAT(output, EndsWith("(perhaps it is still written)\n"));
  std::string bad = good;
  bad[bad.size() - 5] ^= 1;
  WriteFile(Path("events.out.tfevents.1"), bad);
  EXPECT_EQ(Run("events ls " + Path("")), 1);
  EXPECT_THAT(output, HasSubstr("corrupted record at "));
  EXPECT_EQ(Run("events verify " + Path("")), 1);
  EXPECT_THAT(output, HasSubstr("expected crc32c "));
  EXPECT_EQ(Run("events ls " + Path("none")), 1);
  EXPECT_EQ(Run("events show --csv --plot " + Path("")), 2);
}

}  // namespace
}  // namespace cli
