// SPDX-License-Identifier: Apache-2.0
// `thalweg checkpoint`: what is in checkpoints, how two differ, whether one is whole.
#include <filesystem>
#include <memory>

#include "file_commands.h"
#include "file_work.h"
#include "new_file.h"
#include "npy.h"

namespace cli {
namespace {

struct CheckpointArgs {
  std::string path, other;
  std::vector<std::string> names;
  bool json = false;
  bool by_size = false;
  int64_t limit = 100;
  std::string out;
  bool force = false;
  double atol = 0, rtol = 0;
};

// What people call a checkpoint: its prefix, one of its files, a directory with some, a SavedModel.
std::string PrefixOf(const std::string& given) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (fs::is_directory(given, ignored)) {
    const fs::path variables = fs::path(given) / "variables" / "variables";
    if (fs::exists(variables.string() + ".index", ignored)) return variables.string();
    return GetText([&](TwStatus* status) { return tw_latest_checkpoint(given.c_str(), status); });
  }
  const std::string kind = fs::path(given).extension().string();
  const bool is_file = kind == ".index" || kind == ".meta" || kind.starts_with(".data-");
  const std::string prefix = is_file ? given.substr(0, given.size() - kind.size()) : given;
  return fs::exists(prefix + ".index", ignored) ? prefix : given;
}

// One that is open, whose index is read once.
class Checkpoint {
 public:
  explicit Checkpoint(const std::string& path)
      : checkpoint_(tw_checkpoint_open(path.c_str(), status_.c)) {
    if (checkpoint_ == nullptr) throw WorkError(tw_status_message(status_.c));
  }
  Json List() const {
    return GetJson([&](TwStatus* status) { return tw_checkpoint_list(get(), status); });
  }
  Json Show(const std::string& name, int64_t limit) const {
    return GetJson(
        [&](TwStatus* status) { return tw_checkpoint_show(get(), name.c_str(), limit, status); });
  }
  // Tensor i of the list.
  tw::Tensor Read(int32_t i) const {
    TwTensor* const value = tw_checkpoint_read(get(), i, status_.c);
    if (value == nullptr) throw WorkError(tw_status_message(status_.c));
    return tw::Tensor(value);
  }

 private:
  const TwCheckpoint* get() const { return checkpoint_.get(); }

