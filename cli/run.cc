// SPDX-License-Identifier: Apache-2.0
// `thalweg run`: a model once, by the names of a signature or of tensors.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "commands.h"
#include "file_work.h"
#include "npy.h"
#include "thalweg/model.h"

namespace cli {
namespace {

using Named = std::vector<std::pair<std::string, tw::Tensor>>;

// "float32", as Python calls it.
std::string TypeName(TwDataType dtype) {
  constexpr const char* kNames[] = {
      "float32", "float64",    "int32",   "uint8",    "int16",   "int8",     "string", "complex64",
      "int64",   "bool",       "qint8",   "quint8",   "qint32",  "bfloat16", "qint16", "quint16",
      "uint16",  "complex128", "float16", "resource", "variant", "uint32",   "uint64"};
  if (dtype < 1 || dtype > static_cast<TwDataType>(std::size(kNames))) {
    return "type " + std::to_string(dtype);
  }
  return kNames[dtype - 1];
}

std::string Described(const tw::Tensor& tensor) {
  std::string text = TypeName(tensor.dtype()) + " [";
  for (int64_t d : tensor.shape()) text += (text.back() == '[' ? "" : ",") + std::to_string(d);
  return text + "]";
}

Named ReadFeeds(const std::vector<std::string>& given) {
  Named feeds;
  for (const std::string& feed : given) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw FileError("--feed needs NAME=FILE.npy, got '" + feed + "'");
    }
    feeds.emplace_back(feed.substr(0, equals), ReadNpy(feed.substr(equals + 1)));
  }
  return feeds;
}

// A name of the signature, or of the graph.
std::string TensorOf(const std::vector<tw::ModelTensor>& tensors, const std::string& name) {
  const auto at = std::find_if(tensors.begin(), tensors.end(),
                               [&](const tw::ModelTensor& t) { return t.name == name; });
  return at == tensors.end() ? name : at->tensor;
}

// Only what the fetches need.
Named RunFetches(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
                 const std::vector<std::string>& fetches) {
  std::vector<std::string> fed, fetched;
  std::vector<TwTensor*> values;
  for (const auto& [name, value] : feeds) {
    fed.push_back(TensorOf(signature.inputs, name));
    values.push_back(value.c());
  }
  for (const std::string& name : fetches) fetched.push_back(TensorOf(signature.outputs, name));
  std::vector<TwTensor*> results(fetches.size());
  tw::internal::StatusHolder status;
  tw_session_run_names(tw_model_session(model.c()), nullptr, Pointers(fed).data(), values.data(),
                       static_cast<int32_t>(fed.size()), Pointers(fetched).data(),
                       static_cast<int32_t>(fetched.size()), nullptr, 0, results.data(), nullptr,
                       status.c);
  const tw::Status ran = status.Take();
  // The session knows nothing of the model.
  if (!ran.ok()) tw::Status(ran.code(), model.path() + ": " + ran.message()).OrThrow();
  Named arrays;
  for (size_t i = 0; i < results.size(); ++i) arrays.emplace_back(fetches[i], results[i]);
  return arrays;
}

Named RunAll(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds) {
  const tw::NamedTensors results = model.Run(feeds, signature.name).OrThrow();
  return {results.begin(), results.end()};
}

}  // namespace

void Run(const RunArgs& args) {
  const tw::Environment environment = tw::Environment::Create({.threads = args.threads}).OrThrow();
  const tw::Model model = tw::Model::Load(environment, args.model, {.tags = args.tags}).OrThrow();
  const Named feeds = ReadFeeds(args.feeds);
  tw::Result<tw::ModelSignature> found = model.Signature(args.signature);
  // Tensors of a graph have names also where it has no signature.
  const bool is_needed = args.fetches.empty() || !args.signature.empty();
  if (!found.ok() && is_needed) found.status().OrThrow();
  const tw::ModelSignature signature = found.ok() ? found.value() : tw::ModelSignature();
  const Named arrays = args.fetches.empty() ? RunAll(model, signature, feeds)
                                            : RunFetches(model, signature, feeds, args.fetches);
  if (!args.out.empty()) {
    WriteNpz(args.out, arrays);
    return;
  }
  for (const auto& [name, value] : arrays) {
    std::printf("%s: %s\n", name.c_str(), Described(value).c_str());
  }
}

}  // namespace cli
