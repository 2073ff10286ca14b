// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/kept_checkpoints.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>

#include "thalweg/io/bundle_writer.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"

namespace thalweg {
namespace {

namespace State = pb::CheckpointState;

constexpr std::string_view kGreatest = "# the best is the greatest\n";
constexpr std::string_view kLeast = "# the best is the least\n";

double Now() {
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
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    char* rest = nullptr;
    const double value = std::strtod(line.c_str(), &rest);
    if (rest != line.c_str() && *rest == '\t') metrics.values[rest + 1] = value;
  }
  return metrics;
}

bool IsBetter(double a, double b, bool best_is_greatest) {
  return best_is_greatest ? a > b : a < b;
}

}  // namespace

KeptCheckpoints::KeptCheckpoints(RetentionOptions options)
    : options_(options), next_preserved_(Now() + options.every_n_hours * 3600) {}

std::vector<KeptCheckpoint> KeptCheckpoints::list() const {
  const MutexLock lock(mutex_);
  return list_;
}

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
  const MutexLock lock(mutex_);
  list_ = std::move(list);
}

Status KeptCheckpoints::Add(FileSystem& fs, KeptCheckpoint added, const std::string& state_file) {
  const MutexLock lock(mutex_);
  added.saved_at = Now();
  const std::string path = added.path;
  std::erase_if(list_, [&](const KeptCheckpoint& kept) { return kept.path == path; });
  list_.push_back(std::move(added));
  const std::vector<KeptCheckpoint> superfluous = TakeSuperfluous();
  RETURN_IF_ERROR(WriteState(fs, path, state_file));
  if (options_.newest == 0) return OkStatus();
  for (const KeptCheckpoint& old : superfluous) {
    RemoveCheckpoint(fs, old.path, options_.format).IgnoreError();
  }
  return OkStatus();
}

// Takes from the list what is neither among the newest nor the best; gives what of it is to be
// removed.
std::vector<KeptCheckpoint> KeptCheckpoints::TakeSuperfluous() {
  if (options_.newest == 0) {
    list_.erase(list_.begin(), list_.end() - 1);
    return {};
  }
  if (list_.size() <= static_cast<size_t>(options_.newest)) return {};
  std::vector<const KeptCheckpoint*> ranked;
  for (const KeptCheckpoint& kept : list_) {
    if (kept.metric && !std::isnan(*kept.metric)) ranked.push_back(&kept);
  }
  std::ranges::stable_sort(ranked, [&](const KeptCheckpoint* a, const KeptCheckpoint* b) {
    return IsBetter(*a->metric, *b->metric, options_.best_is_greatest);
  });
  if (ranked.size() > static_cast<size_t>(options_.best)) {
    ranked.resize(static_cast<size_t>(options_.best));
  }
  std::vector<KeptCheckpoint> stay, go;
  const size_t old = list_.size() - static_cast<size_t>(options_.newest);
  for (size_t i = 0; i < list_.size(); ++i) {
    if (i >= old || std::ranges::find(ranked, &list_[i]) != ranked.end()) {
      stay.push_back(list_[i]);
    } else if (list_[i].saved_at > next_preserved_) {
      next_preserved_ += options_.every_n_hours * 3600;
      last_preserved_ = list_[i].saved_at;
    } else {
      go.push_back(list_[i]);
    }
  }
  list_ = std::move(stay);
  return go;
}

// Paths are relative to the directory, so that it can be moved as a whole.
Status KeptCheckpoints::WriteState(FileSystem& fs, const std::string& newest,
                                   const std::string& state_file) {
  const std::string directory = ParentDirectory(newest);
  OwnedMessage state(State::Descriptor());
  state->SetString(State::kModelCheckpointPath, BaseName(newest));
  std::vector<double> times;
  std::string metrics;
  for (const KeptCheckpoint& kept : list_) {
    const bool beside = ParentDirectory(kept.path) == directory;
    state->AddString(State::kAllModelCheckpointPaths, beside ? BaseName(kept.path) : kept.path);
    times.push_back(kept.saved_at);
    if (!kept.metric || !beside) continue;
    char value[40];
    std::snprintf(value, sizeof(value), "%.17g\t", *kept.metric);
    metrics += StrCat(value, BaseName(kept.path), "\n");
  }
  state->Append<double>(State::kAllModelCheckpointTimestamps, times);
  if (last_preserved_ > 0) state->SetDouble(State::kLastPreservedTimestamp, last_preserved_);
  ASSIGN_OR_RETURN(const std::string text, PrintText(*state));
  if (!metrics.empty()) {
    RETURN_IF_ERROR(
        WriteFileAtomically(fs, MetricsPath(directory, state_file),
                            StrCat(options_.best_is_greatest ? kGreatest : kLeast, metrics)));
  }
  return WriteFileAtomically(fs, StrCat(directory, "/", state_file), text);
}

Result<std::string> LatestCheckpoint(FileSystem& fs, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, directory + "/checkpoint"));
  Result<OwnedMessage> state = ParseText(State::Descriptor(), text);
  if (!state.ok()) return state.status().WithContext(directory + "/checkpoint");
  const std::string name((*state)->GetString(State::kModelCheckpointPath));
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