  tw::internal::StatusHolder status_;
  const tw::internal::Handle<TwCheckpoint, &tw_checkpoint_free> checkpoint_;
};

void List(const CheckpointArgs& args) {
  const std::string path = PrefixOf(args.path);
  Json listing = Checkpoint(path).List();
  Json& tensors = listing.at("tensors");
  std::vector<Json> shown;
  for (const Json& tensor : tensors) {
    if (Matches(tensor.at("name"), args.names)) shown.push_back(tensor);
  }
  if (args.by_size) {
    std::ranges::stable_sort(shown, std::greater(), [](const Json& tensor) {
      return tensor.at("bytes").is_null() ? uint64_t{0} : tensor.at("bytes").get<uint64_t>();
    });
  }
  if (args.json) {
    tensors = shown;
    PrintJson(listing);
    return;
  }
  std::printf("%s (format %s): %s, %s, %s\n", path.c_str(),
              listing.at("format").get<std::string>().c_str(),
              Count(tensors.size(), "tensor").c_str(),
              Count(listing.at("elements").get<uint64_t>(), "element").c_str(),
              BytesText(listing.at("bytes").get<double>()).c_str());
  TextTable table({"name", "dtype", "shape", "bytes", "slices"});
  for (const Json& tensor : shown) {
    const auto slices = tensor.at("slices").get<uint64_t>();
    table.Add({tensor.at("name"), tensor.at("dtype"), ShapeText(tensor.at("shape")),
               NumberText(tensor.at("bytes")), slices == 0 ? "-" : std::to_string(slices)});
  }
  if (!table.empty()) std::fputs(table.Text().c_str(), stdout);
}

// "[1,0:3]": where the values of a line stand.
std::string RowText(int64_t row, const Json& shape) {
  std::string text;
  for (size_t i = shape.size() - 1; i-- > 0;) {
    const auto dim = shape[i].get<int64_t>();
    text = std::to_string(row % dim) + "," + text;
    row /= dim;
  }
  return "[" + text + ":]";
}

void PrintTensor(const Json& tensor) {
  const Json& shape = tensor.at("shape");
  std::printf("%s  %s %s\n", tensor.at("name").get<std::string>().c_str(),
              tensor.at("dtype").get<std::string>().c_str(), ShapeText(shape).c_str());
  std::string statistics;
  for (const auto& [key, value] : tensor.at("statistics").items()) {
    statistics += (statistics.empty() ? "" : ", ") + key + " " + NumberText(value);
  }
  if (!statistics.empty()) std::printf("  %s\n", statistics.c_str());
  const Json& values = tensor.at("values");
  const size_t columns = shape.empty() ? 1 : shape.back().get<size_t>();
  for (size_t i = 0; i < values.size(); i += columns) {
    std::string line = shape.empty() ? "[]" : RowText(static_cast<int64_t>(i / columns), shape);
    for (size_t j = i; j < std::min(values.size(), i + columns); ++j) {
      line += " " + ElementText(values[j], tensor.at("dtype"));
    }
    std::printf("  %s\n", line.c_str());
  }
  if (values.size() < tensor.at("elements").get<size_t>()) {
    std::printf("  ... %s of %s; --limit shows more\n", std::to_string(values.size()).c_str(),
                Count(tensor.at("elements").get<uint64_t>(), "value").c_str());
  }
}

void WriteValues(const CheckpointArgs& args, const Checkpoint& checkpoint,
                 const std::vector<std::pair<int32_t, std::string>>& chosen) {
  FileWork work("reading");
  NewFile file(args.out, args.force);
  std::vector<std::pair<std::string, tw::Tensor>> arrays;
  uint64_t bytes = 0;
  for (const auto& [i, name] : chosen) {
    arrays.emplace_back(name, checkpoint.Read(i));
    bytes += tw_tensor_bytes(arrays.back().second.c());
    work.GoOn(bytes, 0);
  }
  WriteNpz(file.path(), arrays);
  work.GoOn(bytes, bytes);
  file.Keep();
}

void ShowTensors(const CheckpointArgs& args) {
  const std::string path = PrefixOf(args.path);
  const Checkpoint checkpoint(path);
  const Json listing = checkpoint.List();
  std::vector<std::pair<int32_t, std::string>> chosen;
  for (const Json& tensor : listing.at("tensors")) {
    const std::string name = tensor.at("name");
    if (Matches(name, args.names)) {
      chosen.emplace_back(static_cast<int32_t>(&tensor - &listing.at("tensors")[0]), name);
    }
  }
  for (const std::string& pattern : args.names) {
    if (std::ranges::none_of(chosen, [&](const auto& c) { return Matches(c.second, {pattern}); })) {
      throw WorkError(path + ": no tensor is called '" + pattern + "'; `thalweg checkpoint ls " +
                      path + "` lists " + Count(listing.at("tensors").size(), "name"));
    }
  }
  if (!args.out.empty()) {
    WriteValues(args, checkpoint, chosen);
    return;
  }
  Json all = Json::array();
  for (const auto& [i, name] : chosen) {
    Json tensor = checkpoint.Show(name, args.limit);
    if (args.json) {
      all.push_back(std::move(tensor));
    } else {
      PrintTensor(tensor);
    }
  }
  if (args.json) PrintJson(all);
}

void PrintDifference(const Json& difference) {
  for (const char* side : {"only_a", "only_b"}) {
    for (const Json& tensor : difference.at(side)) {
      std::printf("%s %s  %s %s\n", side[5] == 'a' ? "-" : "+",
                  tensor.at("name").get<std::string>().c_str(),
                  tensor.at("dtype").get<std::string>().c_str(),
                  ShapeText(tensor.at("shape")).c_str());
    }
  }
  const auto kind = [](const Json& of) {
    return of.at("dtype").get<std::string>() + " " + ShapeText(of.at("shape"));
  };
  for (const Json& tensor : difference.at("kinds")) {
    std::printf("! %s  %s, then %s\n", tensor.at("name").get<std::string>().c_str(),
                kind(tensor.at("a")).c_str(), kind(tensor.at("b")).c_str());
  }
  if (!difference.at("values").empty()) {
    TextTable table(
        {"values differ", "shape", "differing", "of", "max abs", "max rel", "first at", "a", "b"});
    for (const Json& value : difference.at("values")) {
      const auto number = [&](const char* key) {
        return value.contains(key) ? NumberText(value.at(key)) : "-";
      };
      table.Add({value.at("name"), ShapeText(value.at("shape")), number("differing"),
                 number("elements"), number("max_abs"), number("max_rel"),
                 ShapeText(value.at("first")), ElementText(value.at("a"), value.at("dtype")),
                 ElementText(value.at("b"), value.at("dtype"))});
    }
    std::fputs(table.Text().c_str(), stdout);
  }
  std::printf(
      "%s equal, %s only in the first, %s only in the second, %s of another kind, %s with "
      "other values\n",
      Count(difference.at("equal").get<uint64_t>(), "tensor").c_str(),
      std::to_string(difference.at("only_a").size()).c_str(),
      std::to_string(difference.at("only_b").size()).c_str(),
      std::to_string(difference.at("kinds").size()).c_str(),
      std::to_string(difference.at("values").size()).c_str());
}

void Compare(const CheckpointArgs& args) {
  const std::string a = PrefixOf(args.path), b = PrefixOf(args.other);
  const Json difference =
      FileWork("comparing").Get([&](TwProgress tell, void* context, TwStatus* status) {
        return tw_checkpoint_compare(a.c_str(), b.c_str(), args.atol, args.rtol, tell, context,
                                     status);
      });
  if (args.json) {
    PrintJson(difference);
  } else {
    PrintDifference(difference);
  }
  if (!difference.at("same").get<bool>()) throw WorkError("the checkpoints differ");
}

void Verify(const CheckpointArgs& args) {
  const std::string path = PrefixOf(args.path);
  const Json audit =
      FileWork("verifying").Get([&](TwProgress tell, void* context, TwStatus* status) {
        return tw_checkpoint_verify(path.c_str(), tell, context, status);
      });
  PrintAudit(audit, args.json, "tensor");
}

}  // namespace

