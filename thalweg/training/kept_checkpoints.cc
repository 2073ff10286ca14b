// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/kept_checkpoints.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "thalweg/compute/text/numbers.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"

namespace thalweg {
namespace {

namespace cs = pb::CheckpointState;

constexpr std::string_view kGreatest = "# the best is the greatest\n";
constexpr std::string_view kLeast = "# the best is the least\n";

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string MetricsPath(const std::string& directory, const std::string& state_file) {
  return StrCat(directory, "/", state_file, ".metrics");
}

struct Metrics {
  bool best_is_greatest = false;
  std::map<std::string, double> values;  // by the name within the directory
};

// Lines that are none are passed over: a metric is a help, never a reason to fail.
Metrics ReadMetrics(FileSystem& fs, const std::string& path) {
  Metrics metrics;
  const Result<std::string> text = ReadFile(fs, path, {.max_bytes = 64 << 20});
  if (!text.ok()) return metrics;
  metrics.best_is_greatest = text->starts_with(kGreatest);
  for (size_t at = 0; at < text->size();) {
    const size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = std::string_view(*text).substr(at, end - at);
    at = end + 1;
    const size_t tab = line.find('\t');
    double value = 0;
    if (tab == line.npos || !compute::ParseNumber(line.substr(0, tab), &value)) continue;
    metrics.values[std::string(line.substr(tab + 1))] = value;
  }
  return metrics;
}

bool IsBetter(double a, double b, bool best_is_greatest) {
  return best_is_greatest ? a > b : a < b;
}

}  // namespace

KeptCheckpoints::KeptCheckpoints(RetentionOptions options) : options_(options) {
  state_.next_preserved = SecondsNow() + options.every_n_hours * 3600;
}

KeptCheckpoints::State KeptCheckpoints::Now() const {
  const MutexLock lock(mutex_);
  return state_;
}

void KeptCheckpoints::Put(State state) {
  const MutexLock lock(mutex_);
  std::swap(state_, state);
}

std::vector<KeptCheckpoint> KeptCheckpoints::list() const { return Now().list; }

void KeptCheckpoints::Set(FileSystem& fs, std::vector<KeptCheckpoint> list,
                          const std::string& state_file) {
  std::map<std::string, Metrics> known;  // by directory
  for (KeptCheckpoint& kept : list) {
    const std::string directory = ParentDirectory(kept.path);
    const auto [at, is_new] = known.try_emplace(directory);
    if (is_new) at->second = ReadMetrics(fs, MetricsPath(directory, state_file));
    const auto found = at->second.values.find(BaseName(kept.path));
    if (!kept.metric && found != at->second.values.end()) kept.metric = found->second;
  }
  const MutexLock alone(changing_);
  State state = Now();
  state.list = std::move(list);
  Put(std::move(state));
}

Status KeptCheckpoints::Add(FileSystem& fs, KeptCheckpoint added, const std::string& state_file) {
  const MutexLock alone(changing_);
  added.saved_at = SecondsNow();
  State all = Now();
  std::erase_if(all.list, [&](const KeptCheckpoint& kept) { return kept.path == added.path; });
  all.list.push_back(std::move(added));
  State left = all;
  const std::vector<KeptCheckpoint> superfluous = TakeSuperfluous(left);
  const Status written = Write(fs, left, state_file);
  Put(std::move(written.ok() ? left : all));
  RETURN_IF_ERROR(written);
  for (const KeptCheckpoint& old : superfluous) {
    RemoveCheckpoint(fs, old.path, options_.format).IgnoreError();
  }
  return OkStatus();
}

// Takes from the list what is neither among the newest nor the best; gives what of it is to be
// removed.
std::vector<KeptCheckpoint> KeptCheckpoints::TakeSuperfluous(State& state) const {
  std::vector<KeptCheckpoint>& list = state.list;
  if (options_.newest == 0) {
    list.erase(list.begin(), list.end() - 1);
    return {};
  }
  if (list.size() <= static_cast<size_t>(options_.newest)) return {};
  std::vector<const KeptCheckpoint*> ranked;
  for (const KeptCheckpoint& kept : list) {
    if (kept.metric && !std::isnan(*kept.metric)) ranked.push_back(&kept);
  }
  std::ranges::stable_sort(ranked, [&](const KeptCheckpoint* a, const KeptCheckpoint* b) {
    return IsBetter(*a->metric, *b->metric, options_.best_is_greatest);
  });
  if (ranked.size() > static_cast<size_t>(options_.best)) {
    ranked.resize(static_cast<size_t>(options_.best));
  }
  std::vector<KeptCheckpoint> stay, go;
  const size_t old = list.size() - static_cast<size_t>(options_.newest);
  for (size_t i = 0; i < list.size(); ++i) {
    if (i >= old || std::ranges::find(ranked, &list[i]) != ranked.end()) {
      stay.push_back(list[i]);
    } else if (list[i].saved_at > state.next_preserved) {
      state.next_preserved += options_.every_n_hours * 3600;
      state.last_preserved = list[i].saved_at;
    } else {
      go.push_back(list[i]);
    }
  }
  list = std::move(stay);
  return go;
}

// Paths are relative to the directory, so that it can be moved as a whole.
Status KeptCheckpoints::Write(FileSystem& fs, const State& state,
                              const std::string& state_file) const {
  const std::string& newest = state.list.back().path;
  const std::string directory = ParentDirectory(newest);
  OwnedMessage message(cs::Descriptor());
  message->SetString(cs::kModelCheckpointPath, BaseName(newest));
  std::vector<double> times;
  std::string metrics;
  for (const KeptCheckpoint& kept : state.list) {
    const bool beside = ParentDirectory(kept.path) == directory;
    message->AddString(cs::kAllModelCheckpointPaths, beside ? BaseName(kept.path) : kept.path);
    times.push_back(kept.saved_at);
    if (!kept.metric || !beside) continue;
    metrics += StrCat(*kept.metric, "\t", BaseName(kept.path), "\n");
  }
  message->Append<double>(cs::kAllModelCheckpointTimestamps, times);
  if (state.last_preserved > 0) {
    message->SetDouble(cs::kLastPreservedTimestamp, state.last_preserved);
  }
  ASSIGN_OR_RETURN(const std::string text, PrintText(*message));
  if (!metrics.empty()) {
    RETURN_IF_ERROR(
        WriteFileAtomically(fs, MetricsPath(directory, state_file),
                            StrCat(options_.best_is_greatest ? kGreatest : kLeast, metrics)));
  }
  return WriteFileAtomically(fs, StrCat(directory, "/", state_file), text);
}

Result<std::string> LatestCheckpoint(FileSystem& fs, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, directory + "/checkpoint"));
  Result<OwnedMessage> state = ParseText(cs::Descriptor(), text);
  if (!state.ok()) return state.status().WithContext(directory + "/checkpoint");
  const std::string name((*state)->GetString(cs::kModelCheckpointPath));
  if (name.empty()) return NotFound(directory, "/checkpoint names no checkpoint");
  return name.front() == '/' ? name : StrCat(directory, "/", name);
}

Result<std::string> BestCheckpoint(FileSystem& fs, const std::string& directory,
                                   const std::string& state_file) {
  const std::string path = MetricsPath(directory, state_file);
  const Metrics metrics = ReadMetrics(fs, path);
  std::optional<double> best;
  std::string found;
  for (const auto& [name, value] : metrics.values) {
    if (std::isnan(value) || (best && !IsBetter(value, *best, metrics.best_is_greatest))) continue;
    const std::string prefix = StrCat(directory, "/", name);
    ASSIGN_OR_RETURN(const bool is_v2, FileExists(fs, BundleIndexPath(prefix)));
    ASSIGN_OR_RETURN(const bool is_there, is_v2 ? true : FileExists(fs, prefix));
    if (!is_there) continue;
    best = value;
    found = prefix;
  }
  if (found.empty()) return NotFound(path, " names no checkpoint that is there");
  return found;
}

}  // namespace thalweg
