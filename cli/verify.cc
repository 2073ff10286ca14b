// SPDX-License-Identifier: Apache-2.0
// `thalweg verify`: a model beside values that were recorded of it, or that another way gives.
#include <algorithm>
#include <cstdio>

#include "commands.h"
#include "file_work.h"
#include "given_inputs.h"
#include "npy.h"
#include "other_ways.h"
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

// Where nodes run as one, no value of theirs is fetched: the step is run as it is served, too.
void PrintServed(const Json& served) {
  const Json& first = served.at("values").at(served.at("first").get<size_t>());
  std::printf("first difference: %s, in the step that gives the outputs alone: %s\n",
              Label(first).c_str(), DifferenceText(first).c_str());
  std::printf("  no value differs where all are fetched, which keeps nodes from being fused\n");
}

Json Compare(const tw::Model& model, const VerifyArgs& args, const NamedArrays& inputs,
             const NamedArrays& values) {
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
  return GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), args.signature.c_str(), status);
    if (place < 0) return nullptr;
    return tw_model_verify(model.c(), place, fed.data(), feeds.data(),
                           static_cast<int32_t>(fed.size()), compared.data(), references.data(),
                           static_cast<int32_t>(compared.size()), &options, status);
  });
}

// Of the recorded values, those that are outputs of the signature.
NamedArrays OutputsOf(const tw::ModelSignature& signature, const NamedArrays& values) {
  NamedArrays outputs;
  for (const auto& value : values) {
    const std::string& name = value.first;
    const auto is_it = [&](const tw::ModelTensor& t) { return t.name == name || t.tensor == name; };
    if (std::ranges::any_of(signature.outputs, is_it)) outputs.push_back(value);
  }
  return outputs;
}

NamedArrays RecordedBy(const OtherWay& way, const VerifyArgs& args,
                       const tw::ModelSignature& signature) {
  NamedArrays feeds = ReadFeeds(args.feeds);
  AddRandomFeeds(signature, {args.batch, args.seed, args.shapes}, &feeds);
  return RecordInOtherWay(way, args, signature, feeds);
}

}  // namespace

void Verify(const VerifyArgs& args) {
  const bool is_other_way = !args.against.empty();
  const std::string& where = is_other_way ? args.against : args.reference;
  const tw::Model model = tw::Model::Load(args.model, {.tags = args.tags}).OrThrow();
  const tw::ModelSignature signature = model.Signature(args.signature).OrThrow();
  const NamedArrays recorded = is_other_way
                                   ? RecordedBy(ParseOtherWay(args.against), args, signature)
                                   : ReadNpz(args.reference);
  const NamedArrays inputs = Part(recorded, "in."), values = Part(recorded, "out.");
  if (values.empty()) {
    throw FileError(where + ": it has no recorded values: no array is called 'out.NAME'");
  }
  Json found = Compare(model, args, inputs, values);
  const bool is_same = found.at("same").get<bool>();
  const NamedArrays outputs = is_other_way ? OutputsOf(signature, values) : NamedArrays();
  if (!outputs.empty()) {  // of a new session, whose random operations begin anew
    const tw::Model again = tw::Model::Load(args.model, {.tags = args.tags}).OrThrow();
    found["outputs"] = Compare(again, args, inputs, outputs);
  }
  const bool is_served = outputs.empty() || found.at("outputs").at("same").get<bool>();
  if (args.json) {
    PrintJson(found);
  } else if (is_same && !is_served) {
    PrintServed(found.at("outputs"));
  } else {
    PrintVerification(found);
  }
  if (!is_same || !is_served) {
    throw WorkError(args.model + ": values differ from those of " + where);
  }
}

}  // namespace cli
