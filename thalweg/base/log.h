// SPDX-License-Identifier: Apache-2.0
// Logger: where messages for people go. No globals: an environment owns a LogSink and hands Loggers
// down.
//
//   Logger log(&sink);
//   log.Warning("worker ", name, " has not answered for ", seconds, " s");
//
// A Logger is two words, copied freely; the sink outlives it. A default Logger drops everything.
// Parts of a message are put together only when the level is wanted.
// Ownership: a Logger points at its sink, which outlives it and its copies.
// Threads: a LogSink takes calls from many threads at once.
// Errors: none; a line that cannot be written is lost.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/base/str_cat.h"

namespace thalweg {

enum class LogLevel : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNothing = 4 };

// "DEBUG", "INFO", "WARNING", "ERROR".
const char* LogLevelName(LogLevel level);

class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Write(LogLevel level, std::string_view message) = 0;
};

// One line a message on standard error, written in one piece: "thalweg WARNING: ...".
class StandardErrorSink : public LogSink {
 public:
  void Write(LogLevel level, std::string_view message) override;
};

class Logger {
 public:
  Logger() = default;
  explicit Logger(LogSink* sink, LogLevel lowest = LogLevel::kWarning)
      : sink_(sink), lowest_(sink == nullptr ? LogLevel::kNothing : lowest) {}

  bool Wants(LogLevel level) const { return level >= lowest_ && level < LogLevel::kNothing; }

  template <class... Parts>
  void Log(LogLevel level, const Parts&... parts) const {
    if (Wants(level)) sink_->Write(level, StrCat(parts...));
  }
  template <class... Parts>
  void Debug(const Parts&... parts) const {
    Log(LogLevel::kDebug, parts...);
  }
  template <class... Parts>
  void Info(const Parts&... parts) const {
    Log(LogLevel::kInfo, parts...);
  }
  template <class... Parts>
  void Warning(const Parts&... parts) const {
    Log(LogLevel::kWarning, parts...);
  }
  template <class... Parts>
  void Error(const Parts&... parts) const {
    Log(LogLevel::kError, parts...);
  }

 private:
  LogSink* sink_ = nullptr;
  LogLevel lowest_ = LogLevel::kNothing;
};

}  // namespace thalweg
