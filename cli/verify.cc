// SPDX-License-Identifier: Apache-2.0
// `thalweg verify`: a model beside values that were recorded of it.
#include <cstdio>

#include "commands.h"
#include "file_work.h"
#include "npy.h"
#include "thalweg/model.h"

namespace cli {
namespace {

// The arrays whose names begin so, without that.
NamedArrays Part(const NamedArrays& arrays, const std::string& prefix) {
  NamedArrays part;
  for (const auto& [name, array] : arrays) {
    if (name.starts_with(prefix)) part.emplace_back(name.substr(prefix.size()), array);
  }
  return part;
}

std::string PlaceText(const Json& indices) {
  std::string text;
  for (const Json& index : indices) text += (text.empty() ? "" : ",") + index.dump();
  return "[" + text + "]";
}

// "float32 and shape differ", "at most 0.5 apart", "the same".
std::string DifferenceText(const Json& value) {
  if (value.contains("kind")) return value.at("kind").get<std::string>();
  if (!value.contains("differing")) return "the same";
  std::string text = Count(value.at("differing").get<uint64_t>(), "element") + " differ";
  if (value.contains("max_abs")) {
    text += ", by at most " + NumberText(value.at("max_abs")) + " (relative " +
            NumberText(value.at("max_rel")) + ")";
  }
  return text + "; the first at " + PlaceText(value.at("at")) + ": expected " +
         value.at("expected").dump() + ", found " + value.at("found").dump();
}

std::string Label(const Json& value) {
  return value.at("operation").get<std::string>() + " '" + value.at("tensor").get<std::string>() +
         "'";
}

void PrintVerification(const Json& found) {
  const Json& values = found.at("values");
  if (!found.at("missing").empty()) {
    std::printf("not in this model: %s\n", Count(found.at("missing").size(), "value").c_str());
  }
  if (found.at("first").is_null()) {
    std::printf("%s compared: the same\n", Count(values.size(), "value").c_str());
    return;
  }
  const Json& first = values.at(found.at("first").get<size_t>());
  std::printf("first difference: %s: %s\n", Label(first).c_str(), DifferenceText(first).c_str());
  for (const Json& place : first.at("inputs")) {
    const Json& input = values.at(place.get<size_t>());
    std::printf("  computed from %s: %s\n", Label(input).c_str(), DifferenceText(input).c_str());
  }
  size_t others = 0;
  for (const Json& value : values) others += value.at("same").get<bool>() ? 0 : 1;
  std::printf("%zu of %s differ\n", others, Count(values.size(), "value").c_str());
}

}  // namespace

void Verify(const VerifyArgs& args) {
  const NamedArrays recorded = ReadNpz(args.reference);
  const NamedArrays inputs = Part(recorded, "in."), values = Part(recorded, "out.");
  if (values.empty()) {
    throw FileError(args.reference + ": it has no recorded values: no array is called 'out.NAME'");
  }
  const tw::Model model = tw::Model::Load(args.model, {.tags = args.tags}).OrThrow();
  const auto split = [](const NamedArrays& arrays, std::vector<const char*>* names,
                        std::vector<TwTensor*>* tensors) {
    for (const auto& [name, array] : arrays) {
      names->push_back(name.c_str());
      tensors->push_back(array.c());
    }
  };
  std::vector<const char*> fed, compared;
  std::vector<TwTensor*> feeds, references;
  split(inputs, &fed, &feeds);
  split(values, &compared, &references);
  TwVerifyOptions options{};
  options.struct_size = sizeof options;
  options.atol = args.atol;
  options.rtol = args.rtol;
  const Json found = GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), args.signature.c_str(), status);
    if (place < 0) return nullptr;
    return tw_model_verify(model.c(), place, fed.data(), feeds.data(),
                           static_cast<int32_t>(fed.size()), compared.data(), references.data(),
                           static_cast<int32_t>(compared.size()), &options, status);
  });
  if (args.json) {
    PrintJson(found);
  } else {
    PrintVerification(found);
  }
  if (!found.at("same").get<bool>()) {
    throw WorkError(args.model + ": values differ from those of " + args.reference);
  }
}

}  // namespace cli
