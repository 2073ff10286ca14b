// SPDX-License-Identifier: Apache-2.0
// Thalweg for C++: variables saved to checkpoints and restored.
// A part of thalweg.h, which programs include.
//
//   tw::Saver saver = tw::Saver::Create(g, {{"w", w}}).OrThrow();
//   std::string path = saver.Save(session, "/tmp/model", step).OrThrow();
//   saver.Restore(session, path).OrThrow();
//
// Ownership: unique; the graph must outlive it.
// Threads: one at a time.
// Errors: those of the files, with their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/c_api.h"
#include "thalweg/graph.h"
#include "thalweg/session.h"
#include "thalweg/tensor.h"

namespace tw {

// What a checkpoint calls a variable. Parts of one tensor have its name, and say where they are:
// {"table", part, "10 4 0,5:0,4"} is the first half of one of shape [10, 4].
struct SavedVariable {
  std::string name;
  Variable variable;
  std::string slice{};
};

struct SaverOptions {
  int max_to_keep = 5;            // the newest, 0: all
  int keep_best = 0;              // besides them, of those saved with a metric
  bool best_is_greatest = false;  // else the best metric is the least
  // Whether Save returns when it has the values, all of one moment, and a thread writes them. What
  // goes wrong there is the error of the next Save or Wait.
  bool in_background = false;
  double patience_seconds = 600;  // of Save and the destructor with what is still written
};

// In what a checkpoint differs from what a Saver restores of it.
struct CheckpointDifference {
  TwDifferenceKind kind;
  std::string name;
  std::string in_checkpoint;  // shape or type there; "" where it is missing
  std::string in_graph;
};

// Saves variables to checkpoints and restores them; keeps the newest few.
class Saver {
 public:
  static Result<Saver> Create(Graph& graph, const std::vector<SavedVariable>& variables,
                              int max_to_keep = 5) {
    SaverOptions options;
    options.max_to_keep = max_to_keep;
    return Create(graph, variables, options);
  }
  static Result<Saver> Create(Graph& graph, const std::vector<SavedVariable>& variables,
                              const SaverOptions& wanted) {
    std::vector<const char*> names, slices;
    std::vector<TwOutput> handles;
    for (const SavedVariable& saved : variables) {
      names.push_back(saved.name.c_str());
      slices.push_back(saved.slice.c_str());
      handles.push_back(saved.variable.handle.c());
    }
    if (!graph.status().ok()) return graph.status();
    TwSaverOptions options{};
    options.struct_size = sizeof(TwSaverOptions);
    options.max_to_keep = wanted.max_to_keep;
    options.keep_checkpoint_every_n_hours = 10000.0;
    options.keep_best = wanted.keep_best;
    options.best_is_greatest = wanted.best_is_greatest ? 1 : 0;
    options.in_background = wanted.in_background ? 1 : 0;
    options.patience_seconds = wanted.patience_seconds;
    options.variable_slices = slices.data();
    internal::StatusHolder status;
    TwSaver* made = tw_saver_new(graph.c(), names.data(), handles.data(),
                                 static_cast<int32_t>(handles.size()), &options, status.c);
    if (made == nullptr) return status.Take();
    return Saver(made);
  }
  // Writes PATH-STEP (PATH for a negative step) and returns its name. `metric`: how good the model
  // is, for keep_best.
  Result<std::string> Save(const Session& session, const std::string& path, int64_t step = -1,
                           std::optional<double> metric = std::nullopt) {
    TwSaveRequest request{};
    request.struct_size = sizeof(TwSaveRequest);
    request.path = path.c_str();
    request.global_step = step;
    request.metric = metric ? &*metric : nullptr;
    internal::StatusHolder status;
    return internal::TextOf(tw_saver_save_request(handle_.get(), session.c(), &request, status.c),
                            status);
  }
  Status Restore(const Session& session, const std::string& path) {
    internal::StatusHolder status;
    tw_saver_restore(handle_.get(), session.c(), path.c_str(), status.c);
    return status.Take();
  }
  // Restores what fits, and leaves the rest as it is; tells all that differs.
  Result<std::vector<CheckpointDifference>> RestorePart(const Session& session,
                                                        const std::string& path) {
    return Compare(session.c(), path);
  }
  // The same without restoring.
  Result<std::vector<CheckpointDifference>> Compare(const std::string& path) {
    return Compare(nullptr, path);
  }
  // Returns when nothing is written in the background any more; a negative time: the patience.
  Status Wait(double seconds = -1) {
    internal::StatusHolder status;
    tw_saver_wait(handle_.get(), seconds, status.c);
    return status.Take();
  }

 private:
  Result<std::vector<CheckpointDifference>> Compare(TwSession* session, const std::string& path) {
    internal::StatusHolder status;
    const internal::Handle<TwDifferences, &tw_differences_free> found(
        tw_saver_compare(handle_.get(), session, path.c_str(), status.c));
    if (found == nullptr) return status.Take();
    std::vector<CheckpointDifference> all;
    for (int32_t i = 0; i < tw_differences_count(found.get()); ++i) {
      TwDifference one{};
      tw_differences_at(found.get(), i, &one, status.c);
      all.push_back({one.kind, one.name, one.in_checkpoint, one.in_graph});
    }
    return all;
  }
  explicit Saver(TwSaver* adopted) : handle_(adopted) {}
  internal::Handle<TwSaver, &tw_saver_free> handle_;
};

}  // namespace tw
