// SPDX-License-Identifier: Apache-2.0
#include "thalweg/api/handles.h"
#include "thalweg/training/saver.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwSaver {
  thalweg::Saver saver;
};

namespace {

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

Result<SaverOptions> UnwrapOptions(Graph& graph, const TwSaverOptions& given) {
  SaverOptions wanted;
  wanted.max_to_keep = given.max_to_keep;
  wanted.keep_checkpoint_every_n_hours = given.keep_checkpoint_every_n_hours;
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
  return saver == nullptr ? 0 : static_cast<int32_t>(saver->saver.kept().size());
}

const char* tw_saver_kept(const TwSaver* saver, int32_t i, double* saved_at) {
  if (i < 0 || i >= tw_saver_num_kept(saver)) return nullptr;
  const KeptCheckpoint& kept = saver->saver.kept()[static_cast<size_t>(i)];
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
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"saver", saver}, {"session", session}, {"path", path}}));
    const std::optional<int64_t> step = global_step < 0 ? std::nullopt : std::optional(global_step);
    ASSIGN_OR_RETURN(std::string written, saver->saver.Save(*session->session, path, step));
    return NewBuffer(std::move(written));
  });
}

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

}  // extern "C"
