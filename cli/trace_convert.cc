// SPDX-License-Identifier: Apache-2.0
// `thalweg trace convert`: recordings as compact ones and back. Who else writes recordings asks for
// a compact one by its name, too.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "file_commands.h"
#include "file_work.h"
#include "npy.h"
#include "trace_words.h"

namespace cli {
namespace {

constexpr const char* kCompactEnding = ".trace";

struct RemakeArgs {
  std::string file, out;
  bool force = false;
};

bool IsCompactName(const std::string& name) {
  return std::filesystem::path(name).extension() == kCompactEnding;
}

std::string RemadeName(const RemakeArgs& args) {
  if (!args.out.empty()) return args.out;
  std::filesystem::path out(args.file);
  return out.replace_extension(IsCompactName(args.file) ? ".pb" : kCompactEnding).string();
}

std::string RemadeFor(const std::string& name, std::string_view recording) {
  return GetText([&](TwStatus* status) {
    return (IsCompactName(name) ? tw_trace_pack : tw_trace_unpack)(recording.data(),
                                                                   recording.size(), status);
  });
}

void ConvertTrace(const RemakeArgs& args) {
  const std::string out = RemadeName(args);
  std::string bytes;
  try {
    bytes = RemadeFor(out, ReadFile(args.file));
  } catch (const WorkError& e) {
    throw WorkError(args.file + ": " + e.what());
  }
  WriteText(out, bytes, args.force);
}

}  // namespace

std::string RecordingFor(const std::string& name, std::string_view metadata) {
  return IsCompactName(name) ? RemadeFor(name, metadata) : std::string(metadata);
}

void AddTraceConvert(CLI::App& trace) {
  const auto args = std::make_shared<RemakeArgs>();
  CLI::App* const verb = trace.add_subcommand(
      "convert",
      "Writes a recording in a fraction of its bytes, which all verbs read, or as it was before");
  verb->add_option("FILE", args->file,
                   "RunMetadata, binary or .pbtxt, or a .trace; also compressed by gzip")
      ->required();
  verb->add_option("-o,--out", args->out,
                   "The file: with the ending .trace compact, else RunMetadata (FILE.trace, of one "
                   "FILE.pb)");
  verb->add_flag("--force", args->force, "Replaces a file that is there");
  verb->callback([args] { ConvertTrace(*args); });
}

}  // namespace cli
