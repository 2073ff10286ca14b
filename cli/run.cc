// SPDX-License-Identifier: Apache-2.0
// `thalweg run`: a model once, by the names of a signature or of tensors.
#include <cstdio>
#include <iterator>
#include <memory>

#include "commands.h"
#include "file_work.h"
#include "given_inputs.h"
#include "npy.h"
#include "recording.h"
#include "thalweg/model.h"
#include "trace_words.h"

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
  WriteFile(path, RecordingFor(path, metadata));
  return arrays;
}

Named RunChosen(const tw::Model& model, const tw::ModelSignature& signature, const Named& feeds,
                const RunArgs& args) {
  if (!args.trace.empty()) return RunTraced(model, signature, feeds, args.trace);
  if (!args.fetches.empty()) return RunFetches(model, signature, feeds, args.fetches);
  return RunAll(model, signature, feeds);
}

// What the tensors of a step are like.
void PrintStatistics(const Named& arrays, bool as_json) {
  Json all = Json::array();
  TextTable table(
      {"tensor", "type", "shape", "min", "max", "mean", "deviation", "zeros", "NaN", "infinite"});
  for (const auto& array : arrays) {
    const tw::Tensor& value = array.second;
    Json one{{"tensor", array.first}};
    one.update(GetJson([&](TwStatus* status) { return tw_tensor_statistics(value.c(), status); }));
    const Json& numbers = one.at("statistics");
    const auto text = [&](const char* key) {
      return numbers.contains(key) ? NumberText(numbers.at(key)) : std::string("-");
    };
    table.Add({array.first, one.at("dtype"), ShapeText(one.at("shape")), text("min"), text("max"),
               text("mean"), text("deviation"), text("zeros"), text("nans"), text("infinities")});
    all.push_back(std::move(one));
  }
  if (as_json) {
    PrintJson(all);
  } else if (!table.empty()) {
    std::fputs(table.Text().c_str(), stdout);
  }
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
  const bool is_needed =
      args.fetches.empty() || !args.signature.empty() || !args.record.empty() || args.statistics;
  if (!found.ok() && is_needed) found.status().OrThrow();
  const tw::ModelSignature signature = found.ok() ? found.value() : tw::ModelSignature();
  if (!args.record.empty()) {
    WriteNpz(args.record, RecordStep(model, signature, feeds));
    return;
  }
  if (args.statistics) {
    PrintStatistics(RunFetches(model, signature, feeds, Recordable(model, signature)), args.json);
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
