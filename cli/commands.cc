// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <cstdio>
#include <map>

#include "npy.h"

namespace cli {
namespace {

struct Model {
  explicit Model(const std::string& path, int threads = -1)
      : environment(tw::Environment::Create({.threads = threads}).OrThrow()), graph(environment) {
    const std::string bytes = ReadFile(path);
    const bool text = path.ends_with(".pbtxt") || path.ends_with(".txt");
    const tw::Status imported = graph.Import(bytes, text);
    if (!imported.ok()) {
      throw tw::Error(imported.code(), path + ": " + imported.message());
    }
  }
  std::vector<TwNode*> Nodes() const {
    std::vector<TwNode*> nodes;
    for (int32_t i = 0; i < tw_graph_num_nodes(graph.c()); ++i) {
      nodes.push_back(tw_graph_node(graph.c(), i));
    }
    return nodes;
  }

  tw::Environment environment;
  tw::Graph graph;
};

std::string Text(TwBuffer* adopted) {
  const tw::internal::Handle<TwBuffer, &tw_buffer_free> buffer(adopted);
  return {static_cast<const char*>(tw_buffer_data(buffer.get())), tw_buffer_size(buffer.get())};
}

bool IsPlaceholder(const TwNode* node) {
  const std::string op = tw_node_op(node);
  return op == "Placeholder" || op == "PlaceholderV2";
}

void Summarise(const Model& model) {
  std::map<std::string, int> ops;
  std::string placeholders, variables, last;
  std::map<const TwNode*, int> readers;
  const std::vector<TwNode*> nodes = model.Nodes();
  for (const TwNode* node : nodes) {
    ++ops[tw_node_op(node)];
    for (int32_t i = 0; i < tw_node_num_inputs(node); ++i) ++readers[tw_node_input(node, i).node];
    const std::string op = tw_node_op(node);
    const std::string line = std::string("  ") + tw_node_name(node) + "\n";
    if (IsPlaceholder(node)) placeholders += line;
    if (op == "VariableV2" || op == "Variable" || op == "VarHandleOp") variables += line;
  }
  for (TwNode* node : nodes) {
    if (readers[node] == 0 && tw_node_num_outputs(node) > 0) {
      last += std::string("  ") + tw_node_name(node) + "\n";
    }
  }
  std::printf("%zu nodes\n", nodes.size());
  const auto section = [](const char* title, const std::string& lines) {
    if (!lines.empty()) std::printf("%s:\n%s", title, lines.c_str());
  };
  section("placeholders", placeholders);
  section("variables", variables);
  section("read by no other node", last);
  std::printf("operations:\n");
  for (const auto& [op, count] : ops) std::printf("  %6d %s\n", count, op.c_str());
}

std::vector<const char*> Pointers(const std::vector<std::string>& names) {
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  return pointers;
}

void PrintPlan(const Model& model, const InspectArgs& args) {
  std::vector<std::string> feeds = args.feeds;
  if (feeds.empty()) {
    for (const TwNode* node : model.Nodes()) {
      if (IsPlaceholder(node)) feeds.emplace_back(tw_node_name(node));
    }
  }
  const tw::Session session = tw::Session::Create(model.graph).OrThrow();
  const std::vector<const char*> fed = Pointers(feeds), fetched = Pointers(args.fetches),
                                 targets = Pointers(args.targets);
  tw::internal::StatusHolder status;
  TwBuffer* text =
      tw_session_describe_plan(session.c(), fed.data(), static_cast<int32_t>(fed.size()),
                               fetched.data(), static_cast<int32_t>(fetched.size()), targets.data(),
                               static_cast<int32_t>(targets.size()), status.c);
  if (text == nullptr) status.Take().OrThrow();
  std::printf("%s", Text(text).c_str());
}

std::string Described(const tw::Tensor& tensor) {
  std::string text = "type " + std::to_string(tensor.dtype()) + ", shape [";
  for (int64_t d : tensor.shape()) text += (text.back() == '[' ? "" : ",") + std::to_string(d);
  return text + "]";
}

}  // namespace

void Inspect(const InspectArgs& args) {
  const Model model(args.model);
  if (args.plan) {
    PrintPlan(model, args);
  } else {
    Summarise(model);
  }
}

void Run(const RunArgs& args) {
  Model model(args.model, args.threads);
  tw::Feeds feeds;
  for (const std::string& feed : args.feeds) {
    const size_t equals = feed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw FileError("--feed needs NAME=FILE.npy, got '" + feed + "'");
    }
    const tw::Output edge = model.graph.Find(feed.substr(0, equals)).OrThrow();
    feeds.emplace_back(edge, ReadNpy(feed.substr(equals + 1)));
  }
  std::vector<tw::Output> fetches;
  for (const std::string& name : args.fetches) {
    fetches.push_back(model.graph.Find(name).OrThrow());
  }
  tw::Session session = tw::Session::Create(model.graph).OrThrow();
  const std::vector<tw::Tensor> values = session.Run(feeds, fetches).OrThrow();
  std::vector<std::pair<std::string, tw::Tensor>> arrays;
  for (size_t i = 0; i < values.size(); ++i) {
    arrays.emplace_back(args.fetches[i], values[i]);
    if (args.out.empty()) {
      std::printf("%s: %s\n", args.fetches[i].c_str(), Described(values[i]).c_str());
    }
  }
  if (!args.out.empty()) WriteNpz(args.out, arrays);
}

}  // namespace cli
