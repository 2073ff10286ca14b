// SPDX-License-Identifier: Apache-2.0
#include "cluster_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cli {
namespace {

// The target of another address, reached as this one is.
std::string TargetAt(const std::string& like, const std::string& address) {
  const size_t scheme = like.find("://");
  const size_t options = like.find('?');
  return (scheme == std::string::npos ? "grpc://" : like.substr(0, scheme + 3)) + address +
         (options == std::string::npos ? "" : like.substr(options));
}

double NumberOf(const Json& told, const char* name) {
  return told.at(Json::json_pointer(name)).get<double>();
}

// By how much a number has risen in a second; it never falls while a process lives.
class Rates {
 public:
  Rates(const Json& before, const Json& last)
      : before_(before),
        last_(last),
        seconds_(NumberOf(last, "/uptime_seconds") - NumberOf(before, "/uptime_seconds")) {}
  double seconds() const { return seconds_; }
  double Rise(const char* name) const { return NumberOf(last_, name) - NumberOf(before_, name); }
  double Of(const char* name) const { return Rise(name) / seconds_; }

 private:
  const Json& before_;
  const Json& last_;
  const double seconds_;
};

// Another process is another life, and what is there only now was not there before.
bool AreOfOneProcess(const Json& before, const Json& last) {
  return before.contains("uptime_seconds") && last.contains("uptime_seconds") &&
         before.at("pid") == last.at("pid") &&
         NumberOf(last, "/uptime_seconds") > NumberOf(before, "/uptime_seconds");
}

void AddRates(const Json& before, const Json& last, Json* row) {
  const Rates rates(before, last);
  (*row)["interval_seconds"] = rates.seconds();
  (*row)["steps_per_second"] = rates.Of("/steps/done") + rates.Of("/steps/failed");
  (*row)["failed_per_second"] = rates.Of("/steps/failed") + rates.Of("/parts/failed");
  (*row)["parts_per_second"] = rates.Of("/parts/done") + rates.Of("/parts/failed");
  const double steps = rates.Rise("/steps/done") + rates.Rise("/steps/failed");
  (*row)["seconds_per_step"] =
      steps > 0 ? Json(rates.Rise("/steps/seconds") / steps) : Json(nullptr);
  (*row)["sent_per_second"] = rates.Of("/channel_sent_bytes") + rates.Of("/call_sent_bytes");
  (*row)["received_per_second"] =
      rates.Of("/channel_received_bytes") + rates.Of("/call_received_bytes");
  (*row)["processors"] = rates.Of("/processor_seconds");
}

}  // namespace

ClusterWatch::ClusterWatch(const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    if (std::ranges::none_of(rows_, [&](const Row& row) { return row.target == target; }))
      rows_.push_back({.target = target, .task = {}, .last = {}, .before = {}, .error = {}});
  }
}

void ClusterWatch::Begin() {
  for (Row& row : rows_) row.asked = false;
}

std::vector<std::string> ClusterWatch::Unasked() const {
  std::vector<std::string> targets;
  for (const Row& row : rows_) {
    if (!row.asked) targets.push_back(row.target);
  }
  return targets;
}

void ClusterWatch::Take(const std::string& target, const TaskAnswer& answer, double now) {
  const auto row = std::ranges::find(rows_, target, &Row::target);
  if (row == rows_.end()) return;
  row->asked = true;
  std::string error = answer.error;
  if (!answer.told.is_null()) {
    try {
      Row heard = *row;
      heard.task = answer.told.at("task").get<std::string>();
      heard.before = std::move(heard.last);
      heard.last = answer.told;
      heard.error.clear();
      if (heard.before.is_object() && !AreOfOneProcess(heard.before, heard.last))
        heard.before = nullptr;
      (void)RowOf(heard, now);  // what cannot be shown is no answer
      // What is malformed throws before anything has changed.
      std::vector<Row> met = Met(heard);
      *row = std::move(heard);
      std::ranges::move(met, std::back_inserter(rows_));  // `row` is not valid after this
      return;
    } catch (const Json::exception& e) {
      error = std::string("its answer is none of a server: ") + e.what();
    }
  }
  if (row->error.empty()) row->since = now;
  row->error = std::move(error);
}

std::vector<ClusterWatch::Row> ClusterWatch::Met(const Row& by) const {
  std::vector<Row> met;
  for (const Json& other : by.last.value("others", Json::array())) {
    const std::string task = other.at("task").get<std::string>();
    const std::string target = TargetAt(by.target, other.at("address").get<std::string>());
    const auto is_it = [&](const Row& row) { return row.target == target || row.task == task; };
    if (is_it(by) || std::ranges::any_of(rows_, is_it) || std::ranges::any_of(met, is_it)) continue;
    met.push_back({.target = target, .task = task, .last = {}, .before = {}, .error = {}});
  }
  return met;
}

bool ClusterWatch::any_answers() const {
  return std::ranges::any_of(rows_, [](const Row& row) { return row.asked && row.error.empty(); });
}

Json ClusterWatch::RowOf(const Row& row, double now) {
  Json json = {{"task", row.task}, {"target", row.target}};
  if (!row.error.empty()) {
    json["state"] = "gone";
    json["gone_seconds"] = now - row.since;
    json["error"] = row.error;
  } else if (row.last.contains("lacks")) {
    json["state"] = "devices";
  } else {
    json["state"] = "up";
  }
  if (row.error.empty() && row.before.is_object()) AddRates(row.before, row.last, &json);
  if (row.last.is_object()) json["told"] = row.last;
  return json;
}

Json ClusterWatch::Report(double now) const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) rows.push_back(&row);
  std::ranges::stable_sort(rows, [](const Row* a, const Row* b) { return a->task < b->task; });
  Json tasks = Json::array();
  for (const Row* row : rows) tasks.push_back(RowOf(*row, now));
  return {{"tasks", std::move(tasks)}};
}

}  // namespace cli
