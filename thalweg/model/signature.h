// SPDX-License-Identifier: Apache-2.0
// ModelSignature: one thing that a model does: its inputs and outputs by name, each with the tensor
// of the graph that it stands for. ReadSignatures makes those of a model, sorted by name.
//
//   ASSIGN_OR_RETURN(std::vector<ModelSignature> all, ReadSignatures(files, unknown, graph));
//   for (const ModelTensor& input : all[0].inputs) ... input.name, input.dtype, input.shape
//
// Ownership: values; outputs point at nodes of the graph, which outlives them.
// Threads: values.
// Errors: NotFound, InvalidArgument for a signature that names tensors that are not there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/base/status.h"
#include "thalweg/graph/graph.h"
#include "thalweg/model/model_files.h"
#include "thalweg/model/unknown_operations.h"
#include "thalweg/tensor/tensor.h"

namespace thalweg {

inline constexpr std::string_view kDefaultSignature = "serving_default";
// Not for users: it names the node that makes a loaded model ready.
inline constexpr std::string_view kInitSignature = "__saved_model_init_op";

struct ModelTensor {
  std::string name;
  std::string tensor;  // "dense/BiasAdd:0"
  DType dtype = DType::kInvalid;
  PartialShape shape{};
  Output output{};
  Tensor default_value{};    // of an input; empty: none
  bool is_optional = false;  // an input that may be left out

  // "'x' float32 [?,4]"
  std::string ToString() const;
};

struct ModelSignature {
  std::string name;
  std::string method;  // "tensorflow/serving/predict", or ""
  std::vector<ModelTensor> inputs;
  std::vector<ModelTensor> outputs;
  Status usable;  // why it cannot be run
};

// What a name of the signature, or else of the graph ("dense/BiasAdd:0"), stands for.
Result<Output> FindTensor(const Graph& graph, const std::vector<ModelTensor>& tensors,
                          const std::string& name);

Result<std::vector<ModelSignature>> ReadSignatures(const ModelFiles& files,
                                                   const UnknownOperations& unknown,
                                                   const Graph& graph);

}  // namespace thalweg
