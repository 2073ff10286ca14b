// SPDX-License-Identifier: Apache-2.0
#include "top_table.h"

#include <array>
#include <cstdio>
#include <utility>
#include <vector>

namespace cli {
namespace {

constexpr double kShownSeconds = 1;  // of a step whose waits are told
constexpr std::array kHeads = {"task",     "state", "steps/s", "a step",  "open",
                               "oldest",   "waits", "in/s",    "out/s",   "tensors",
                               "resident", "cores", "parts/s", "failed/s"};

std::string RateText(const Json& row, const char* name) {
  if (!row.contains(name)) return "-";
  char text[40];
  const double rate = row.at(name).get<double>();
  std::snprintf(text, sizeof(text), rate < 9.95 ? "%.1f" : "%.0f", rate);
  return text;
}

std::string TrafficText(const Json& row, const char* name) {
  return row.contains(name) ? BytesText(row.at(name).get<double>()) : "-";
}

// Of what a task told last.
std::string Told(const Json& told, const char* name) {
  return told.contains(name) ? told.at(name).dump() : "-";
}
std::string ToldBytes(const Json& told, const char* name) {
  return told.contains(name) ? BytesText(told.at(name).get<double>()) : "-";
}

std::string OpenText(const Json& told) {
  if (!told.contains("steps")) return "-";
  return std::to_string(told.at("steps").at("open").get<uint64_t>() +
                        told.at("parts").at("open").get<uint64_t>());
}

double ToldSeconds(const Json& told) {
  const bool known = told.contains("oldest_step") && told.at("oldest_step").is_object();
  return known ? told.at("oldest_step").at("seconds").get<double>() : -1;
}

// The oldest may be another than the one whose words are told. Older servers tell that one alone.
double OldestSeconds(const Json& told) {
  const bool known = told.contains("oldest_seconds") && !told.at("oldest_seconds").is_null();
  return known ? told.at("oldest_seconds").get<double>() : ToldSeconds(told);
}

std::string StateText(const Json& row) {
  const std::string state = row.at("state").get<std::string>();
  if (state == "devices") return "up";
  return state == "gone" ? "gone " + DurationText(row.at("gone_seconds").get<double>()) : state;
}

std::string NameOf(const Json& row) {
  const std::string task = ShortTask(row.at("task").get<std::string>());
  return Plain(task.empty() ? row.at("target").get<std::string>() : task);
}

std::string Joined(const Json& texts) {
  std::string joined;
  for (const Json& text : texts) joined += (joined.empty() ? "" : "; ") + text.get<std::string>();
  return joined;
}

// What there is to say of a task beside its numbers; empty: nothing.
std::string Words(const Json& row) {
  const Json told = row.value("told", Json::object());
  if (row.at("state") == "gone") {
    return row.at("target").get<std::string>() + " has not answered for " +
           DurationText(row.at("gone_seconds").get<double>()) + ": " +
           row.at("error").get<std::string>();
  }
  if (told.contains("lacks")) return told.at("lacks").get<std::string>();
  if (ToldSeconds(told) < kShownSeconds) return "";
  const Json& step = told.at("oldest_step");
  std::string words = "a step is open for " + DurationText(ToldSeconds(told));
  if (!step.at("waits").empty()) words += ", waits: " + Joined(step.at("waits"));
  if (!step.at("runs").empty()) words += ", runs: " + Joined(step.at("runs"));
  return words;
}

struct Line {
  std::vector<std::string> cells;
  std::string words;  // below the table; empty: none
};

Line LineOf(const Json& row) {
  // What a task that is gone told last is not so any more.
  const bool gone = row.at("state") == "gone";
  const Json told = gone ? Json::object() : row.value("told", Json::object());
  const double oldest = OldestSeconds(told);
  const bool has_time = row.contains("seconds_per_step") && row.at("seconds_per_step").is_number();
  return {.cells = {NameOf(row), StateText(row), RateText(row, "steps_per_second"),
                    has_time ? DurationText(row.at("seconds_per_step").get<double>()) : "-",
                    OpenText(told), oldest < 0 ? "-" : DurationText(oldest),
                    Told(told, "waiting_values"), TrafficText(row, "received_per_second"),
                    TrafficText(row, "sent_per_second"), ToldBytes(told, "tensor_bytes"),
                    ToldBytes(told, "resident_bytes"), RateText(row, "processors"),
                    RateText(row, "parts_per_second"), RateText(row, "failed_per_second")},
          .words = Words(row)};
}

// Of a task that does not tell its numbers as a server does: the others are shown all the same.
Line LineOfBadAnswer(const Json& row, const Json::exception& why) {
  std::vector<std::string> cells(kHeads.size(), "-");
  cells[0] = NameOf(row);
  cells[1] = StateText(row);
  return {.cells = std::move(cells),
          .words = row.at("target").get<std::string>() +
                   " gives an answer that is none of a server: " + why.what()};
}

}  // namespace

std::string ShortTask(const std::string& task) {
  const std::string replica = "/replica:0";
  const size_t at = task.find(replica + "/");
  return at == std::string::npos ? task : task.substr(0, at) + task.substr(at + replica.size());
}

std::string TopTable(const Json& report) {
  TextTable table({kHeads.begin(), kHeads.end()});
  std::string words;
  for (const Json& row : report.at("tasks")) {
    Line line;
    try {
      line = LineOf(row);
    } catch (const Json::exception& e) {
      line = LineOfBadAnswer(row, e);
    }
    table.Add(std::move(line.cells));
    if (!line.words.empty()) words += "  " + NameOf(row) + ": " + Plain(line.words) + "\n";
  }
  return table.Text() + (words.empty() ? "" : "\n" + words);
}

std::string CutToScreen(const std::string& text, size_t columns, size_t lines) {
  std::string cut;
  size_t column = 0;
  for (const char c : text) {
    if (c == '\n') {
      if (--lines == 0) break;
      column = 0;
      cut += c;
      continue;
    }
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // a character in UTF-8
    if (begins) ++column;
    if (column <= columns) cut += c;
  }
  return cut;
}

}  // namespace cli
