// SPDX-License-Identifier: Apache-2.0
// `thalweg trace memory`: what holds the memory of a step, from RunMetadata files.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "trace_filter.h"
#include "trace_words.h"

namespace cli {
namespace {

struct TraceMemoryArgs {
  std::vector<std::string> files;
  TraceFilterArgs filter;
  int64_t step = -1;  // the one with the highest peak
  size_t limit = 20;
  bool json = false;
};

void ShowKinds(const Json& device) {
  const auto peak = device.at("peak_bytes").get<double>();
  TextTable table({"bytes", "share", "kind"});
  const auto add = [&](double bytes, const std::string& kind) {
    if (bytes > 0) table.Add({BytesText(bytes), PercentText(bytes, peak), kind});
  };
  for (const auto& [kind, bytes] : device.at("kinds").items()) {
    add(bytes.get<double>(), kind == "constants" && device.at("knows_allocator").get<bool>()
                                 ? kind + " (beside the peak: no allocator counts them)"
                                 : kind);
  }
  add(device.at("unexplained_bytes").get<double>(),
      "no node of this step tells of them: what was there before, what strings hold, others' "
      "steps");
  std::printf("\nby kind:\n%s", table.Text().c_str());
}

void ShowHolders(const Json& device, int64_t begin, size_t limit) {
  const Json& holders = device.at("holders");
  TextTable table({"bytes", "kind", "node", "op", "type and shape", "since", "made at"});
  for (size_t i = 0; i < std::min(holders.size(), limit); ++i) {
    const Json& holder = holders[i];
    const std::string now = holder.value("now_of", "");
    const std::string node = holder.at("node").get<std::string>();
    const int64_t since = holder.at("since_nanos").get<int64_t>() - begin;
    table.Add({BytesText(holder.at("bytes").get<double>()), holder.at("kind").get<std::string>(),
               now.empty() ? node : node + ", now of " + now, holder.value("op", ""),
               holder.contains("dtype")
                   ? holder.at("dtype").get<std::string>() + ShapeText(holder.at("shape"))
                   : "",
               since == 0 ? "before" : TimeWords(since), holder.value("line", "")});
  }
  const auto all = device.at("holders_at_peak").get<size_t>();
  std::printf(
      "\nwho holds it then%s:\n%s",
      all > limit
          ? (", the largest " + std::to_string(limit) + " of " + std::to_string(all)).c_str()
          : "",
      table.Text().c_str());
}

// Bytes of the step's blocks over time, upwards.
void ShowCurve(const Json& device, int64_t time) {
  constexpr size_t kColumns = 80, kRows = 8;
  const Json& curve = device.at("curve");
  std::vector<double> columns(kColumns, 0);
  double most = 0;
  for (size_t i = 0; i < curve.size(); ++i) {
    double& column = columns[i * kColumns / curve.size()];
    column = std::max(column, curve[i][1].get<double>());
    most = std::max(most, column);
  }
  if (most <= 0) return;
  std::puts("\nwhat the step's nodes hold over time:");
  for (size_t row = kRows; row > 0; --row) {
    const std::string label = row == kRows ? BytesText(most) : "";
    std::string line;
    for (const double column : columns) {
      line += column > most * (static_cast<double>(row) - 0.5) / kRows ? '#' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%10s |%s\n", label.c_str(), line.c_str());
  }
  const std::string end = TimeWords(time);
  std::printf("%10s +%s\n%12s%*s\n", "0 B", std::string(kColumns, '-').c_str(), "0",
              static_cast<int>(kColumns), end.c_str());
}

void ShowDevice(const Json& device, const Json& memory, size_t limit) {
  const auto begin = memory.at("begin_nanos").get<int64_t>();
  std::printf("\n%s: %s at the peak, at %s\n", device.at("device").get<std::string>().c_str(),
              BytesText(device.at("peak_bytes").get<double>()).c_str(),
              TimeWords(device.at("peak_nanos").get<int64_t>() - begin).c_str());
  if (device.at("inferred").get<bool>()) {
    std::puts(
        "  The trace does not record when memory came and went: a value is taken to live "
        "until its last reader ends.");
  }
  ShowKinds(device);
  ShowHolders(device, begin, limit);
  ShowCurve(device, memory.at("time_nanos").get<int64_t>());
}

void ShowMemoryGrowth(const Json& growth) {
  if (growth.empty()) return;
  std::puts("\nwhat grew from step to step, and never shrank:");
  TextTable table({"first", "last", "steps", "node", "op", "device"});
  for (const Json& grown : growth) {
    table.Add({BytesText(grown.at("first_bytes").get<double>()),
               BytesText(grown.at("last_bytes").get<double>()), grown.at("steps").dump(),
               grown.at("node").get<std::string>(), grown.at("op").get<std::string>(),
               grown.at("device").get<std::string>()});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowMemory(const TraceMemoryArgs& args) {
  const Json memory = Json::parse(args.filter.Tell(args.files, TW_TRACE_MEMORY, args.step));
  if (args.json) {
    PrintJson(memory);
    return;
  }
  std::printf("step %s of %s: %s\n", memory.at("step").dump().c_str(),
              Count(memory.at("steps").get<uint64_t>(), "step").c_str(),
              TimeWords(memory.at("time_nanos")).c_str());
  for (const Json& device : memory.at("devices")) ShowDevice(device, memory, args.limit);
  ShowMemoryGrowth(memory.at("growth"));
  for (const Json& note : memory.at("notes"))
    std::fprintf(stderr, "thalweg: %s\n", note.get<std::string>().c_str());
  if (!memory.at("has_graph").get<bool>()) {
    std::fprintf(stderr,
                 "thalweg: the files hold no graphs, so lines, constants and what gradients read "
                 "are not known (RunOptions.output_partition_graphs=True records them)\n");
  }
}

}  // namespace

void AddTraceMemory(CLI::App& trace) {
  const auto args = std::make_shared<TraceMemoryArgs>();
  CLI::App* const verb = trace.add_subcommand(
      "memory", "Shows the peak of memory, who holds it then, and how it came to that");
  verb->add_option("FILE", args->files,
                   "RunMetadata, binary or .pbtxt; several: steps, or what tasks wrote of one")
      ->required();
  AddTraceFilter(*verb, &args->filter);
  verb->add_option("--step", args->step, "Number of the step, by time (the one of most memory)")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--limit", args->limit, "Of nodes that hold memory (20)");
  verb->add_flag("--json", args->json, "For programs: all of it");
  verb->callback([args] { ShowMemory(*args); });
}

}  // namespace cli
