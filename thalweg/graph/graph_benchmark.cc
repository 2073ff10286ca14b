// SPDX-License-Identifier: Apache-2.0
// Times building, importing and exporting graphs, one line each: nanoseconds a node, and the memory
// of a large chain. Of processor time, so that neighbors count little.
//   build/release/bin/graph_benchmark [NODES]
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/graph/graph_proto.h"
#include "thalweg/graph/shape_inference.h"

namespace thalweg {
namespace {

double SecondsOf(const std::function<void()>& work) {
  const std::clock_t begin = std::clock();
  work();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

std::shared_ptr<OpRegistry> MakeRegistry() {
  auto registry = std::make_shared<OpRegistry>();
  registry->Op("Neg").Shape(UnchangedShape);
  registry->Op("Placeholder").Shape([](ShapeContext& c) -> Status {
    ASSIGN_OR_RETURN(PartialShape shape, c.Attr<PartialShape>("shape"));
    c.set_output(0, shape);
    return OkStatus();
  });
  registry->Op("AddV2").Shape(BroadcastBinaryShape);
  return registry;
}

// Half of them Neg, half AddV2.
void BuildChain(Graph& graph, int nodes) {
  Output first = {
      *graph.AddNode({.name = "x",
                      .op = "Placeholder",
                      .attrs = {{"dtype", DType::kFloat}, {"shape", PartialShape{-1, 10}}}}),
      0};
  Output last = first;
  for (int i = 0; i < nodes; ++i) {
    NodeSpec spec;
    spec.name = StrCat("layer/node_", i);
    spec.op = i % 2 == 0 ? "Neg" : "AddV2";
    spec.inputs = i % 2 == 0 ? std::vector<Output>{last} : std::vector<Output>{last, first};
    last = {*graph.AddNode(std::move(spec)), 0};
  }
}

void Print(const char* what, int nodes, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  std::printf("%-24s %8.0f ns a node (best %.0f, %zu runs of %d nodes)\n", what,
              seconds[seconds.size() / 2] / nodes * 1e9, seconds[0] / nodes * 1e9, seconds.size(),
              nodes);
}

int Main(int nodes) {
  const auto registry = MakeRegistry();
  std::vector<double> build, import, text_import, bytes_export;
  for (int run = 0; run < 7; ++run) {
    Graph graph(registry);
    build.push_back(SecondsOf([&] { BuildChain(graph, nodes); }));
    std::string bytes;
    bytes_export.push_back(SecondsOf([&] { bytes = *ExportGraphDefBytes(graph); }));
    Graph imported(registry);
    import.push_back(
        SecondsOf([&] { ImportGraphDefBytes(bytes, imported).status().IgnoreError();
  }));
  const std::string text = *ExportGraphDefText(graph);
  Graph from_text(registry);
  text_import.push_back(
      SecondsOf([&] { ImportGraphDefText(text, from_text).status().IgnoreError(); }));
}
Print("AddNode", nodes, build);
Print("ImportGraphDefBytes", nodes, import);
Print("ImportGraphDefText", nodes, text_import);
Print("ExportGraphDefBytes", nodes, bytes_export);
constexpr int kMany = 1'000'000;
Graph large(registry);
const double seconds = SecondsOf([&] { BuildChain(large, kMany); });
rusage usage;
getrusage(RUSAGE_SELF, &usage);
std::printf("a chain of %d nodes: %.2f s, %ld MB resident\n", kMany, seconds,
            usage.ru_maxrss / 1024);
return 0;
}  // namespace

}  // namespace thalweg
}  // namespace thalweg

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 10'000;
  return nodes > 0 ? thalweg::Main(nodes) : 2;
}
