// SPDX-License-Identifier: Apache-2.0
// Model: a SavedModel, a MetaGraph with its checkpoint or a GraphDef, loaded and ready to run by
// the names of its signatures.
//
//   ASSIGN_OR_RETURN(std::shared_ptr<Model> model, Model::Load(environment, "/models/resnet", {}));
//   ASSIGN_OR_RETURN(const size_t serve, model->Find(kDefaultSignature));
//   std::vector<Tensor> inputs = {images}, outputs(model->signatures()[serve].outputs.size());
//   RETURN_IF_ERROR(model->Run(serve, {}, inputs, outputs));
//
// Loading reads files, runs the restore of the variables and what fills tables. A signature is
// compiled when it is first run.
// Ownership: owns its graph and session, shares the environment.
// Threads: all but Close from any thread at once.
// Errors: see README.md; those of a run name the signature and the input, then what was expected
// and found.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/mutex.h"
#include "thalweg/base/status.h"
#include "thalweg/model/model_files.h"
#include "thalweg/model/signature.h"
#include "thalweg/session/session.h"

namespace thalweg {

struct ModelOptions {
  std::vector<std::string> tags;  // of a SavedModel's graph; none: the only one, or for serving
  // False: to look at. Variables are not restored, tables not filled, nothing needs to be usable.
  bool restore = true;
  // Variables of 64 KiB and more are pages of their files, where they stand there as in memory:
  // shared with other processes, not read before they are used, their checksums unknown. The files
  // must stay as they are (others may take their names): a run ends with DataLoss where they do
  // not. False: all is read and checked, and the files may change or go.
  bool map_weights = false;
  // A device of the environment, "/device:CPU:1", for all nodes that have a kernel there; "": any.
  std::string device;
  // Timeout and cancellation of the restore and of the initialization.
  RunOptions run;
  // Devices that its functions ask for may not be here.
  SessionOptions session = {.placement = PlacementRule::kSoft};
};

class MappedFiles;

class Model {
 public:
  static Result<std::shared_ptr<Model>> Load(const std::shared_ptr<Environment>& environment,
                                             const std::string& path, const ModelOptions& options);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  ModelKind kind() const { return kind_; }
  const std::string& path() const { return path_; }
  const std::vector<std::string>& tags() const { return tags_; }
  // Sorted by name; also those that cannot be run.
  const std::vector<ModelSignature>& signatures() const { return signatures_; }
  // "" where all operations are known; else those that are not, with the nearest known ones.
  const std::string& unknown_operations() const { return unknown_operations_; }
  const std::shared_ptr<Graph>& graph() const { return graph_; }
  const std::shared_ptr<Session>& session() const { return session_; }

  // The place of a signature. "" is the default one: serving_default, or the only one. NotFound
  // with those that there are.
  Result<size_t> Find(std::string_view name) const;
  // The places of inputs by name. InvalidArgument names all that are missing, unknown or given
  // twice.
  Status Bind(size_t signature, std::span<const std::string_view> names,
              std::span<size_t> places) const;
  // Compiles it, unless that is done already.
  Status Prepare(size_t signature, const RunOptions& options) const;
  // inputs[i] is for signatures()[signature].inputs[i], an empty tensor for one that is left out.
  Status Run(size_t signature, const RunOptions& options, std::span<const Tensor> inputs,
             std::span<Tensor> outputs, RunMetadata* metadata = nullptr) const;
  // Any tensors of the graph, fed at any others: by names of the signature (where there is one), or
  // of tensors. Only what they need runs.
  Status Fetch(std::optional<size_t> signature, const RunOptions& options,
               std::span<const Session::NamedTensor> feeds, std::span<const std::string> fetches,
               std::span<Tensor> outputs) const;

 private:
  // Inputs that are left out change what is fed: each choice has a plan.
  struct Plan {
    std::vector<bool> left_out;
    std::shared_ptr<Callable> callable;
  };
  struct Prepared {
    std::atomic<Callable*> whole = nullptr;  // no input left out; in `plans`
    Mutex mutex;
    std::vector<Plan> plans GUARDED_BY(mutex);
    // Null where there is none yet.
    Callable* Find(const std::vector<bool>& left_out) const REQUIRES(mutex);
  };

  Model() = default;
  static Result<std::shared_ptr<Model>> LoadWith(std::shared_ptr<MappedFiles> mapped,
                                                 const std::shared_ptr<Environment>& environment,
                                                 const std::string& path,
                                                 const ModelOptions& options);
  std::string Label(size_t signature) const;
  // The error of a run, which begins with the path and the signature.
  Status Named(size_t signature, Status of_run) const;
  Status CheckInput(size_t signature, size_t i, const Tensor& value) const;
  Result<Callable*> PlanFor(size_t signature, const RunOptions& options,
                            const std::vector<bool>& left_out) const;
  Status RunWithout(size_t signature, const RunOptions& options, std::span<const Tensor> inputs,
                    std::span<Tensor> outputs, RunMetadata* metadata) const;

  ModelKind kind_ = ModelKind::kGraphDef;
  std::string path_;
  std::vector<std::string> tags_;
  std::string unknown_operations_;
  std::shared_ptr<Graph> graph_;
  std::shared_ptr<Session> session_;
  std::vector<ModelSignature> signatures_;
  mutable std::vector<Prepared> prepared_;
};

}  // namespace thalweg