void AddCheckpoint(CLI::App& app) {
  const auto args = std::make_shared<CheckpointArgs>();
  CLI::App* const all =
      app.add_subcommand("checkpoint", "What is in checkpoints of formats V2 and V1");
  all->require_subcommand(1);
  const std::string what =
      "Its prefix (model-7), one of its files, a directory with checkpoints (the "
      "newest), or a SavedModel";
  const auto add = [&](const char* name, const std::string& does) {
    CLI::App* const verb = all->add_subcommand(name, does);
    verb->add_option("CHECKPOINT", args->path, what)->required();
    verb->add_flag("--json", args->json, "For programs");
    return verb;
  };
  CLI::App* const ls = add("ls", "Lists tensors: name, type, shape, bytes");
  ls->add_option("PATTERN", args->names, "Only names that match one: layer1/*");
  ls->add_flag("--by-size", args->by_size, "The largest first");
  ls->callback([args] { List(*args); });

  CLI::App* const show = add("show", "Shows tensors: statistics and values");
  show->add_option("NAME", args->names, "Names or patterns")->required();
  show->add_option("--limit", args->limit, "How many values of each (100); -1: all");
  show->add_option("--out", args->out, "FILE.npz for the values, instead");
  show->add_flag("--force", args->force, "Replace the file");
  show->callback([args] { ShowTensors(*args); });

  CLI::App* const diff = add(
      "diff", "Compares two checkpoints: names, types, shapes, values. Status 1 where they differ");
  diff->add_option("OTHER", args->other, "The second one")->required();
  const std::string tolerance =
      "Floating-point values a and b are equal where |a - b| <= atol + rtol |b|";
  diff->add_option("--atol", args->atol, tolerance + " (0)")->check(CLI::NonNegativeNumber);
  diff->add_option("--rtol", args->rtol, "As --atol (0)")->check(CLI::NonNegativeNumber);
  diff->callback([args] { Compare(*args); });

  CLI::App* const verify =
      add("verify", "Checks every checksum of index and data. Status 1 where there is damage");
  verify->callback([args] { Verify(*args); });
}

}  // namespace cli
