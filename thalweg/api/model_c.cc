// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that load and run models.
#include <string_view>

#include "thalweg/api/handles.h"
#include "thalweg/model/convert.h"
#include "thalweg/model/costs.h"
#include "thalweg/model/description.h"
#include "thalweg/model/model.h"
#include "thalweg/model/placement.h"
#include "thalweg/model/verification.h"
#include "thalweg/model/weights.h"
#include "thalweg/proto/json_writer.h"
#include "thalweg/proto/wire.h"
#include "thalweg/session/run_metadata_message.h"
#include "thalweg/tensor/inlined_tensors.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwModel {
  std::shared_ptr<Model> model;
  std::string tags;
  // What the borrowed handles are.
  TwGraph graph;
  TwSession session;
  std::vector<std::string> unusable;  // by signature
};

namespace {

Result<size_t> SignatureAt(const TwModel* model, int32_t i) {
  RETURN_IF_ERROR(RequireAll({{"model", model}}));
  const size_t count = model->model->signatures().size();
  if (i < 0 || static_cast<size_t>(i) >= count) {
    return InvalidArgument("there is no signature ", i, " of ", count);
  }
  return static_cast<size_t>(i);
}

Status TensorAt(const std::vector<ModelTensor>& tensors, int32_t i, TwModelTensor* to) {
  RETURN_IF_ERROR(RequireAll({{"tensor", to}}));
  if (i < 0 || static_cast<size_t>(i) >= tensors.size()) {
    return InvalidArgument("there is no tensor ", i, " of ", tensors.size());
  }
  const ModelTensor& tensor = tensors[static_cast<size_t>(i)];
  *to = {tensor.name.c_str(), tensor.tensor.c_str(),      static_cast<TwDataType>(tensor.dtype),
         tensor.shape.rank(), tensor.shape.dims().data(), tensor.is_optional ? 1 : 0};
  return OkStatus();
}

const RunOptions& OptionsFor(const TwRunOptions* options) {
  static const RunOptions none;
  return options == nullptr ? none : options->options;
}

// Runs with `inputs`, one for each input of the signature.
Status RunSignature(const Model& model, size_t signature, const TwRunOptions* options,
                    std::span<const Tensor> inputs, TwTensor** results, TwBuffer** metadata) {
  const size_t count = model.signatures()[signature].outputs.size();
  RETURN_IF_ERROR(CheckArray(results, static_cast<int64_t>(count), "result"));
  InlinedTensors fetched(count);
  if (metadata == nullptr) {
    RETURN_IF_ERROR(model.Run(signature, OptionsFor(options), inputs, fetched.span()));
  } else {
    RunMetadata filled;
    RETURN_IF_ERROR(model.Run(signature, OptionsFor(options), inputs, fetched.span(), &filled));
    ASSIGN_OR_RETURN(std::string message, RunMetadataMessage(std::move(filled)));
    *metadata = NewBuffer(std::move(message));
  }
  for (size_t i = 0; i < count; ++i) results[i] = NewTensor(std::move(fetched.span()[i]));
  return OkStatus();
}

Result<TwModel*> LoadModel(TwEnvironment* environment, const char* path,
                           const TwModelOptions* options) {
  RETURN_IF_ERROR(RequireAll({{"environment", environment}, {"path", path}}));
  TwModelOptions none{};
  none.struct_size = sizeof none;
  const TwModelOptions given = CopyOptions(options, none);
  ModelOptions wanted;
  ASSIGN_OR_RETURN(wanted.tags, UnwrapTexts(given.tags, given.num_tags, "tag"));
  wanted.restore = given.without_weights == 0;
  wanted.run = OptionsFor(given.run_options);
  wanted.map_weights = given.map_weights != 0;
  if (given.passes != nullptr) wanted.session.passes = given.passes;
  if (given.device != nullptr) wanted.device = given.device;
  ASSIGN_OR_RETURN(const std::shared_ptr<Model> model,
                   Model::Load(EnvironmentOf(environment), path, wanted));
  std::string tags;
  for (const std::string& tag : model->tags()) tags += (tags.empty() ? "" : ",") + tag;
  std::vector<std::string> unusable;
  for (const ModelSignature& one : model->signatures()) {
    unusable.emplace_back(one.usable.message());
  }
  return std::make_unique<TwModel>(TwModel{model, std::move(tags),
                                           TwGraph{EnvironmentOf(environment), model->graph(), {}},
                                           TwSession{model->session()}, std::move(unusable)})
      .release();
}

Result<std::string> SavedModelFacts(const ModelFiles& files) {
  ASSIGN_OR_RETURN(const std::string initializer, InitializerOf(files));
  ASSIGN_OR_RETURN(const std::vector<AssetFile> assets, AssetsOf(files));
  JsonWriter json;
  json.BeginObject().Key("has_variables").Bool(!files.checkpoint.empty());
  json.Key("initializer").Text(initializer).Key("assets").BeginObject();
  for (const AssetFile& asset : assets) json.Key(asset.tensor).Text(asset.file);
  json.EndObject().EndObject();
  return json.Take();
}

Result<CostOptions> CostOptionsOf(const TwCostOptions* options) {
  TwCostOptions none{};
  none.struct_size = sizeof none;
  const TwCostOptions given = CopyOptions(options, none);
  CostOptions wanted;
  if (given.batch < 0) return InvalidArgument("a batch cannot have ", given.batch, " rows");
  if (given.batch > 0) wanted.batch = given.batch;
  ASSIGN_OR_RETURN(const std::vector<std::string> names,
                   UnwrapTexts(given.inputs, given.num_inputs, "input"));
  RETURN_IF_ERROR(CheckArray(given.dims, given.num_inputs, "dims"));
  RETURN_IF_ERROR(CheckArray(given.ranks, given.num_inputs, "rank"));
  for (size_t i = 0; i < names.size(); ++i) {
    RETURN_IF_ERROR(CheckArray(given.dims[i], given.ranks[i], "dimension"));
    ASSIGN_OR_RETURN(wanted.shapes[names[i]],
                     PartialShape::Make({given.dims[i], static_cast<size_t>(given.ranks[i])}));
  }
  return wanted;
}

Result<PlacementMethod> PlacementMethodOf(std::string_view word) {
  if (word == "preferred") return PlacementMethod::kPreferred;
  if (word == "cost") return PlacementMethod::kGreedy;
  if (word == "search") return PlacementMethod::kSearched;
  return InvalidArgument("expected preferred, cost or search, got '", word, "'");
}

Result<PlacementQuestion> PlacementQuestionOf(const TwPlacementOptions* options) {
  TwPlacementOptions none{};
  none.struct_size = sizeof none;
  const TwPlacementOptions given = CopyOptions(options, none);
  PlacementQuestion question;
  ASSIGN_OR_RETURN(question.inputs, CostOptionsOf(given.inputs));
  if (given.method != nullptr) {
    ASSIGN_OR_RETURN(question.method, PlacementMethodOf(given.method));
  }
  ASSIGN_OR_RETURN(question.devices, UnwrapTexts(given.devices, given.num_devices, "device"));
  ASSIGN_OR_RETURN(question.nodes, UnwrapTexts(given.nodes, given.num_nodes, "node"));
  return question;
}

Result<NamedValues> NamedValuesOf(const char* const* names, TwTensor* const* values, int32_t n) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, UnwrapTexts(names, n, "name"));
  RETURN_IF_ERROR(CheckArray(values, n, "value"));
  NamedValues made;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (values[i] == nullptr) {
      return InvalidArgument("the value of '", texts[i], "' is no tensor");
    }
    made.emplace_back(texts[i], values[i]->tensor);
  }
  return made;
}

}  // namespace

