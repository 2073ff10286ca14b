// SPDX-License-Identifier: Apache-2.0
// `thalweg run`: a model once, by the names of a signature or of tensors.
#include <cstdio>
#include <iterator>
#include <memory>

#include "commands.h"
#include "file_work.h"
#include "npy.h"
#include "thalweg/model.h"

namespace cli {
namespace {

using Named = NamedArrays;

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

// Only what the fetches need.
Named RunFetches(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
                 const std::vector<std::string>& fetches) {
  std::vector<const char*> fed;
  std::vector<TwTensor*> values, results(fetches.size());
  for (const auto& [name, value] : feeds) {
    fed.push_back(name.c_str());
    values.push_back(value.c());
  }
  const int32_t place = tw_model_find_signature(model.c(), signature.name.c_str(), nullptr);
  tw::internal::StatusHolder status;
  tw_model_fetch(model.c(), place, nullptr, fed.data(), values.data(),
                 static_cast<int32_t>(fed.size()), Pointers(fetches).data(),
                 static_cast<int32_t>(fetches.size()), results.data(), status.c);
  status.Take().OrThrow();
  Named arrays;
  for (size_t i = 0; i < results.size(); ++i) arrays.emplace_back(fetches[i], results[i]);
  return arrays;
}

// Feeds, and every tensor of the step that can be recorded, under the names that `verify` reads.
void Record(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
            const std::string& path) {
  const Json names = GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), signature.name.c_str(), status);
    return place < 0 ? nullptr : tw_model_recordable(model.c(), place, status);
  });
  NamedArrays recorded;
  for (const auto& [name, value] : feeds) recorded.emplace_back("in." + name, value);
  for (const auto& [name, value] :
       RunFetches(model, signature, feeds, names.get<std::vector<std::string>>())) {
    if (HasNpyType(value.dtype())) recorded.emplace_back("out." + name, value);
  }
  WriteNpz(path, recorded);
}

Named RunAll(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds) {
  const tw::NamedTensors results = model.Run(feeds, signature.name).OrThrow();
  return {results.begin(), results.end()};
}

// As RunAll, traced; making the plan is no part of the trace.
Named RunTraced(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
                const std::string& path) {
  const std::unique_ptr<TwRunOptions, void (*)(TwRunOptions*)> options(tw_run_options_new(),
                                                                       tw_run_options_free);
  tw_run_options_trace_level(options.get(), 3);  // FULL_TRACE
  tw_run_options_output_partition_graphs(options.get(), 1);
  tw::internal::StatusHolder status;
  const int32_t place = tw_model_find_signature(model.c(), signature.name.c_str(), status.c);
  status.Take().OrThrow();
  tw_model_prepare(model.c(), place, options.get(), status.c);
  status.Take().OrThrow();
  std::vector<const char*> names;
  std::vector<TwTensor*> values, results(signature.outputs.size());
  for (const auto& [name, value] : feeds) {
    names.push_back(name.c_str());
    values.push_back(value.c());
  }
  const std::string metadata = GetText([&](TwStatus* run_status) {
    TwBuffer* buffer = nullptr;
    tw_model_run_names(model.c(), place, options.get(), names.data(), values.data(),
                       static_cast<int32_t>(names.size()), results.data(), &buffer, run_status);
    return buffer;
  });
  Named arrays;
  for (size_t i = 0; i < results.size(); ++i) {
    arrays.emplace_back(signature.outputs[i].name, results[i]);
  }
  WriteFile(path, metadata);
  return arrays;
}

Named RunChosen(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
                const RunArgs& args) {
  if (!args.trace.empty()) return RunTraced(model, signature, feeds, args.trace);
  if (!args.fetches.empty()) return RunFetches(model, signature, feeds, args.fetches);
  return RunAll(model, signature, feeds);
}

}  // namespace

void Run(const RunArgs& args) {
  const tw::Environment environment = tw::Environment::Create({.threads = args.threads}).OrThrow();
  const tw::Model model =
      tw::Model::Load(environment, args.model, {.tags = args.tags, .map_weights = args.map_weights})
          .OrThrow();
  const Named feeds = ReadFeeds(args.feeds);
  tw::Result<tw::ModelSignature> found = model.Signature(args.signature);
  // Tensors of a graph have names also where it has no signature.
  const bool is_needed = args.fetches.empty() || !args.signature.empty() || !args.record.empty();
  if (!found.ok() && is_needed) found.status().OrThrow();
  const tw::ModelSignature signature = found.ok() ? found.value() : tw::ModelSignature();
  if (!args.record.empty()) {
    Record(model, signature, feeds, args.record);
    return;
  }
  const Named arrays = RunChosen(model, signature, feeds, args);
  if (!args.out.empty()) {
    WriteNpz(args.out, arrays);
    return;
  }
  for (const auto& [name, value] : arrays) {
    std::printf("%s: %s\n", name.c_str(), Described(value).c_str());
  }
}

}  // namespace cli
