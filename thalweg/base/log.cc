// SPDX-License-Identifier: Apache-2.0
#include "thalweg/base/log.h"

#include <cstdio>

namespace thalweg {

const char* LogLevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kNothing:
      break;
  }
  return "NOTHING";
}

void StandardErrorSink::Write(LogLevel level, std::string_view message) {
  const std::string line = StrCat("thalweg ", LogLevelName(level), ": ", message, "\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace thalweg