extern "C" {

TwModel* tw_model_load(TwEnvironment* environment, const char* path, const TwModelOptions* options,
                       TwStatus* status) {
  return GuardPointer<TwModel>(status, [&] { return LoadModel(environment, path, options); });
}

void tw_model_free(TwModel* model) { delete model; }

const char* tw_model_kind(const TwModel* model) {
  return model == nullptr ? "" : ModelKindName(model->model->kind()).data();
}

const char* tw_model_tags(const TwModel* model) {
  return model == nullptr ? "" : model->tags.c_str();
}

const char* tw_model_unknown_operations(const TwModel* model) {
  return model == nullptr ? "" : model->model->unknown_operations().c_str();
}

TwBuffer* tw_model_describe(const TwModel* model, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"model", model}}));
    ASSIGN_OR_RETURN(std::string json, DescribeModel(*model->model));
    return NewBuffer(std::move(json));
  });
}

TwGraph* tw_model_graph(TwModel* model) { return model == nullptr ? nullptr : &model->graph; }

TwSession* tw_model_session(TwModel* model) { return model == nullptr ? nullptr : &model->session; }

int32_t tw_model_num_signatures(const TwModel* model) {
  return model == nullptr ? 0 : static_cast<int32_t>(model->model->signatures().size());
}

TwCode tw_model_signature(const TwModel* model, int32_t i, TwModelSignature* signature,
                          TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"signature", signature}}));
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, i));
    const ModelSignature& one = model->model->signatures()[place];
    *signature = {one.name.c_str(), one.method.c_str(), static_cast<int32_t>(one.inputs.size()),
                  static_cast<int32_t>(one.outputs.size()), model->unusable[place].c_str()};
    return OkStatus();
  });
}

