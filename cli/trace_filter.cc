// SPDX-License-Identifier: Apache-2.0
// The filter of `thalweg trace`: one for all verbs.
#include "trace_filter.h"

#include "file_work.h"
#include "time_option.h"

namespace cli {
std::string TraceFilterArgs::Tell(const std::vector<std::string>& files, TwTraceForm form,
                                  int64_t step) const {
  const std::vector<const char*> paths = Pointers(files), task_texts = Pointers(tasks),
                                 node_texts = Pointers(nodes);
  TwTraceOptions options{};
  options.struct_size = sizeof options;
  options.step = step;
  options.tasks = task_texts.data();
  options.num_tasks = static_cast<int32_t>(task_texts.size());
  options.nodes = node_texts.data();
  options.num_nodes = static_cast<int32_t>(node_texts.size());
  options.min_nanos = min_nanos;
  options.from_nanos = from_nanos;
  options.to_nanos = to_nanos;
  options.min_bytes = min_bytes;
  return GetText([&](TwStatus* status) {
    return tw_trace_tell(paths.data(), static_cast<int32_t>(paths.size()), form, &options, status);
  });
}

void AddTraceFilter(CLI::App& verb, TraceFilterArgs* args) {
  verb.add_option("--task", args->tasks,
                  "Only of these tasks: worker/0, worker, or a pattern (may be repeated)")
      ->allow_extra_args(false);
  verb.add_option("--node", args->nodes,
                  "Only nodes of this name, or pattern: 'layer1/*' (may be repeated)")
      ->allow_extra_args(false);
  AddTimeOption(verb, "--min-duration", &args->min_nanos, "Only what takes at least as long: 10us");
  verb.add_option("--min-bytes", args->min_bytes,
                  "Only nodes that put out, and transfers of, at least as many: 1MB")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  AddTimeOption(verb, "--from", &args->from_nanos,
                "Only what ends after this time of the trace: 1.5ms");
  AddTimeOption(verb, "--to", &args->to_nanos, "Only what starts before this time of the trace");
  verb.parse_complete_callback([&verb, args] {
    if (verb.count("--to") > 0 && args->to_nanos <= args->from_nanos) {
      throw CLI::ValidationError("--to", "expected a time after that of --from");
    }
  });
}

}  // namespace cli
