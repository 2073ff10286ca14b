// SPDX-License-Identifier: Apache-2.0
// `thalweg trace record`: traces of steps that a server runs for its clients.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "file_commands.h"
#include "file_work.h"
#include "first_signal.h"
#include "new_file.h"
#include "npy.h"
#include "time_option.h"
#include "trace_words.h"

namespace cli {
namespace {

constexpr int64_t kMicrosecond = 1000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kDay = 24 * 3600 * int64_t{1'000'000'000};

struct RecordArgs {
  std::string target;
  std::string out = "step.pb";
  std::string session, node;
  int64_t steps = 1;
  int64_t slower_than = -1;          // nanoseconds; below 0: no matter
  int64_t timeout = 60'000'000'000;  // nanoseconds
  int64_t max_bytes = int64_t{256} << 20;
  bool failing = false, view = false, force = false;
};

using RecordingHandle = tw::internal::Handle<TwRecording, &tw_recording_free>;
using OptionsHandle = tw::internal::Handle<TwRunOptions, &tw_run_options_free>;

// "step.pb", or "step-1.pb", "step-2.pb" of several.
std::vector<std::string> FileNames(const RecordArgs& args, size_t steps) {
  if (args.steps == 1) return {args.out};
  const std::filesystem::path out(args.out);
  std::vector<std::string> names;
  for (size_t i = 1; i <= steps; ++i) {
    std::filesystem::path name = out;
    name.replace_filename(out.stem().string() + "-" + std::to_string(i) + out.extension().string());
    names.push_back(name.string());
  }
  return names;
}

std::string PageName(const RecordArgs& args) {
  return std::filesystem::path(args.out).replace_extension(".html").string();
}

// Each can be written: now, and not when a step that may never come again has been recorded. False:
// what they are is no file, and cannot be read again.
bool CheckNames(const RecordArgs& args) {
  if (args.out.empty()) throw FileError("-o: expected the name of a file, got an empty one");
  const std::vector<std::string> names = FileNames(args, static_cast<size_t>(args.steps));
  bool are_files = true;
  for (const std::string& name : names) {
    are_files = NewFile(name, args.force).is_regular() && are_files;
  }
  if (!args.view) return are_files;
  const std::string page = PageName(args);
  if (!are_files) throw FileError(names.front() + ": it is no file, which --view needs");
  if (std::ranges::find(names, page) != names.end()) {
    throw FileError(page + ": --view writes its page there; give the trace another name (-o)");
  }
  const NewFile proves(page, args.force);
  return are_files;
}

// Where a file has appeared since then, another one.
std::string FreeName(const std::string& name, bool force) {
  std::error_code ignored;
  const std::filesystem::path path(name);
  std::filesystem::path free = path;
  for (int i = 2; !force && std::filesystem::is_regular_file(free, ignored); ++i) {
    free.replace_filename(path.stem().string() + "-" + std::to_string(i) +
                          path.extension().string());
  }
  if (free != path) {
    std::fprintf(stderr, "thalweg: %s has appeared meanwhile; the trace is %s\n", name.c_str(),
                 free.c_str());
  }
  return free.string();
}

std::string WhichSteps(const RecordArgs& args) {
  const std::string which = Count(static_cast<uint64_t>(args.steps), "step");
  const std::string slow = args.slower_than < 0 ? "" : TimeText(args.slower_than);
  std::string text = slow.empty() && !args.failing ? "the next " + which
                     : slow.empty()                ? which + " that fails"
                     : !args.failing               ? which + " slower than " + slow
                                     : which + " that fails or is slower than " + slow;
  if (!args.node.empty()) text += " with " + args.node;
  if (!args.session.empty()) text += " of session " + args.session;
  return text;
}

RecordingHandle Record(const RecordArgs& args) {
  TwRecordOptions options;
  tw_record_options_init(&options);
  options.steps = args.steps;
  if (args.slower_than >= 0) options.slower_than_us = args.slower_than / kMicrosecond;
  options.failing = args.failing ? 1 : 0;
  options.timeout_ms = args.timeout / kMillisecond;
  options.max_bytes = args.max_bytes;
  options.session = args.session.c_str();
  options.node = args.node.c_str();
  std::fprintf(stderr, "recording %s of %s, for %s at most; Ctrl-C ends it with what it has\n",
               WhichSteps(args).c_str(), args.target.c_str(), TimeText(args.timeout).c_str());
  const tw::internal::StatusHolder status;
  const OptionsHandle run(tw_run_options_new());
  const FirstSignal signal([&] {
    std::fputs("ending; Ctrl-C again does not wait for what is recorded\n", stderr);
    tw_run_options_cancel(run.get());
  });
  RecordingHandle recording(tw_trace_record(args.target.c_str(), &options, run.get(), status.c));
  if (recording == nullptr && signal.came()) throw WorkError("ended before a step was recorded");
  if (recording == nullptr) throw WorkError(Plain(status.Take().message()));
  return recording;
}

// Why there are fewer steps than were asked for; empty: there are not.
std::string WhyFewer(const RecordArgs& args, const Json& report) {
  const size_t found = report.at("steps").size();
  if (static_cast<int64_t>(found) >= args.steps) return "";
  const auto seen = report.at("seen").get<uint64_t>();
  const auto open = report.at("open").get<uint64_t>();
  std::string text = Count(found, "step") + " of " + std::to_string(args.steps) + " recorded: ";
  if (const auto large = report.at("too_large_bytes").get<double>(); large > 0) {
    return text + "the next trace has " + BytesText(large) + ", and " +
           BytesText(static_cast<double>(args.max_bytes)) +
           " are kept of all (--max-bytes, up to 1 GiB)";
  }
  if (const std::string ended = report.at("ended_by"); !ended.empty()) return text + Plain(ended);
  text += "within " + TimeText(args.timeout) + " ";
  if (seen == 0) {
    return text + "no step" + (args.node.empty() ? "" : " with " + args.node) +
           (args.session.empty() ? "" : " of session " + args.session) + " began at " +
           args.target +
           "; the task that clients have as their target records (`thalweg top` shows which has "
           "steps), and partial runs are not recorded";
  }
  text += Count(seen, "step") + " began there";
  if (open > 0) {
    text += ", of which " + std::to_string(open) +
            " had not ended (`thalweg debug dump` says for what they wait)";
  }
  return text;
}

void SayStep(std::FILE* to, const std::string& file, size_t bytes, const Json& step) {
  std::fprintf(to, "%s: %s, step %s of session %s, %s\n", file.c_str(),
               BytesText(static_cast<double>(bytes)).c_str(), step.at("id").dump().c_str(),
               Plain(step.at("session").get<std::string>()).c_str(),
               TimeWords(step.at("nanos")).c_str());
  if (const auto code = step.at("code").get<int>(); code != 0) {
    std::fprintf(to, "  failed: %s: %s\n", tw_code_name(static_cast<TwCode>(code)),
                 Plain(step.at("error").get<std::string>()).c_str());
  }
  for (const Json& task : step.at("silent")) {
    std::fprintf(to,
                 "  nothing is known of %s: it was lost, or the error ended its part before it "
                 "could tell\n",
                 Plain(task.get<std::string>()).c_str());
  }
}

void RecordTrace(const RecordArgs& args) {
  const bool are_files = CheckNames(args);
  const RecordingHandle recording = Record(args);
  const Json report =
      GetJson([&](TwStatus* status) { return tw_recording_report(recording.get(), status); });
  const Json& steps = report.at("steps");
  const std::string why = WhyFewer(args, report);
  if (steps.empty()) throw WorkError(why);
  std::vector<std::string> files = FileNames(args, steps.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    size_t size = 0;
    files[i] = FreeName(files[i], args.force);
    const void* const bytes =
        tw_recording_metadata(recording.get(), static_cast<int64_t>(i), &size);
    const std::string written = RecordingFor(args.out, {static_cast<const char*>(bytes), size});
    KeepFile(files[i], written, args.force);
    SayStep(are_files ? stdout : stderr, files[i], written.size(), steps[i]);
  }
  if (!why.empty()) std::fprintf(stderr, "thalweg: %s\n", why.c_str());
  if (!are_files) return;
  try {
    constexpr size_t kStalls = 3;
    std::puts("");
    ShowTraceHead(files, kStalls);
    if (args.view) WritePage(files, PageName(args), args.force);
  } catch (const WorkError& e) {  // of a step whose tasks told nothing
    std::fprintf(stderr, "thalweg: %s\n", e.what());
  }
}

}  // namespace

void AddTraceRecord(CLI::App& trace) {
  const auto args = std::make_shared<RecordArgs>();
  CLI::App* const verb = trace.add_subcommand(
      "record",
      "Records steps that a server runs for its clients, over all tasks, without changing the "
      "program");
  verb->add_option("TARGET", args->target,
                   "grpc://HOST:PORT of the task that clients have as their target")
      ->required();
  verb->add_option(
      "-o,--out", args->out,
      "The file (step.pb); of several step-1.pb, step-2.pb; with the ending .trace compact");
  verb->add_option("--steps", args->steps, "How many (1)")->check(CLI::Range(1, 10'000));
  AddTimeOption(
      *verb, "--slower-than", &args->slower_than,
      "Only steps that take longer, as 50ms or 2s; each is traced until then, and thrown away");
  verb->add_flag("--failing", args->failing,
                 "Only steps that end with an error, with what was seen until then");
  AddTimeOption(*verb, "--timeout", &args->timeout,
                "How long to wait for them, as 30s or 10min (60s)", kMillisecond, kDay);
  verb->add_option("--node", args->node, "Only steps that fetch this tensor or run this node");
  verb->add_option("--session", args->session, "Only steps of the session of this handle");
  verb->add_option("--max-bytes", args->max_bytes, "Of all traces, as 64MB; at most 1GB (256MB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30));
  verb->add_flag("--view", args->view, "Also writes the page of `thalweg trace view`");
  verb->add_flag("--force", args->force, "Replaces files that are there");
  verb->callback([args] { RecordTrace(*args); });
}

}  // namespace cli