int32_t tw_model_find_signature(const TwModel* model, const char* name, TwStatus* status) {
  int32_t place = -1;
  Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"model", model}}));
    ASSIGN_OR_RETURN(const size_t found, model->model->Find(name == nullptr ? "" : name));
    place = static_cast<int32_t>(found);
    return OkStatus();
  });
  return place;
}

TwCode tw_model_input(const TwModel* model, int32_t signature, int32_t i, TwModelTensor* tensor,
                      TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    return TensorAt(model->model->signatures()[place].inputs, i, tensor);
  });
}

TwCode tw_model_output(const TwModel* model, int32_t signature, int32_t i, TwModelTensor* tensor,
                       TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    return TensorAt(model->model->signatures()[place].outputs, i, tensor);
  });
}

TwCode tw_model_prepare(const TwModel* model, int32_t signature, const TwRunOptions* options,
                        TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    return model->model->Prepare(place, OptionsFor(options));
  });
}

TwCode tw_model_run(const TwModel* model, int32_t signature, const TwRunOptions* options,
                    TwTensor* const* inputs, TwTensor** results, TwBuffer** metadata,
                    TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    const size_t count = model->model->signatures()[place].inputs.size();
    RETURN_IF_ERROR(CheckArray(inputs, static_cast<int64_t>(count), "input"));
    InlinedTensors values(count);
    for (size_t i = 0; i < count; ++i) {
      if (inputs[i] != nullptr) values.span()[i] = inputs[i]->tensor;
    }
    return RunSignature(*model->model, place, options, values.span(), results, metadata);
  });
}

TwCode tw_model_run_names(const TwModel* model, int32_t signature, const TwRunOptions* options,
                          const char* const* names, TwTensor* const* values, int32_t n,
                          TwTensor** results, TwBuffer** metadata, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    ASSIGN_OR_RETURN(const std::vector<std::string> given, UnwrapTexts(names, n, "name"));
    RETURN_IF_ERROR(CheckArray(values, n, "value"));
    const std::vector<std::string_view> texts(given.begin(), given.end());
    std::vector<size_t> places(given.size());
    RETURN_IF_ERROR(model->model->Bind(place, texts, places));
    InlinedTensors inputs(model->model->signatures()[place].inputs.size());
    for (size_t i = 0; i < places.size(); ++i) {
      if (values[i] == nullptr)
        return InvalidArgument("the value of '", given[i], "' is no tensor");
      inputs.span()[places[i]] = values[i]->tensor;
    }
    return RunSignature(*model->model, place, options, inputs.span(), results, metadata);
  });
}

TwCode tw_model_convert(const TwModel* model, int32_t signature, const char* out,
                        const TwConvertOptions* options, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    RETURN_IF_ERROR(RequireAll({{"out", out}}));
    TwConvertOptions none{};
    none.struct_size = sizeof none;
    const TwConvertOptions given = CopyOptions(options, none);
    return ConvertModel(*model->model, place, out,
                        {.saved_model = given.saved_model != 0,
                         .fold_batch_norms = given.keep_batch_norms == 0,
                         .run = OptionsFor(given.run_options)});
  });
}

