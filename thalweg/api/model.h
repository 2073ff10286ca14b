// SPDX-License-Identifier: Apache-2.0
// Models for C++: a SavedModel of either release, a MetaGraph beside its checkpoint, or a GraphDef,
// loaded from a path and run by the names of its signatures. Header-only over the C ABI (c_api.h).
//
//   tw::Model model = tw::Model::Load("resnet").OrThrow();
//   for (const tw::ModelSignature& s : model.signatures()) std::puts(s.ToString().c_str());
//   tw::NamedTensors out = model.Run({{"images", images}}).OrThrow();
//   const float* scores = out.at("scores").data<float>();
//
// Ownership: copies share one model, which goes with the last of them.
// Threads: any number may run one model at once.
// Errors: as thalweg.h says; their messages begin with the path.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "thalweg/thalweg.h"

namespace tw {

using NamedTensors = std::map<std::string, Tensor>;

// An input or output of a signature.
struct ModelTensor {
  std::string name;
  std::string tensor;  // of the graph: "dense/BiasAdd:0"
  TensorSpec spec;     // its type, and what is known of its shape
  bool is_optional = false;
};

// By name, as a signature's Run takes and gives them.
struct ModelSignature {
  std::string name;
  std::string method;
  std::vector<ModelTensor> inputs{};
  std::vector<ModelTensor> outputs{};
  std::string unusable{};  // why it cannot be run; "": it can

  // "serving_default(images, threshold?) -> scores"
  std::string ToString() const {
    std::string text = name + "(";
    for (const ModelTensor& input : inputs) {
      text += (text.back() == '(' ? "" : ", ") + input.name + (input.is_optional ? "?" : "");
    }
    text += ") ->";
    for (const ModelTensor& output : outputs) {
      text += (text.back() == '>' ? " " : ", ") + output.name;
    }
    return text;
  }
};

struct ModelOptions {
  std::vector<std::string> tags{};  // of the graph that is meant; none: the only one, or "serve"
  bool without_weights = false;     // to look at: variables are not restored, tables not filled
  const TwRunOptions* options = nullptr;  // of the restore: a timeout, a cancellation
  bool map_weights = false;               // large ones are pages of their files (c_model.h)
  std::string passes{};                   // of its session, to switch off and on: "none", "-cse"
  std::string device{};  // of all nodes that have a kernel there: "/device:CPU:1"; "": any
};

struct ConvertOptions {
  bool saved_model = false;               // false: a GraphDef in a file
  bool keep_batch_norms = false;          // they become part of no weights: the same bits
  const TwRunOptions* options = nullptr;  // of the reads of variables
};

class Model {
 public:
  // In an environment of its own: its threads and memory are this model's.
  static Result<Model> Load(const std::string& path, const ModelOptions& options = {}) {
    Result<Environment> environment = Environment::Create();
    if (!environment.ok()) return environment.status();
    return Load(environment.value(), path, options);
  }
  static Result<Model> Load(const Environment& environment, const std::string& path,
                            const ModelOptions& options = {}) {
    std::vector<const char*> tags;
    for (const std::string& tag : options.tags) tags.push_back(tag.c_str());
    TwModelOptions c{};
    c.struct_size = sizeof c;
    c.tags = tags.data();
    c.num_tags = static_cast<int32_t>(tags.size());
    c.without_weights = options.without_weights ? 1 : 0;
    c.run_options = options.options;
    c.map_weights = options.map_weights ? 1 : 0;
    c.passes = options.passes.c_str();
    c.device = options.device.c_str();
    internal::StatusHolder status;
    TwModel* made = tw_model_load(environment.c(), path.c_str(), &c, status.c);
    if (made == nullptr) return status.Take();
    return Model(made, path);
  }

  // Where it is from, as it was given.
  const std::string& path() const { return path_; }
  // "SavedModel", "MetaGraph" or "GraphDef".
  std::string kind() const { return tw_model_kind(c()); }
  // "", or operations of the model that the library does not have, with the nearest ones.
  std::string unknown_operations() const { return tw_model_unknown_operations(c()); }
  // Sorted by name.
  const std::vector<ModelSignature>& signatures() const { return *signatures_; }
  // One of them; "": serving_default, or the only one.
  Result<ModelSignature> Signature(const std::string& name = "") const {
    internal::StatusHolder status;
    const int32_t place = tw_model_find_signature(c(), name.c_str(), status.c);
    if (place < 0) return status.Take();
    return signatures()[static_cast<size_t>(place)];
  }

