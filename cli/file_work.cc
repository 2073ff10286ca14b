// SPDX-License-Identifier: Apache-2.0
#include "file_work.h"

#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "stop_signals.h"

namespace cli {
namespace {

volatile std::sig_atomic_t stopped_by = 0;
void Stop(int signal) { stopped_by = signal; }

// Whether a text begins as a number does, so that its column is one of numbers.
bool IsNumber(const std::string& text) {
  return text == "-" || (!text.empty() && text.find_first_of("0123456789") <= 1 &&
                         std::string("+-.0123456789").find(text[0]) != std::string::npos);
}

// Letters, not bytes.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

FileWork::FileWork(std::string verb)
    : verb_(std::move(verb)),
      is_terminal_(isatty(STDERR_FILENO) == 1),
      begin_(std::chrono::steady_clock::now()),
      next_(begin_ + std::chrono::milliseconds(500)) {
  stopped_by = 0;
  SetStopHandler(Stop);
}

FileWork::~FileWork() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  SetStopHandler(SIG_DFL);
  if (stopped_by != 0) std::raise(stopped_by);
}

Json FileWork::Get(const std::function<TwBuffer*(TwProgress, void*, TwStatus*)>& call) {
  return GetJson([&](TwStatus* status) { return call(&Tell, this, status); });
}

void FileWork::GoOn(uint64_t done, uint64_t total) {
  if (Tell(this, done, total) != 0) throw WorkError("the work was stopped");
}

int32_t FileWork::Tell(void* self, uint64_t done, uint64_t total) {
  auto* const work = static_cast<FileWork*>(self);
  if (work->is_terminal_) work->Show(done, total);
  return stopped_by != 0 ? 1 : 0;
}

void FileWork::Show(uint64_t done, uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  shown_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (done == 0 && total == 0) {  // of what no bytes are told
    std::fprintf(stderr, "\r\x1b[K%s: %.0f s", verb_.c_str(), seconds);
    return;
  }
  const double rate = static_cast<double>(done) / seconds;
  std::fprintf(stderr, "\r\x1b[K%s: %s", verb_.c_str(),
               BytesText(static_cast<double>(done)).c_str());
  if (total > 0) {
    const double left = static_cast<double>(total > done ? total - done : 0) / rate;
    std::fprintf(stderr, " of %s, %.0f %%, %s/s, %.0f s left",
                 BytesText(static_cast<double>(total)).c_str(),
                 100 * static_cast<double>(done) / static_cast<double>(total),
                 BytesText(rate).c_str(), left);
  } else {
    std::fprintf(stderr, ", %s/s", BytesText(rate).c_str());
  }
}

std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

std::string GetText(const std::function<TwBuffer*(TwStatus*)>& call) {
  const tw::internal::StatusHolder status;
  tw::Result<std::string> text = tw::internal::TextOf(call(status.c), status);
  if (!text.ok()) throw WorkError(text.status().message());
  return std::move(text.value());
}

std::string TextTable::Text() const {
  const size_t columns = rows_[0].size();
  std::vector<size_t> widths(columns);
  std::vector<bool> numbers(columns, rows_.size() > 1);
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t c = 0; c < columns; ++c) {
      widths[c] = std::max(widths[c], Width(rows_[r][c]));
      if (r > 0 && !IsNumber(rows_[r][c])) numbers[c] = false;
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t c = 0; c < columns; ++c) {
      const std::string fill(widths[c] - Width(row[c]), ' ');
      line += "  " + (numbers[c] ? fill + row[c] : row[c] + fill);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Plain(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

std::string BytesText(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  constexpr double kStep = 1000;
  for (; bytes >= kStep && unit + 1 < std::size(kUnits); ++unit) bytes /= kStep;
  char text[64];
  constexpr double kShort = 10;
  std::snprintf(text, sizeof(text), unit > 0 && bytes < kShort ? "%.1f %s" : "%.0f %s", bytes,
                kUnits[unit]);
  return text;
}

// Three digits.
std::string DurationText(double seconds) {
  constexpr const char* kUnits[] = {"ns", "us", "ms", "s"};
  double value = seconds * 1e9;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f %s", decimals, value, kUnits[unit]);
  return text;
}

std::string ShapeText(const Json& shape) {
  std::string text = "[";
  for (const Json& dim : shape) text += (text.size() > 1 ? "," : "") + dim.dump();
  return text + "]";
}

std::string NumberText(const Json& number) {
  if (number.is_null()) return "-";
  if (number.is_string()) return number.get<std::string>();  // NaN and infinities
  if (!number.is_number_float()) return number.dump();
  char text[64];
  std::snprintf(text, sizeof(text), "%.6g", number.get<double>());
  return text;
}

std::string ElementText(const Json& value, const std::string& dtype) {
  if (dtype != "string") return value.is_array() ? value.dump() : NumberText(value);
  constexpr size_t kMostShown = 80;
  std::string text = value.is_object() ? "b64 " + value.at("b64").dump() : value.dump();
  if (text.size() <= kMostShown) return text;
  size_t cut = kMostShown - 4;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  return text.substr(0, cut) + "...\"";
}

std::string Count(uint64_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

bool Matches(const std::string& name, const std::vector<std::string>& patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

void PrintJson(const Json& json) {
  // Words about what could not be read may hold a part of a character.
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
}

void PrintAudit(const Json& audit, bool as_json, const std::string& unit) {
  const auto damages = audit.at("damages").get<uint64_t>();
  if (as_json) {
    PrintJson(audit);
  } else {
    for (const Json& damage : audit.at("damage")) {
      std::string line = damage.at("file").get<std::string>();
      if (damage.contains("offset")) line += ", byte " + damage.at("offset").dump();
      line += ": " + damage.at("what").get<std::string>();
      if (damage.contains("expected")) {
        line += ": expected " + damage.at("expected").get<std::string>() + ", found " +
                damage.at("found").get<std::string>();
      }
      std::printf("%s\n", line.c_str());
    }
    const size_t listed = audit.at("damage").size();
    if (listed < damages)
      std::printf("... and %s more\n", std::to_string(damages - listed).c_str());
    std::printf("%s, %s, %s, %s: %s\n", Count(audit.at("files").size(), "file").c_str(),
                BytesText(audit.at("bytes").get<double>()).c_str(),
                Count(audit.at("records").get<uint64_t>(), unit).c_str(),
                Count(audit.at("checksums").get<uint64_t>(), "checksum").c_str(),
                damages == 0 ? "all well" : "damaged");
  }
  if (damages > 0) throw WorkError("damaged: " + Count(damages, "place"));
}

}  // namespace cli