TwBuffer* tw_model_costs(const TwModel* model, int32_t signature, const TwCostOptions* options,
                         TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    ASSIGN_OR_RETURN(const CostOptions wanted, CostOptionsOf(options));
    ASSIGN_OR_RETURN(std::string json, DescribeCosts(*model->model, place, wanted));
    return NewBuffer(std::move(json));
  });
}

TwBuffer* tw_model_placement(const TwModel* model, int32_t signature,
                             const TwPlacementOptions* options, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    ASSIGN_OR_RETURN(const PlacementQuestion question, PlacementQuestionOf(options));
    ASSIGN_OR_RETURN(std::string json, DescribePlacement(*model->model, place, question));
    return NewBuffer(std::move(json));
  });
}

TwBuffer* tw_model_recordable(const TwModel* model, int32_t signature, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    JsonWriter json;
    json.BeginList();
    for (const Output& value : RecordableValues(*model->model, place)) {
      json.Text(StrCat(value.node->name(), ":", value.index));
    }
    json.EndList();
    return NewBuffer(json.Take());
  });
}

TwBuffer* tw_model_verify(const TwModel* model, int32_t signature, const char* const* input_names,
                          TwTensor* const* inputs, int32_t num_inputs,
                          const char* const* value_names, TwTensor* const* values,
                          int32_t num_values, const TwVerifyOptions* options, TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    ASSIGN_OR_RETURN(const size_t place, SignatureAt(model, signature));
    RecordedStep recorded;
    ASSIGN_OR_RETURN(recorded.inputs, NamedValuesOf(input_names, inputs, num_inputs));
    ASSIGN_OR_RETURN(recorded.values, NamedValuesOf(value_names, values, num_values));
    TwVerifyOptions none{};
    none.struct_size = sizeof none;
    const TwVerifyOptions given = CopyOptions(options, none);
    ASSIGN_OR_RETURN(const Verification found,
                     VerifyModel(*model->model, place, recorded,
                                 {.atol = given.atol, .rtol = given.rtol, .progress = {}},
                                 OptionsFor(given.run_options)));
    return NewBuffer(VerificationJson(found));
  });
}

TwCode tw_saved_model_read(const char* path, const char* const* tags, int32_t num_tags,
                           TwBuffer** meta_graph, TwBuffer** facts, TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"path", path}, {"meta_graph", meta_graph}, {"facts", facts}}));
    ASSIGN_OR_RETURN(const std::vector<std::string> wanted, UnwrapTexts(tags, num_tags, "tag"));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(const ModelFiles files, ReadModelFiles(fs, path, wanted));
    if (files.kind != ModelKind::kSavedModel) {
      return InvalidArgument(path, ": expected a SavedModel, found a ", ModelKindName(files.kind));
    }
    ASSIGN_OR_RETURN(std::string json, SavedModelFacts(files));
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*files.meta_graph));
    *meta_graph = NewBuffer(std::move(bytes));
    *facts = NewBuffer(std::move(json));
    return OkStatus();
  });
}

TwCode tw_model_fetch(const TwModel* model, int32_t signature, const TwRunOptions* options,
                      const char* const* feed_names, TwTensor* const* feeds, int32_t num_feeds,
                      const char* const* fetch_names, int32_t num_fetches, TwTensor** results,
                      TwStatus* status) {
  return Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"model", model}}));
    std::optional<size_t> place;
    if (signature != -1) {
      ASSIGN_OR_RETURN(place, SignatureAt(model, signature));
    }
    ASSIGN_OR_RETURN(const NamedValues fed, NamedValuesOf(feed_names, feeds, num_feeds));
    ASSIGN_OR_RETURN(const std::vector<std::string> wanted,
                     UnwrapTexts(fetch_names, num_fetches, "fetch"));
    RETURN_IF_ERROR(CheckArray(results, num_fetches, "result"));
    std::vector<Tensor> fetched(wanted.size());
    RETURN_IF_ERROR(model->model->Fetch(place, OptionsFor(options), fed, wanted, fetched));
    for (size_t i = 0; i < fetched.size(); ++i) results[i] = NewTensor(std::move(fetched[i]));
    return OkStatus();
  });
}

}  // extern "C"
