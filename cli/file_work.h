// SPDX-License-Identifier: Apache-2.0
// What the verbs that look into files share: the library's JSON, progress, text for people.
//
//   FileWork work("verifying");
//   const Json audit = work.Get([&](TwProgress tell, void* context, TwStatus* status) {
//     return tw_checkpoint_verify(path, tell, context, status);
//   });
//   TextTable table({"name", "bytes"});
//   table.Add({"w", "12"});
//   std::puts(table.Text().c_str());
//
// Ownership: one FileWork at a time; it holds SIGINT and SIGTERM back until the library has cleaned
// up, then the process ends by that signal.
// Threads: one.
// Errors: WorkError with the library's message.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "thalweg/thalweg.h"

namespace cli {

using Json = nlohmann::ordered_json;

// The work failed, or what was asked is not so: exit status 1.
struct WorkError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class FileWork {
 public:
  // What progress on a terminal is called.
  explicit FileWork(std::string verb);
  FileWork(const FileWork&) = delete;
  FileWork& operator=(const FileWork&) = delete;
  ~FileWork();

  Json Get(const std::function<TwBuffer*(TwProgress, void*, TwStatus*)>& call);
  // For work that is none of the library's: shows progress; WorkError where a signal has come.
  void GoOn(uint64_t done, uint64_t total);

 private:
  static int32_t Tell(void* self, uint64_t done, uint64_t total);
  void Show(uint64_t done, uint64_t total);

  const std::string verb_;
  const bool is_terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point next_;
};

// For a call of the library; they live as long as the texts.
std::vector<const char*> Pointers(const std::vector<std::string>& texts);

// What a call without progress gives.
std::string GetText(const std::function<TwBuffer*(TwStatus*)>& call);
inline Json GetJson(const std::function<TwBuffer*(TwStatus*)>& call) {
  return Json::parse(GetText(call));
}

// Columns beside each other; those of numbers are right-aligned.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string BytesText(double bytes);         // "1.5 MB"
std::string DurationText(double seconds);    // "1.25 ms"
std::string ShapeText(const Json& shape);    // "[2,3]"
std::string NumberText(const Json& number);  // as it is, or "-"
// A value of a tensor of this type; long texts are cut.
std::string ElementText(const Json& value, const std::string& dtype);
std::string Count(uint64_t n, const std::string& one);  // "1 tensor", "2 tensors"
std::string Plain(std::string text);  // of a server: no commands to the terminal, one line
bool Matches(const std::string& name, const std::vector<std::string>& patterns);  // none: all
void PrintJson(const Json& json);
// What an audit found, as lines; WorkError where there is damage.
void PrintAudit(const Json& audit, bool as_json, const std::string& unit);

}  // namespace cli
