// SPDX-License-Identifier: Apache-2.0
#include "other_ways.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "file_work.h"
#include "other_program.h"
#include "record_with_tensorflow.h"
#include "recording.h"

namespace cli {
namespace {

constexpr int kMostThreads = 4096;
constexpr int kMostDevices = 64;

// Nothing where it is none, or more.
std::optional<int> NumberIn(const std::string& text, int least, int most) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || at != end || number < least || number > most) return std::nullopt;
  return number;
}

// Virtual processors, so that the one that is named is there.
int ProcessorsFor(const std::string& device) {
  std::string lower = device;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t at = lower.rfind("cpu:");
  if (at == std::string::npos) return 1;
  return NumberIn(lower.substr(at + 4), 0, kMostDevices - 1).value_or(0) + 1;
}

NamedArrays RecordHere(const OtherWay& way, const VerifyArgs& args,
                       const tw::ModelSignature& signature, const NamedArrays& feeds) {
  tw::Environment::Options size;
  tw::ModelOptions options{.tags = args.tags};
  if (way.kind == "threads") size.threads = NumberIn(way.value, 1, kMostThreads).value() - 1;
  if (way.kind == "passes") options.passes = way.value;
  if (way.kind == "device") {
    size.cpu_devices = ProcessorsFor(way.value);
    options.device = way.value;
  }
  const tw::Environment environment = tw::Environment::Create(size).OrThrow();
  return RecordStep(tw::Model::Load(environment, args.model, options).OrThrow(), signature, feeds);
}

struct Build {
  std::string command;
  std::string library_folder;  // ""; the command knows
};

// A program, an installation or the folder of a Python package.
Build FindBuild(const std::string& path) {
  namespace fs = std::filesystem;
  for (const char* place : {"", "bin/thalweg", "thalweg/bin/thalweg"}) {
    const fs::path command = *place == 0 ? fs::path(path) : fs::path(path) / place;
    if (!fs::is_regular_file(command)) continue;
    const fs::path above = fs::absolute(command).parent_path().parent_path();
    for (const fs::path& folder : {above, above / "lib"}) {
      if (fs::exists(folder / "libthalweg.so.0")) return {command, folder};
    }
    return {command, ""};
  }
  throw FileError(path + ": expected a thalweg program, or the folder of a package that has one");
}

std::vector<std::string> WriteFeeds(const NamedArrays& feeds, const TemporaryFolder& folder) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : feeds) {
    const std::string file = folder.Path(std::to_string(texts.size()) + ".npy");
    WriteFile(file, NpyOf(value, name));
    texts.push_back(name + "=" + file);
  }
  return texts;
}

NamedArrays RecordByProgram(const OtherWay& way, const VerifyArgs& args,
                            const tw::ModelSignature& signature, const NamedArrays& feeds) {
  FileWork work("verifying");
  const TemporaryFolder folder;
  const std::string out = folder.Path("recorded.npz");
  const std::vector<std::string> given = WriteFeeds(feeds, folder);
  if (way.kind == "framework") {
    if (signature.name != "serving_default") {
      throw WorkError("TensorFlow is asked for serving_default alone, not for '" + signature.name +
                      "'");
    }
    std::vector<std::string> command = {args.python, "-c", kRecordWithTensorflow, args.model, out};
    command.insert(command.end(), given.begin(), given.end());
    RunProgram(command, "", &work);
    return ReadNpz(out);
  }
  const Build build = FindBuild(way.value);
  std::vector<std::string> command = {build.command, "run",         args.model,    "--record",
                                      out,           "--signature", signature.name};
  for (const std::string& feed : given) command.insert(command.end(), {"--feed", feed});
  std::string tags;
  for (const std::string& tag : args.tags) tags += (tags.empty() ? "" : ",") + tag;
  if (!tags.empty()) command.insert(command.end(), {"--tags", tags});
  RunProgram(command, build.library_folder, &work);
  return ReadNpz(out);
}

}  // namespace

OtherWay ParseOtherWay(const std::string& text) {
  const size_t equals = text.find('=');
  OtherWay way{text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
  const bool is_known = way.kind == "threads" ? NumberIn(way.value, 1, kMostThreads).has_value()
                        : way.kind == "framework"
                            ? way.value == "tensorflow"
                            : way.kind == "device" || way.kind == "passes" || way.kind == "build";
  if (is_known && !way.value.empty()) return way;
  throw WorkError(
      "--against needs threads=N, device=NAME, passes=LIST, build=PATH or framework=tensorflow, "
      "got '" +
      text + "'");
}

NamedArrays RecordInOtherWay(const OtherWay& way, const VerifyArgs& args,
                             const tw::ModelSignature& signature, const NamedArrays& feeds) {
  const bool is_here = way.kind != "build" && way.kind != "framework";
  return is_here ? RecordHere(way, args, signature, feeds)
                 : RecordByProgram(way, args, signature, feeds);
}

}  // namespace cli
