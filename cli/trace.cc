// SPDX-License-Identifier: Apache-2.0
// `thalweg trace`: why a step is slow, from RunMetadata files.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "file_commands.h"
#include "file_work.h"
#include "new_file.h"
#include "trace_filter.h"
#include "trace_words.h"

namespace cli {
namespace {

struct TraceArgs {
  std::vector<std::string> files;
  std::string out, format;
  TraceFilterArgs filter;
  int64_t step = -1;  // the slowest
  size_t limit = 20;
  bool json = false, chrome = false, force = false;
};

void ShowWhere(const Json& summary, double time) {
  std::puts("\nwhere it went (critical path):");
  TextTable table({"time", "share", "what"});
  for (const auto& [kind, nanos] : summary.at("where").items()) {
    if (nanos.get<double>() > 0)
      table.Add({TimeWords(nanos), PercentText(nanos.get<double>(), time), KindWords(kind)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowStalls(const Json& summary, size_t limit) {
  const Json& stalls = summary.at("stalls");
  std::printf("\n%s\n", stalls.empty() ? "no stalls found" : "stalls, worst first:");
  for (size_t i = 0; i < std::min(stalls.size(), limit); ++i) {
    const Json& stall = stalls[i];
    std::printf("  %zu. %s, %s: %s\n     %s\n", i + 1, stall.at("kind").get<std::string>().c_str(),
                TimeWords(stall.at("lost_nanos")).c_str(),
                stall.at("sentence").get<std::string>().c_str(),
                stall.at("remedy").get<std::string>().c_str());
  }
}

// The longest parts, in their order.
void ShowPath(const Json& summary, size_t limit) {
  const Json& path = summary.at("critical_path");
  std::vector<int64_t> times;
  for (const Json& part : path) {
    times.push_back(part.at("end_nanos").get<int64_t>() - part.at("begin_nanos").get<int64_t>());
  }
  std::vector<int64_t> sorted = times;
  std::sort(sorted.rbegin(), sorted.rend());
  const int64_t least = sorted.size() > limit ? sorted[limit] : -1;
  const int64_t begin = path.empty() ? 0 : path.front().at("begin_nanos").get<int64_t>();
  std::printf("\ncritical path, %s%s:\n",
              Count(summary.at("critical_path_parts").get<uint64_t>(), "part").c_str(),
              least >= 0 ? (", the longest " + std::to_string(limit)).c_str() : "");
  TextTable table({"at", "time", "what", "node", "op", "device"});
  for (size_t i = 0; i < path.size(); ++i) {
    if (times[i] <= least) continue;
    const Json& part = path[i];
    const std::string edge = part.value("edge", "");
    const std::string node = part.value("node", "");
    table.Add({TimeWords(Json(part.at("begin_nanos").get<int64_t>() - begin)),
               TimeWords(Json(times[i])), part.at("kind").get<std::string>(),
               node == "RecvTensor" && !edge.empty() ? edge : node, part.value("op", ""),
               edge.empty() ? part.value("device", "")
                            : part.value("from", "") + " -> " + part.value("to", "")});
  }
  std::fputs(table.Text().c_str(), stdout);
}

// Of all nodes of a device: what others took of it; what is told of none looks like none.
std::string NoProcessorWords(const Json& device) {
  const auto lost = device.find("no_processor");
  if (lost == device.end() || lost->at("times_taken") == 0) return "-";
  return TimeWords(lost->at("taken_nanos")) + " in " +
         Count(lost->at("times_taken").get<uint64_t>(), "piece");
}

void ShowDevices(const Json& summary, double time) {
  std::puts("\ndevices:");
  TextTable table({"device", "nodes", "busy", "share", "at once", "no processor"});
  for (const Json& device : summary.at("devices")) {
    const double busy = device.at("busy_nanos").get<double>();
    char parallel[20] = "-";
    if (busy > 0)
      std::snprintf(parallel, sizeof(parallel), "%.1f",
                    device.at("work_nanos").get<double>() / busy);
    table.Add({device.at("device").get<std::string>(), device.at("nodes").dump(),
               TimeWords(device.at("busy_nanos")), PercentText(busy, time), parallel,
               NoProcessorWords(device)});
  }
  std::fputs(table.Text().c_str(), stdout);
  TextTable waits({"who waited", "for", "not sent yet", "on its way", "values", "bytes"});
  for (const Json& wait : summary.at("waits")) {
    waits.Add({wait.at("device").get<std::string>(), wait.at("for").get<std::string>(),
               TimeWords(wait.at("unsent_nanos")), TimeWords(wait.at("on_way_nanos")),
               wait.at("values").dump(), BytesText(wait.at("bytes").get<double>())});
  }
  if (!waits.empty())
    std::printf("\nlongest waits for others, while nothing else ran:\n%s", waits.Text().c_str());
}

void ShowClocks(const Json& summary) {
  const Json& tasks = summary.at("tasks");
  for (size_t i = 1; i < tasks.size(); ++i) {
    const Json& task = tasks[i];
    const int64_t offset = task.at("offset_nanos").get<int64_t>();
    const std::string moved = offset == 0 ? "not moved"
                                          : "moved by " + std::string(offset < 0 ? "-" : "") +
                                                TimeWords(Json(std::abs(offset)));
    std::printf("%sclock of %s: %s, off by at most %s\n", i == 1 ? "\n" : "",
                task.at("task").get<std::string>().c_str(), moved.c_str(),
                task.at("error_nanos").is_null() ? "what nothing tells"
                                                 : TimeWords(task.at("error_nanos")).c_str());
  }
  for (const Json& note : summary.at("notes"))
    std::fprintf(stderr, "thalweg: %s\n", note.get<std::string>().c_str());
}

void ShowHead(const Json& summary, size_t limit) {
  const Json& step = summary.at("steps").at(summary.at("step").get<size_t>());
  std::printf("step %s of %s: %s, %s on %s\n", summary.at("step").dump().c_str(),
              Count(summary.at("steps").size(), "step").c_str(),
              TimeWords(step.at("time_nanos")).c_str(),
              Count(step.at("nodes").get<uint64_t>(), "node").c_str(),
              Count(summary.at("devices").size(), "device").c_str());
  for (const Json& left : summary.at("left_out")) {
    std::printf("not there: the first %s, %s of %s\n", TimeWords(left.at("nanos")).c_str(),
                Count(left.at("executions").get<uint64_t>(), "execution").c_str(),
                left.at("device").get<std::string>().c_str());
  }
  ShowStalls(summary, limit);
}

void ShowSummary(const TraceArgs& args) {
  const Json summary = Json::parse(args.filter.Tell(args.files, TW_TRACE_SUMMARY, args.step));
  if (args.json) {
    PrintJson(summary);
    return;
  }
  const Json& step = summary.at("steps").at(summary.at("step").get<size_t>());
  const auto time = step.at("time_nanos").get<double>();
  ShowHead(summary, args.limit);
  ShowWhere(summary, time);
  ShowPath(summary, args.limit);
  ShowDevices(summary, time);
  ShowClocks(summary);
}

}  // namespace

void ShowTraceHead(const std::vector<std::string>& files, size_t limit) {
  ShowHead(Json::parse(TraceFilterArgs().Tell(files, TW_TRACE_SUMMARY)), limit);
}

void KeepFile(const std::string& name, std::string_view bytes, bool force) {
  NewFile file(name, force);
  std::ofstream stream(file.path(), std::ios::binary);
  stream << bytes;
  stream.close();
  if (!stream) throw WorkError(name + ": cannot be written");
  file.Keep();
}

void WriteText(const std::string& name, const std::string& text, bool force) {
  KeepFile(name, text, force);
  std::printf("%s: %s\n", name.c_str(), BytesText(static_cast<double>(text.size())).c_str());
}

void WritePage(const std::vector<std::string>& files, const std::string& name, bool force) {
  WriteText(name, TraceFilterArgs().Tell(files, TW_TRACE_PAGE), force);
}

namespace {

std::string OutName(const TraceArgs& args, const char* ending) {
  if (!args.out.empty()) return args.out;
  return std::filesystem::path(args.files.front()).replace_extension(ending).string();
}

// As asked for, or as the name of the file says.
bool IsForPerfetto(const TraceArgs& args) {
  if (!args.format.empty()) return args.format == "perfetto";
  const std::string ending = std::filesystem::path(args.out).extension().string();
  return !args.chrome && (ending == ".pftrace" || ending == ".perfetto-trace");
}

void ExportTrace(const TraceArgs& args) {
  const bool is_perfetto = IsForPerfetto(args);
  WriteText(OutName(args, is_perfetto ? ".pftrace" : ".json"),
            args.filter.Tell(args.files, is_perfetto ? TW_TRACE_PERFETTO : TW_TRACE_CHROME),
            args.force);
}

void ViewTrace(const TraceArgs& args) {
  WriteText(OutName(args, ".html"), args.filter.Tell(args.files, TW_TRACE_PAGE), args.force);
}

}  // namespace

void AddTrace(CLI::App& app) {
  const auto args = std::make_shared<TraceArgs>();
  CLI::App* const all =
      app.add_subcommand("trace",
                         "Why a step is slow, from RunMetadata files of any session, and of steps "
                         "that a server runs");
  all->require_subcommand(1);
  const auto add = [&](const char* name, const char* does) {
    CLI::App* const verb = all->add_subcommand(name, does);
    verb->add_option(
            "FILE", args->files,
            "RunMetadata, binary, .pbtxt or .trace; several: steps, or what tasks wrote of one")
        ->required();
    AddTraceFilter(*verb, &args->filter);
    return verb;
  };
  const auto add_step = [&](CLI::App* verb) {
    verb->add_option("--step", args->step, "Number of the step, by time (the slowest)")
        ->check(CLI::NonNegativeNumber);
  };
  const auto add_out = [&](CLI::App* verb, const char* does) {
    verb->add_option("-o,--out", args->out, does);
    verb->add_flag("--force", args->force, "Replaces a file that is there");
  };
  CLI::App* const summary =
      add("summary", "Shows stalls, where the time went, the critical path, who waited for whom");
  add_step(summary);
  summary->add_option("--limit", args->limit, "Of stalls and of parts of the critical path (20)");
  summary->add_flag("--json", args->json, "For programs: all of it");
  summary->callback([args] { ShowSummary(*args); });
  CLI::App* const viewing =
      add("view", "Writes a page for a browser, in one file: stalls marked, zoom to each node");
  add_out(viewing, "The file (FILE.html)");
  viewing->callback([args] { ViewTrace(*args); });
  AddTraceMemory(*all);
  CLI::App* const exporting = add("export", "Writes the trace for other viewers");
  exporting
      ->add_option("--format", args->format,
                   "chrome: JSON for chrome://tracing and ui.perfetto.dev; perfetto: the binary "
                   "form of the latter (by the file's name: .pftrace, .perfetto-trace; chrome)")
      ->check(CLI::IsMember({"chrome", "perfetto"}));
  exporting->add_flag("--chrome", args->chrome, "As --format chrome")->excludes("--format");
  add_out(exporting, "The file (FILE.json, FILE.pftrace)");
  exporting->callback([args] { ExportTrace(*args); });
  AddTraceCompare(*all);
  AddTraceConvert(*all);
  AddTraceRecord(*all);
}

}  // namespace cli
