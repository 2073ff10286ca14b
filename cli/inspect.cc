// SPDX-License-Identifier: Apache-2.0
// `thalweg inspect`: what a model is made of, or how a step of it would run.
#include <cstdio>

#include "commands.h"
#include "file_work.h"
#include "thalweg/model.h"

namespace cli {
namespace {

// "float32 [?,784]"; no shape where not even the rank is known.
std::string Described(const Json& tensor) {
  std::string text = tensor.at("dtype").get<std::string>();
  if (tensor.at("shape").is_null()) return text;
  text += " [";
  for (const Json& dim : tensor.at("shape")) {
    text += text.back() == '[' ? "" : ",";
    text += dim.is_null() ? "?" : dim.dump();
  }
  return text + "]";
}

// "12,345"
std::string Grouped(uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

void PrintSignatures(const Json& model) {
  if (model.at("signatures").empty()) return;
  std::printf("signatures:\n");
  for (const Json& signature : model.at("signatures")) {
    std::printf("  %s\n", signature.at("name").get<std::string>().c_str());
    const std::string why = signature.at("unusable").get<std::string>();
    if (!why.empty()) std::printf("    cannot be run: %s\n", why.c_str());
    const auto print = [&](const char* direction, const char* key) {
      for (const Json& tensor : signature.at(key)) {
        std::printf("    %s  %s  %s%s  %s\n", direction,
                    tensor.at("name").get<std::string>().c_str(), Described(tensor).c_str(),
                    tensor.at("optional").get<bool>() ? " (optional)" : "",
                    tensor.at("tensor").get<std::string>().c_str());
      }
    };
    print("in ", "inputs");
    print("out", "outputs");
  }
}

void PrintVariables(const Json& model) {
  TextTable table({"name", "type", "parameters", "bytes"});
  size_t used = 0;
  for (const Json& variable : model.at("variables")) {
    if (!variable.at("used").get<bool>()) continue;
    ++used;
    const Json& count = variable.at("parameters");
    table.Add({variable.at("name"), Described(variable),
               count.is_null() ? "-" : Grouped(count.get<uint64_t>()),
               NumberText(variable.at("bytes"))});
  }
  const size_t others = model.at("variables").size() - used;
  if (used + others == 0) return;
  std::printf(
      "variables: %zu, %s parameters, %s%s\n", used,
      Grouped(model.at("parameters").get<uint64_t>()).c_str(),
      BytesText(model.at("bytes").get<double>()).c_str(),
      others == 0 ? "" : (", and " + std::to_string(others) + " that no signature reads").c_str());
  if (!table.empty()) std::fputs(table.Text().c_str(), stdout);
}

void PrintOperations(const Json& model) {
  std::printf("operations:\n");
  for (const Json& op : model.at("operations")) {
    std::printf("  %6s %s%s\n", op.at("count").dump().c_str(),
                op.at("name").get<std::string>().c_str(),
                op.at("kernel").get<bool>() ? "" : "  (no kernel)");
  }
  const std::string unknown = model.at("unknown_operations").get<std::string>();
  if (!unknown.empty()) std::printf("unknown operations: %s\n", unknown.c_str());
}

void Summarize(const tw::Model& model, bool as_json) {
  const Json facts =
      GetJson([&](TwStatus* status) { return tw_model_describe(model.c(), status); });
  if (as_json) {
    PrintJson(facts);
    return;
  }
  std::string tags;
  for (const Json& tag : facts.at("tags")) tags += " " + tag.get<std::string>();
  std::printf("%s, %s, %s%s\n", model.kind().c_str(),
              Count(facts.at("nodes").get<uint64_t>(), "node").c_str(),
              Count(facts.at("functions").get<uint64_t>(), "function").c_str(),
              tags.empty() ? "" : (", tags:" + tags).c_str());
  PrintSignatures(facts);
  PrintVariables(facts);
  PrintOperations(facts);
}

// Without feeds, those of the signature; without fetches and targets, its outputs.
void PrintPlan(const tw::Model& model, const InspectArgs& args) {
  std::vector<std::string> feeds = args.feeds, fetches = args.fetches;
  const bool is_whole = fetches.empty() && args.targets.empty();
  tw::Result<tw::ModelSignature> found = model.Signature(args.signature);
  if (is_whole) found.status().OrThrow();
  const tw::ModelSignature signature = found.ok() ? found.value() : tw::ModelSignature();
  if (feeds.empty()) {
    for (const tw::ModelTensor& input : signature.inputs) feeds.push_back(input.tensor);
  }
  if (is_whole) {
    if (!signature.unusable.empty()) {
      model.Prepare(signature.name).OrThrow();  // says why it cannot be run
    }
    for (const tw::ModelTensor& output : signature.outputs) fetches.push_back(output.tensor);
  }
  const std::vector<const char*> fed = Pointers(feeds), fetched = Pointers(fetches),
                                 targets = Pointers(args.targets);
  const std::string text = GetText([&](TwStatus* status) {
    return tw_session_describe_plan(tw_model_session(model.c()), fed.data(),
                                    static_cast<int32_t>(fed.size()), fetched.data(),
                                    static_cast<int32_t>(fetched.size()), targets.data(),
                                    static_cast<int32_t>(targets.size()), status);
  });
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void Inspect(const InspectArgs& args) {
  const tw::Model model =
      tw::Model::Load(args.model, {.tags = args.tags, .without_weights = true}).OrThrow();
  if (args.plan) {
    PrintPlan(model, args);
  } else {
    Summarize(model, args.json);
  }
}

}  // namespace cli
