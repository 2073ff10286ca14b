// SPDX-License-Identifier: Apache-2.0
// `thalweg inspect`: what a model is made of, or how a step of it would run.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "commands.h"
#include "file_work.h"
#include "given_inputs.h"
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

// Points into the shapes.
class CostOptions {
 public:
  explicit CostOptions(const InspectArgs& args) {
    for (const std::string& text : args.shapes) shapes_.push_back(ParseGivenShape(text));
    for (const GivenShape& shape : shapes_) {
      inputs_.push_back(shape.input.c_str());
      dims_.push_back(shape.dims.data());
      ranks_.push_back(static_cast<int32_t>(shape.dims.size()));
    }
    c.struct_size = sizeof c;
    c.batch = args.batch;
    c.inputs = inputs_.data();
    c.dims = dims_.data();
    c.ranks = ranks_.data();
    c.num_inputs = static_cast<int32_t>(inputs_.size());
  }
  CostOptions(const CostOptions&) = delete;
  CostOptions& operator=(const CostOptions&) = delete;

  TwCostOptions c{};

 private:
  std::vector<GivenShape> shapes_;
  std::vector<const char*> inputs_;
  std::vector<const int64_t*> dims_;
  std::vector<int32_t> ranks_;
};

Json CostsOf(const tw::Model& model, const InspectArgs& args) {
  const CostOptions options(args);
  return GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), args.signature.c_str(), status);
    return place < 0 ? nullptr : tw_model_costs(model.c(), place, &options.c, status);
  });
}

std::string FlopsText(const Json& row) {
  const std::string flops = Grouped(static_cast<uint64_t>(row.at("flops").get<double>()));
  return row.at("not_counted").get<uint64_t>() == 0 ? flops : flops + "+?";
}

void PrintCosts(const Json& costs) {
  std::printf("a step of %s for", costs.at("signature").get<std::string>().c_str());
  for (const auto& [name, shape] : costs.at("inputs").items()) {
    const Json tensor = {{"dtype", name}, {"shape", shape}};
    std::printf(" %s", Described(tensor).c_str());
  }
  std::printf(": %s FLOPs, %s moved\n", FlopsText(costs).c_str(),
              BytesText(costs.at("bytes").get<double>()).c_str());
  TextTable table({"operation", "nodes", "FLOPs", "bytes"});
  std::string unknown;
  for (const Json& row : costs.at("operations")) {
    const std::string name = row.at("name").get<std::string>();
    if (!row.at("known").get<bool>()) unknown += (unknown.empty() ? "" : ", ") + name;
    if (row.at("flops").get<double>() == 0) continue;
    table.Add(
        {name, row.at("count").dump(), FlopsText(row), BytesText(row.at("bytes").get<double>())});
  }
  if (!table.empty()) std::fputs(table.Text().c_str(), stdout);
  if (!unknown.empty()) std::printf("not counted: %s\n", unknown.c_str());
  if (costs.at("loop_flops").get<double>() > 0) {
    std::printf("in loops: %s FLOPs, counted for one turn\n",
                Grouped(static_cast<uint64_t>(costs.at("loop_flops").get<double>())).c_str());
  }
  std::printf("memory: parameters %s, constants %s, ",
              BytesText(costs.at("parameter_bytes").get<double>()).c_str(),
              BytesText(costs.at("constant_bytes").get<double>()).c_str());
  if (costs.at("peak_bytes").is_null()) {
    std::printf("activations unknown: give all inputs a --shape\n");
    return;
  }
  const uint64_t values = costs.at("unknown_values").get<uint64_t>();
  std::printf("activations at most %s%s\n", BytesText(costs.at("peak_bytes").get<double>()).c_str(),
              values == 0 ? "" : (" and " + Count(values, "value") + " of unknown size").c_str());
}

void Summarize(const tw::Model& model, const InspectArgs& args) {
  Json facts = GetJson([&](TwStatus* status) { return tw_model_describe(model.c(), status); });
  const bool has_costs = args.batch > 0 || !args.shapes.empty();
  if (has_costs) facts["costs"] = CostsOf(model, args);
  if (args.json) {
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
  if (has_costs) PrintCosts(facts.at("costs"));
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

void PrintPlacement(const tw::Model& model, const InspectArgs& args) {
  const CostOptions inputs(args);
  const std::vector<const char*> devices = Pointers(args.devices), nodes = Pointers(args.nodes);
  TwPlacementOptions options{};
  options.struct_size = sizeof options;
  options.inputs = &inputs.c;
  options.method = args.by.c_str();
  options.devices = devices.data();
  options.num_devices = static_cast<int32_t>(devices.size());
  options.nodes = nodes.data();
  options.num_nodes = static_cast<int32_t>(nodes.size());
  const Json placement = GetJson([&](TwStatus* status) -> TwBuffer* {
    const int32_t place = tw_model_find_signature(model.c(), args.signature.c_str(), status);
    return place < 0 ? nullptr : tw_model_placement(model.c(), place, &options, status);
  });
  if (args.json) return PrintJson(placement);
  for (const Json& why : placement.at("explained")) {
    std::fputs(why.at("text").get<std::string>().c_str(), stdout);
  }
  if (!args.nodes.empty()) return;
  std::printf("a step of %s, placed by %s: %s foreseen, %s of %s\n",
              placement.at("signature").get<std::string>().c_str(),
              args.by == "preferred" ? "preference" : args.by.c_str(),
              DurationText(placement.at("step_seconds").get<double>()).c_str(),
              Count(placement.at("transfers").get<uint64_t>(), "transfer").c_str(),
              BytesText(placement.at("transferred_bytes").get<double>()).c_str());
  TextTable on({"device", "nodes", "busy", "peak"});
  for (const Json& device : placement.at("devices")) {
    on.Add({device.at("name"), device.at("nodes").dump(),
            DurationText(device.at("busy_seconds").get<double>()),
            BytesText(device.at("peak_bytes").get<double>())});
  }
  std::fputs(on.Text().c_str(), stdout);
  TextTable table({"node", "operation", "device"});
  for (const Json& node : placement.at("nodes")) {
    table.Add({node.at("name"), node.at("operation"), node.at("device")});
  }
  std::fputs(table.Text().c_str(), stdout);
}

}  // namespace

void Inspect(const InspectArgs& args) {
  const tw::Model model =
      tw::Model::Load(args.model, {.tags = args.tags, .without_weights = true}).OrThrow();
  if (args.plan) {
    PrintPlan(model, args);
  } else if (args.placement) {
    PrintPlacement(model, args);
  } else {
    Summarize(model, args);
  }
}

}  // namespace cli
