// SPDX-License-Identifier: Apache-2.0
// `thalweg trace compare`: what takes longer than before, step by step and node by node.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "trace_words.h"

namespace cli {
namespace {

struct CompareArgs {
  std::vector<std::string> files, before, after;
  size_t limit = 20;
  bool json = false;
};

// "+1.50 ms", with what is to be thought of it.
std::string DifferenceWords(const Json& change) {
  const auto nanos = change.at("difference_nanos").get<double>();
  if (nanos == 0) return "same";
  const std::string words = (nanos < 0 ? "-" : "+") + TimeWords(Json(std::abs(nanos)));
  return change.at("change") == "noise" ? words + " (noise)" : words;
}

// The median, and the middle half of several steps.
std::string SideWords(const Json& comparison, const char* side) {
  const Json& time = comparison.at("time");
  const std::string key = side;
  const size_t steps = comparison.at(key).at("steps").size();
  std::string words = Count(steps, "step") + ", " + TimeWords(time.at(key + "_nanos"));
  if (steps < 2) return words;
  const Json& half = time.at(key + "_middle_half");
  return words + " (median; half of them " + TimeWords(half.at(0)) + " to " +
         TimeWords(half.at(1)) + ")";
}

void ShowStepTimes(const Json& comparison, size_t limit) {
  const Json& before = comparison.at("before").at("steps");
  const Json& after = comparison.at("after").at("steps");
  const size_t steps = std::max(before.size(), after.size());
  if (steps < 2) return;
  std::puts("\nsteps, in order:");
  TextTable table({"step", "before", "after"});
  const auto time = [](const Json& side, size_t i) {
    return i < side.size() ? TimeWords(side[i].at("time_nanos")) : std::string("-");
  };
  for (size_t i = 0; i < std::min(steps, limit); ++i)
    table.Add({std::to_string(i), time(before, i), time(after, i)});
  std::fputs(table.Text().c_str(), stdout);
  if (steps > limit) std::printf("  ... and %zu more (--limit)\n", steps - limit);
}

void ShowStallChanges(const Json& comparison, size_t limit) {
  const Json& stalls = comparison.at("stalls");
  if (stalls.empty()) {
    std::puts("\nno stalls, before or after");
    return;
  }
  std::puts("\nstalls, by what changed most:");
  for (size_t i = 0; i < std::min(stalls.size(), limit); ++i) {
    const Json& stall = stalls[i];
    const auto state = stall.at("state").get<std::string>();
    std::string times = TimeWords(stall.at(state == "gone" ? "before_nanos" : "after_nanos"));
    if (state == "stayed") {
      times = TimeWords(stall.at("before_nanos")) + " before, " + times + " after, " +
              DifferenceWords(stall);
    }
    std::printf("  %s: %s, %s: %s\n", state.c_str(), stall.at("kind").get<std::string>().c_str(),
                times.c_str(), stall.at("sentence").get<std::string>().c_str());
    if (state == "came") std::printf("        %s\n", stall.at("remedy").get<std::string>().c_str());
  }
}

void ShowWhereChanges(const Json& comparison) {
  std::puts("\nwhere it went (critical path):");
  TextTable table({"before", "after", "difference", "what"});
  for (const auto& [kind, change] : comparison.at("where").items()) {
    if (change.at("before_nanos") == 0 && change.at("after_nanos") == 0) continue;
    table.Add({TimeWords(change.at("before_nanos")), TimeWords(change.at("after_nanos")),
               DifferenceWords(change), KindWords(kind)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

std::string CallWords(const Json& node) {
  const std::string before = node.at("calls_before").dump(), after = node.at("calls_after").dump();
  return before == after ? after : before + " -> " + after;
}

std::string PlaceWords(const Json& node) {
  const auto device = node.at("device").get<std::string>();
  const std::string before = node.value("device_before", "");
  return before.empty() ? device : before + " -> " + device;
}

void ShowNodeChanges(const char* head, const std::vector<const Json*>& nodes, size_t limit) {
  if (nodes.empty()) return;
  std::printf("\n%s\n", head);
  TextTable table(
      {"before", "after", "difference", "of the path", "count", "node", "op", "device"});
  for (size_t i = 0; i < std::min(nodes.size(), limit); ++i) {
    const Json& node = *nodes[i];
    table.Add({TimeWords(node.at("before_nanos")), TimeWords(node.at("after_nanos")),
               DifferenceWords(node), DifferenceWords(node.at("critical_path")), CallWords(node),
               node.at("node").get<std::string>(), node.at("op").get<std::string>(),
               PlaceWords(node)});
  }
  std::fputs(table.Text().c_str(), stdout);
  if (nodes.size() > limit) std::printf("  ... and %zu more (--limit)\n", nodes.size() - limit);
}

void ShowNodeChanges(const Json& comparison, size_t limit) {
  std::vector<const Json*> longer, shorter;
  size_t noise = 0, same = 0;
  for (const Json& node : comparison.at("nodes")) {
    const bool moved = node.contains("device_before");
    const auto difference = node.at("difference_nanos").get<int64_t>();
    if (node.at("change") == "noise" && !moved) {
      ++noise;
    } else if (difference == 0 && !moved) {
      ++same;
    } else {
      (difference >= 0 ? longer : shorter).push_back(&node);
    }
  }
  std::reverse(shorter.begin(), shorter.end());
  ShowNodeChanges("nodes that take longer, worst first:", longer, limit);
  ShowNodeChanges("nodes that take less, most first:", shorter, limit);
  for (const auto& [key, head] : {std::pair("only_before", "nodes that were there only before:"),
                                  std::pair("only_after", "nodes that are there only now:")}) {
    std::vector<const Json*> nodes;
    for (const Json& node : comparison.at(key)) nodes.push_back(&node);
    ShowNodeChanges(head, nodes, limit);
  }
  std::printf("\n%s as long as before", Count(same, "node").c_str());
  if (noise > 0) std::printf(", %zu within the spread of the steps", noise);
  std::puts("");
}

void ShowComparison(const Json& comparison, size_t limit) {
  std::printf("%s\n\nbefore: %s\nafter:  %s\n",
              comparison.at("sentence").get<std::string>().c_str(),
              SideWords(comparison, "before").c_str(), SideWords(comparison, "after").c_str());
  if (comparison.at("time").at("change") == "unknown") {
    std::puts("one step a side: what is noise is not known; give several files a side");
  }
  ShowStepTimes(comparison, limit);
  ShowStallChanges(comparison, limit);
  ShowWhereChanges(comparison);
  ShowNodeChanges(comparison, limit);
  for (const char* side : {"before", "after"}) {
    for (const Json& note : comparison.at(side).at("notes"))
      std::fprintf(stderr, "thalweg: %s: %s\n", side, note.get<std::string>().c_str());
  }
}

void CompareTraces(CompareArgs args) {
  const bool is_named = !args.before.empty() || !args.after.empty();
  if (is_named ? !args.files.empty() || args.before.empty() || args.after.empty()
               : args.files.size() != 2) {
    throw CLI::ValidationError("compare",
                               "expected BEFORE AFTER, or --before FILE... --after FILE...");
  }
  if (!is_named) {
    args.before = {args.files[0]};
    args.after = {args.files[1]};
  }
  const std::vector<const char*> before = Pointers(args.before), after = Pointers(args.after);
  const Json comparison = GetJson([&](TwStatus* status) {
    return tw_trace_compare(before.data(), static_cast<int32_t>(before.size()), after.data(),
                            static_cast<int32_t>(after.size()), status);
  });
  args.json ? PrintJson(comparison) : ShowComparison(comparison, args.limit);
}

}  // namespace

void AddTraceCompare(CLI::App& trace) {
  const auto args = std::make_shared<CompareArgs>();
  CLI::App* const verb = trace.add_subcommand(
      "compare", "Shows what takes longer or less than before, step by step and node by node");
  verb->add_option("FILE", args->files, "RunMetadata of a step before, and of one after");
  verb->add_option("--before", args->before, "Files of several steps before");
  verb->add_option("--after", args->after, "Files of as many steps after, or of others");
  verb->add_option("--limit", args->limit, "Of each list (20)");
  verb->add_flag("--json", args->json, "For programs: all of it");
  verb->callback([args] { CompareTraces(*args); });
}

}  // namespace cli
