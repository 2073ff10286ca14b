// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "thalweg/api/handles.h"
#include "thalweg/training/saver.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwSaver {
  thalweg::Saver saver;
  // What tw_saver_kept points into.
  mutable std::vector<thalweg::KeptCheckpoint> listed{};
  mutable bool is_counted = false;  // tw_saver_num_kept told their number, and 0 was not asked yet
};

struct TwDifferences {
  thalweg::CheckpointDifferences found;
};

namespace {

constexpr bool IsSame(RestoreDifference::Kind kind, TwDifferenceKind number) {
  return static_cast<int>(kind) == static_cast<int>(number);
}
static_assert(IsSame(RestoreDifference::Kind::kMissing, TW_DIFFERENCE_MISSING));
static_assert(IsSame(RestoreDifference::Kind::kExtra, TW_DIFFERENCE_EXTRA));
static_assert(IsSame(RestoreDifference::Kind::kShape, TW_DIFFERENCE_SHAPE));
static_assert(IsSame(RestoreDifference::Kind::kType, TW_DIFFERENCE_TYPE));

Result<std::vector<SavedTensor>> TensorsOf(const TwSaverOptions& options) {
  const int32_t n = options.num_tensors;
  ASSIGN_OR_RETURN(const auto names, UnwrapTexts(options.tensor_names, n, "tensor name"));
  ASSIGN_OR_RETURN(const auto slices, UnwrapTexts(options.tensor_slices, n, "tensor slice"));
  ASSIGN_OR_RETURN(const auto values, UnwrapAll(options.tensors, n, "tensor"));
  std::vector<SavedTensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) tensors.push_back({names[i], slices[i], values[i]});
  return tensors;
}

TwSaverOptions StandardOptions() {
  const SaverOptions standard;
  TwSaverOptions options{};
  options.struct_size = sizeof(TwSaverOptions);
  options.max_to_keep = standard.max_to_keep;
  options.keep_checkpoint_every_n_hours = standard.keep_checkpoint_every_n_hours;
  return options;
}

Result<std::chrono::nanoseconds> SpanOf(double seconds) {
  constexpr double kMost = 1e9;
  if (!(seconds >= 0)) return InvalidArgument("a time to wait must be 0 s or more, got ", seconds);
  return std::chrono::nanoseconds(static_cast<int64_t>(std::min(seconds, kMost) * 1e9));
}

Result<SaverOptions> UnwrapOptions(Graph& graph, const TwSaverOptions& given) {
  SaverOptions wanted;
  wanted.max_to_keep = given.max_to_keep;
  wanted.keep_checkpoint_every_n_hours = given.keep_checkpoint_every_n_hours;
  wanted.keep_best = given.keep_best;
  wanted.best_is_greatest = given.best_is_greatest != 0;
  wanted.in_background = given.in_background != 0;
  if (given.patience_seconds != 0) {
    ASSIGN_OR_RETURN(wanted.patience, SpanOf(given.patience_seconds));
  }
  if (given.write_version != 0) wanted.write_version = given.write_version;
  if (given.scope != nullptr) wanted.scope = given.scope;
  if (given.site != nullptr) wanted.site = graph.InternSite(given.site);
  ASSIGN_OR_RETURN(wanted.tensors, TensorsOf(given));
  return wanted;
}

}  // namespace

extern "C" {

TwSaver* tw_saver_new(TwGraph* graph, const char* const* names, const TwOutput* variables,
                      int32_t n, const TwSaverOptions* options, TwStatus* status) {
  return GuardPointer<TwSaver>(status, [&]() -> Result<TwSaver*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    const TwSaverOptions given = CopyOptions(options, StandardOptions());
    ASSIGN_OR_RETURN(SaverOptions wanted, UnwrapOptions(*graph->graph, given));
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, UnwrapTexts(names, n, "name"));
    ASSIGN_OR_RETURN(const std::vector<Output> handles, UnwrapAll(variables, n, "variable"));
    std::vector<std::string> slices(handles.size());
    if (given.variable_slices != nullptr) {
      ASSIGN_OR_RETURN(slices, UnwrapTexts(given.variable_slices, n, "variable slice"));
    }
    std::vector<NamedVariable> named;
    for (size_t i = 0; i < handles.size(); ++i) named.push_back({texts[i], handles[i], slices[i]});
    ASSIGN_OR_RETURN(Saver saver, Saver::Create(graph->graph.get(), named, std::move(wanted)));
    return std::make_unique<TwSaver>(TwSaver{std::move(saver)}).release();
  });
}

TwSaver* tw_saver_of_nodes(TwGraph* graph, TwOutput filename, TwOutput save_tensor,
                           TwNode* restore_op, const TwSaverOptions* options, TwStatus* status) {
  return GuardPointer<TwSaver>(status, [&]() -> Result<TwSaver*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}, {"restore_op", restore_op}}));
    ASSIGN_OR_RETURN(SaverOptions wanted,
                     UnwrapOptions(*graph->graph, CopyOptions(options, StandardOptions())));
    ASSIGN_OR_RETURN(const Output file, UnwrapOutput(filename, "filename"));
    ASSIGN_OR_RETURN(const Output saved, UnwrapOutput(save_tensor, "save_tensor"));
    ASSIGN_OR_RETURN(Saver saver,
                     Saver::OfNodes(file, saved, Unwrap(restore_op), std::move(wanted)));
    return std::make_unique<TwSaver>(TwSaver{std::move(saver)}).release();
  });
}

int32_t tw_saver_num_kept(const TwSaver* saver) {
  if (saver == nullptr) return 0;
  saver->listed = saver->saver.kept();
  saver->is_counted = true;
  return static_cast<int32_t>(saver->listed.size());
}

