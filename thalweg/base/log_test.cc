// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/log.h"

#include <gtest/gtest.h>

#include <string>

namespace thalweg {
namespace {

class CollectingSink : public LogSink {
 public:
  void Write(LogLevel level, std::string_view message) override {
    text += StrCat(LogLevelName(level), " ", message, "\n");
  }
  std::string text;
};

struct Exploding {
  std::string ToString() const {
    ADD_FAILURE() << "a message that nobody wants was put together";
    return "";
  }
};

TEST(LoggerTest, DropsWhatIsBelowTheLevel) {
  CollectingSink sink;
  const Logger log(&sink);
  log.Info(Exploding());
  log.Warning("three is ", 3);
  log.Error("bad");
  EXPECT_EQ(sink.text, "WARNING three is 3\nERROR bad\n");
}

TEST(LoggerTest, DefaultIsSilent) {
  Logger().Error(Exploding());
  Logger(nullptr, LogLevel::kDebug).Error(Exploding());
}

TEST(StandardErrorSinkTest, WritesOneLine) {
  StandardErrorSink sink;
  ::testing::internal::CaptureStderr();
  Logger(&sink).Warning("w");
  Logger(&sink).Info("i");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "thalweg WARNING: w\n");
}

}  // namespace
}  // namespace thalweg
