// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>

#include "npy.h"

namespace cli {
namespace {

// The message of a SavedModel begins with its schema's version, which no GraphDef does.
bool BeginsAsSavedModel(const std::string& bytes) { return bytes.starts_with('\x08'); }

[[noreturn]] void FailForSavedModel(const std::string& path, const std::string& folder) {
  throw FileError(path +
                  ": this is a SavedModel, a graph with variables and signatures; MODEL is a "
                  "GraphDef. Python makes one of it: import thalweg as tf; s = tf.Session(); "
                  "m = tf.saved_model.load(s, ['serve'], '" +
                  folder +
                  "'); tf.graph_util.convert_variables_to_constants(s, m.graph_def, [OUTPUTS])"
                  ".SerializeToString() is the file's content");
}

struct Model {
  explicit Model(const std::string& path, int threads = -1)
      : environment(tw::Environment::Create({.threads = threads}).OrThrow()), graph(environment) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      if (fs::exists(fs::path(path) / "saved_model.pb", ignored) ||
          fs::exists(fs::path(path) / "saved_model.pbtxt", ignored)) {
        FailForSavedModel(path, path);
      }
      throw FileError(path + ": this is a directory; MODEL is a file with a GraphDef");
    }
    const std::string bytes = ReadFile(path);
    const bool text = path.ends_with(".pbtxt") || path.ends_with(".txt");
    if (bytes.empty()) throw FileError(path + ": the file is empty");
    const fs::path given(path);
    if ((!text && BeginsAsSavedModel(bytes)) || given.filename() == "saved_model.pbtxt") {
      FailForSavedModel(path, given.has_parent_path() ? given.parent_path().string() : ".");
    }
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

bool IsPlaceholder(const TwNode* node) {
  const std::string op = tw_node_op(node);
  return op == "Placeholder" || op == "PlaceholderV2";
}

// "float32", as Python calls it.
std::string TypeName(TwDataType dtype) {
  constexpr const char* kNames[] = {
      "float32", "float64",    "int32",   "uint8",    "int16",   "int8",     "string", "complex64",
      "int64",   "bool",       "qint8",   "quint8",   "qint32",  "bfloat16", "qint16", "quint16",
      "uint16",  "complex128", "float16", "resource", "variant", "uint32",   "uint64"};
  constexpr TwDataType kReference = 100;
  const TwDataType base = dtype > kReference ? dtype - kReference : dtype;
  if (base < 1 || base > static_cast<TwDataType>(std::size(kNames)))
    return "type " + std::to_string(dtype);
  return kNames[base - 1] + std::string(dtype > kReference ? " reference" : "");
}

// "float32 [?,784]"; no shape where not even the rank is known.
std::string Described(TwOutput output) {
  std::string text = TypeName(tw_output_dtype(output));
  const int32_t rank = tw_output_shape(output, nullptr, 0);
  if (rank < 0) return text;
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  tw_output_shape(output, dims.data(), rank);
  text += " [";
  for (size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ",") + (dims[i] < 0 ? "?" : std::to_string(dims[i]));
  }
  return text + "]";
}

// "  name  float32 [?,784]"; of several outputs, one behind the other.
std::string Line(TwNode* node) {
  std::string text = std::string("  ") + tw_node_name(node);
  for (int32_t i = 0; i < tw_node_num_outputs(node); ++i) {
    text += (i == 0 ? "  " : ", ") + Described(TwOutput{node, i});
  }
  return text + "\n";
}

void Summarize(const Model& model) {
  std::map<std::string, int> ops;
  std::string placeholders, variables, last;
  std::map<const TwNode*, int> readers;
  const std::vector<TwNode*> nodes = model.Nodes();
  for (TwNode* node : nodes) {
    ++ops[tw_node_op(node)];
    for (int32_t i = 0; i < tw_node_num_inputs(node); ++i) ++readers[tw_node_input(node, i).node];
    const std::string op = tw_node_op(node);
    if (IsPlaceholder(node)) placeholders += Line(node);
    if (op == "VariableV2" || op == "Variable" || op == "VarHandleOp") variables += Line(node);
  }
  for (TwNode* node : nodes) {
    if (readers[node] == 0 && tw_node_num_outputs(node) > 0) last += Line(node);
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
  const std::string text =
      tw::internal::TextOf(
          tw_session_describe_plan(session.c(), fed.data(), static_cast<int32_t>(fed.size()),
                                   fetched.data(), static_cast<int32_t>(fetched.size()),
                                   targets.data(), static_cast<int32_t>(targets.size()), status.c),
          status)
          .OrThrow();
  std::printf("%s", text.c_str());
}

std::string Described(const tw::Tensor& tensor) {
  std::string text = TypeName(tensor.dtype()) + " [";
  for (int64_t d : tensor.shape()) text += (text.back() == '[' ? "" : ",") + std::to_string(d);
  return text + "]";
}

}  // namespace

void Inspect(const InspectArgs& args) {
  const Model model(args.model);
  if (args.plan) {
    PrintPlan(model, args);
  } else {
    Summarize(model);
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