const char* tw_saver_kept(const TwSaver* saver, int32_t i, double* saved_at) {
  if (saver == nullptr || i < 0) return nullptr;
  if (saver->listed.empty() || (i == 0 && !saver->is_counted)) saver->listed = saver->saver.kept();
  if (i == 0) saver->is_counted = false;
  if (static_cast<size_t>(i) >= saver->listed.size()) return nullptr;
  const KeptCheckpoint& kept = saver->listed[static_cast<size_t>(i)];
  if (saved_at != nullptr) *saved_at = kept.saved_at;
  return kept.path.c_str();
}

TwCode tw_saver_set_kept(TwSaver* saver, const char* const* paths, const double* saved_at,
                         int32_t n, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}}));
    RETURN_IF_ERROR(CheckArray(saved_at, n, "time"));
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, UnwrapTexts(paths, n, "path"));
    std::vector<KeptCheckpoint> kept;
    for (size_t i = 0; i < texts.size(); ++i) kept.push_back({texts[i], saved_at[i]});
    saver->saver.set_kept(std::move(kept));
    return OkStatus();
  });
}

TwCode tw_saver_set_state_file(TwSaver* saver, const char* name, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}, {"name", name}}));
    saver->saver.set_state_file(name);
    return OkStatus();
  });
}

void tw_saver_free(TwSaver* saver) { delete saver; }

TwBuffer* tw_saver_save(TwSaver* saver, TwSession* session, const char* path, int64_t global_step,
                        TwStatus* status) {
  TwSaveRequest request{};
  request.struct_size = sizeof request;
  request.path = path;
  request.global_step = global_step;
  return tw_saver_save_request(saver, session, &request, status);
}

TwBuffer* tw_saver_save_request(TwSaver* saver, TwSession* session, const TwSaveRequest* request,
                                TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    TwSaveRequest none{};
    none.global_step = -1;
    const TwSaveRequest given = CopyOptions(request, none);
    RETURN_IF_ERROR(RequireAll({{"saver", saver}, {"session", session}, {"path", given.path}}));
    SaveRequest wanted{.path = given.path};
    if (given.global_step >= 0) wanted.global_step = given.global_step;
    if (given.metric != nullptr) wanted.metric = *given.metric;
    if (given.suffix != nullptr) {
      if (given.contents_size > 0) RETURN_IF_ERROR(RequireAll({{"contents", given.contents}}));
      wanted.suffix = given.suffix;
      wanted.contents.assign(static_cast<const char*>(given.contents), given.contents_size);
    }
    ASSIGN_OR_RETURN(std::string written, saver->saver.Save(*session->session, std::move(wanted)));
    return NewBuffer(std::move(written));
  });
}

int32_t tw_saver_is_writing(const TwSaver* saver) {
  return saver != nullptr && saver->saver.is_writing() ? 1 : 0;
}

TwCode tw_saver_wait(TwSaver* saver, double seconds, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}}));
    if (seconds < 0) return saver->saver.Wait(saver->saver.patience());
    ASSIGN_OR_RETURN(const std::chrono::nanoseconds span, SpanOf(seconds));
    return saver->saver.Wait(span);
  });
}

TwDifferences* tw_saver_compare(TwSaver* saver, TwSession* restore_into, const char* path,
                                TwStatus* status) {
  return GuardPointer<TwDifferences>(status, [&]() -> Result<TwDifferences*> {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}, {"path", path}}));
    ASSIGN_OR_RETURN(CheckpointDifferences found,
                     restore_into == nullptr
                         ? saver->saver.Compare(path)
                         : saver->saver.RestorePart(*restore_into->session, path));
    return std::make_unique<TwDifferences>(TwDifferences{std::move(found)}).release();
  });
}

int32_t tw_differences_count(const TwDifferences* differences) {
  return differences == nullptr ? 0 : static_cast<int32_t>(differences->found.all.size());
}

TwCode tw_differences_at(const TwDifferences* differences, int32_t i, TwDifference* difference,
                         TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"differences", differences}, {"difference", difference}}));
    if (i < 0 || i >= tw_differences_count(differences)) {
      return InvalidArgument("there is no difference ", i, " of ",
                             tw_differences_count(differences));
    }
    const RestoreDifference& one = differences->found.all[static_cast<size_t>(i)];
    *difference = {static_cast<TwDifferenceKind>(one.kind), one.name.c_str(),
                   one.in_checkpoint.c_str(), one.in_graph.c_str()};
    return OkStatus();
  });
}

void tw_differences_free(TwDifferences* differences) { delete differences; }

TwCode tw_saver_restore(TwSaver* saver, TwSession* session, const char* path, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}, {"session", session}, {"path", path}}));
    return saver->saver.Restore(*session->session, path);
  });
}

TwBuffer* tw_latest_checkpoint(const char* directory, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"directory", directory}}));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(std::string path, LatestCheckpoint(fs, directory));
    return NewBuffer(std::move(path));
  });
}

TwBuffer* tw_best_checkpoint(const char* directory, const char* state_file, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"directory", directory}, {"state_file", state_file}}));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(std::string path, BestCheckpoint(fs, directory, state_file));
    return NewBuffer(std::move(path));
  });
}

TwCode tw_checkpoint_remove(const char* path, int32_t version, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"path", path}}));
    PosixFileSystem fs;
    return RemoveCheckpoint(fs, path, version == 1 ? CheckpointFormat::kV1 : CheckpointFormat::kV2);
  });
}

}  // extern "C"