  // The signature's outputs for inputs by name; those with a default may be left out.
  Result<NamedTensors> Run(const std::vector<std::pair<std::string, Tensor>>& inputs,
                           const std::string& signature = "",
                           const TwRunOptions* options = nullptr) const {
    internal::StatusHolder status;
    const int32_t place = tw_model_find_signature(c(), signature.c_str(), status.c);
    if (place < 0) return status.Take();
    std::vector<const char*> names;
    std::vector<TwTensor*> values;
    for (const auto& [name, value] : inputs) {
      names.push_back(name.c_str());
      values.push_back(value.c());
    }
    const std::vector<ModelTensor>& outputs = signatures()[static_cast<size_t>(place)].outputs;
    std::vector<TwTensor*> results(outputs.size());
    if (tw_model_run_names(c(), place, options, names.data(), values.data(),
                           static_cast<int32_t>(names.size()), results.data(), nullptr,
                           status.c) != TW_OK) {
      return status.Take();
    }
    NamedTensors made;
    for (size_t i = 0; i < outputs.size(); ++i) made.emplace(outputs[i].name, Tensor(results[i]));
    return made;
  }
  // The same by place: inputs and outputs in the order of the signature, an empty tensor for an
  // input that is left out. The fast way.
  Result<Tensors> RunInOrder(const Tensors& inputs, const std::string& signature = "",
                             const TwRunOptions* options = nullptr) const {
    internal::StatusHolder status;
    const int32_t place = tw_model_find_signature(c(), signature.c_str(), status.c);
    if (place < 0) return status.Take();
    const ModelSignature& wanted = signatures()[static_cast<size_t>(place)];
    if (inputs.size() != wanted.inputs.size()) {
      return Status(kInvalidArgument, path_ + ": signature '" + wanted.name + "' has " +
                                          std::to_string(wanted.inputs.size()) + " inputs, got " +
                                          std::to_string(inputs.size()));
    }
    std::vector<TwTensor*> values;
    for (const Tensor& input : inputs) values.push_back(input.c());
    std::vector<TwTensor*> results(wanted.outputs.size());
    if (tw_model_run(c(), place, options, values.data(), results.data(), nullptr, status.c) !=
        TW_OK) {
      return status.Take();
    }
    return Tensors(results.begin(), results.end());
  }
  // Any tensors of the graph, fed at any others, by names of the default signature or of tensors.
  Result<Tensors> Fetch(const std::vector<std::string>& fetches,
                        const std::vector<std::pair<std::string, Tensor>>& feeds = {},
                        const TwRunOptions* options = nullptr) const {
    std::vector<const char*> names, wanted;
    std::vector<TwTensor*> values, results(fetches.size());
    for (const auto& [name, value] : feeds) {
      names.push_back(name.c_str());
      values.push_back(value.c());
    }
    for (const std::string& name : fetches) wanted.push_back(name.c_str());
    internal::StatusHolder status;
    tw_model_fetch(c(), tw_model_find_signature(c(), nullptr, nullptr), options, names.data(),
                   values.data(), static_cast<int32_t>(names.size()), wanted.data(),
                   static_cast<int32_t>(wanted.size()), results.data(), status.c);
    const Status ran = status.Take();
    if (!ran.ok()) return ran;
    return Tensors(results.begin(), results.end());
  }
  // Plans a signature now, not in its first run.
  Status Prepare(const std::string& signature = "") const {
    internal::StatusHolder status;
    const int32_t place = tw_model_find_signature(c(), signature.c_str(), status.c);
    if (place >= 0) tw_model_prepare(c(), place, nullptr, status.c);
    return status.Take();
  }
  // Writes what a signature computes without variables and functions, under the signature's names.
  Status Convert(const std::string& out, const std::string& signature = "",
                 const ConvertOptions& options = {}) const {
    TwConvertOptions c{};
    c.struct_size = sizeof c;
    c.saved_model = options.saved_model ? 1 : 0;
    c.keep_batch_norms = options.keep_batch_norms ? 1 : 0;
    c.run_options = options.options;
    internal::StatusHolder status;
    const int32_t place = tw_model_find_signature(this->c(), signature.c_str(), status.c);
    if (place >= 0) tw_model_convert(this->c(), place, out.c_str(), &c, status.c);
    return status.Take();
  }
  TwModel* c() const { return handle_.get(); }

 private:
  Model(TwModel* adopted, std::string path)
      : handle_(adopted, &tw_model_free), path_(std::move(path)) {
    auto all = std::make_shared<std::vector<ModelSignature>>();
    for (int32_t i = 0; i < tw_model_num_signatures(c()); ++i) {
      TwModelSignature one{};
      tw_model_signature(c(), i, &one, nullptr);
      ModelSignature made{one.name, one.method};
      made.unusable = one.unusable;
      for (int32_t k = 0; k < one.num_inputs; ++k) {
        made.inputs.push_back(Described(i, k, &tw_model_input));
      }
      for (int32_t k = 0; k < one.num_outputs; ++k) {
        made.outputs.push_back(Described(i, k, &tw_model_output));
      }
      all->push_back(std::move(made));
    }
    signatures_ = std::move(all);
  }
  ModelTensor Described(int32_t signature, int32_t i, decltype(&tw_model_input) get) const {
    TwModelTensor one{};
    get(c(), signature, i, &one, nullptr);
    TensorSpec spec{static_cast<DataType>(one.dtype)};
    spec.ranked = one.rank >= 0;
    if (spec.ranked) spec.shape.assign(one.dims, one.dims + one.rank);
    return {one.name, one.tensor, std::move(spec), one.is_optional != 0};
  }

  std::shared_ptr<TwModel> handle_;
  std::string path_;
  std::shared_ptr<const std::vector<ModelSignature>> signatures_;
};

}  // namespace tw
