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

}  // namespace

extern "C" {

TwSaver* tw_saver_new(TwGraph* graph, const char* const* names, const TwOutput* variables,
                      int32_t n, const TwSaverOptions* options, TwStatus* status) {
  return GuardPointer<TwSaver>(status, [&]() -> Result<TwSaver*> {
    RETURN_IF_ERROR(RequireAll({{"graph", graph}}));
    SaverOptions wanted;
    TwSaverOptions standard{};
    standard.struct_size = sizeof(TwSaverOptions);
    standard.max_to_keep = wanted.max_to_keep;
    standard.keep_checkpoint_every_n_hours = wanted.keep_checkpoint_every_n_hours;
    const TwSaverOptions given = CopyOptions(options, standard);
    wanted.max_to_keep = given.max_to_keep;
    wanted.keep_checkpoint_every_n_hours = given.keep_checkpoint_every_n_hours;
    if (given.write_version != 0) wanted.write_version = given.write_version;
    if (given.scope != nullptr) wanted.scope = given.scope;
    if (given.site != nullptr) wanted.site = graph->graph->InternSite(given.site);
    ASSIGN_OR_RETURN(wanted.tensors, TensorsOf(given));
    ASSIGN_OR_RETURN(const std::vector<std::string> texts, UnwrapTexts(names, n, "name"));
    ASSIGN_OR_RETURN(const std::vector<Output> handles, UnwrapAll(variables, n, "variable"));
    std::vector<Saver::NamedVariable> named;
    for (size_t i = 0; i < handles.size(); ++i) named.emplace_back(texts[i], handles[i]);
    ASSIGN_OR_RETURN(Saver saver, Saver::Create(graph->graph.get(), named, std::move(wanted)));
    return std::make_unique<TwSaver>(TwSaver{std::move(saver)}).release();
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
