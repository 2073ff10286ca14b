// SPDX-License-Identifier: Apache-2.0
// `thalweg records`: what is in TFRecord files; new files of their records.
#include <unistd.h>

#include <memory>

#include "file_commands.h"
#include "file_work.h"

namespace cli {
namespace {

struct RecordsArgs {
  std::vector<std::string> paths;
  bool json = false, raw = false;
  std::string type;
  int64_t first = 0, count = -1;
  std::string out;
  bool force = false;
  std::string compression;
  uint64_t seed = 0;
  uint64_t memory = 0;
  uint64_t shards = 0, records = 0, bytes = 0;

  std::vector<const char*> Paths() const {
    std::vector<const char*> all;
    for (const std::string& path : paths) all.push_back(path.c_str());
    return all;
  }
};

class Records {
 public:
  explicit Records(const RecordsArgs& args)
      : paths_(args.Paths()),
        records_(tw_records_open(paths_.data(), static_cast<int32_t>(paths_.size()), status_.c)) {
    if (records_ == nullptr) throw WorkError(tw_status_message(status_.c));
  }
  // False at the end.
  bool Next() {
    const int32_t more = tw_records_next(records_.get(), &data, &size, status_.c);
    if (more < 0) throw WorkError(tw_status_message(status_.c));
    return more > 0;
  }
  std::string path() const { return tw_records_path(records_.get()); }
  uint64_t offset() const { return tw_records_offset(records_.get()); }

  const char* data = nullptr;
  size_t size = 0;

 private:
  tw::internal::StatusHolder status_;
  const std::vector<const char*> paths_;
  const tw::internal::Handle<TwRecords, &tw_records_free> records_;
};

std::string TextOfRecord(const Records& record, const char* form, const std::string& type) {
  try {
    return GetText([&](TwStatus* status) {
      return tw_record_text(record.data, record.size, form, type.c_str(), status);
    });
  } catch (const WorkError& e) {
    throw WorkError(record.path() + ": record at " + std::to_string(record.offset()) + ": " +
                    e.what());
  }
}

void Write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    throw WorkError("standard output cannot be written");
  }
}

// The records that are asked for.
template <class F>
void ForEachRecord(const RecordsArgs& args, F&& f) {
  Records records(args);
  for (int64_t i = 0; args.count < 0 || i < args.first + args.count; ++i) {
    if (!records.Next()) return;
    if (i >= args.first) f(records, i);
  }
}

void Head(const RecordsArgs& args) {
  ForEachRecord(args, [&](const Records& record, int64_t i) {
    if (args.json) {
      Write(TextOfRecord(record, "json", args.type) + "\n");
      return;
    }
    Write("record " + std::to_string(i) + ": " + Count(record.size, "byte") + " at " +
          std::to_string(record.offset()) + " of " + record.path() + "\n");
    Write(args.type.empty() ? TextOfRecord(record, "outline", "")
                            : TextOfRecord(record, "text", args.type));
  });
}

void Cat(const RecordsArgs& args) {
  ForEachRecord(args, [&](const Records& record, int64_t i) {
    if (args.raw) {
      Write({record.data, record.size});
    } else if (args.json) {
      Write(TextOfRecord(record, "json", args.type) + "\n");
    } else {
      Write((i == args.first ? "" : "\n") + TextOfRecord(record, "text", args.type));
    }
  });
}

std::string SpreadText(const Json& of, const char* key) {
  if (!of.contains(key)) return "-";
  const Json& spread = of.at(key);
  const std::string min = NumberText(spread.at("min")), max = NumberText(spread.at("max"));
  return min == max ? min : min + ".." + max;
}

void PrintStatistics(const Json& statistics) {
  std::printf("%s, %s of data: %s, %s, %s\n",
              Count(statistics.at("records").get<uint64_t>(), "record").c_str(),
              BytesText(statistics.at("bytes").get<double>()).c_str(),
              Count(statistics.at("examples").get<uint64_t>(), "Example").c_str(),
              Count(statistics.at("sequence_examples").get<uint64_t>(), "SequenceExample").c_str(),
              Count(statistics.at("others").get<uint64_t>(), "other").c_str());
  if (statistics.contains("record_bytes")) {
    const Json& sizes = statistics.at("record_bytes");
    const auto at = [&](const char* key) { return NumberText(sizes.at(key)); };
    std::printf("bytes of a record: %s to %s, mean %s; half have at most %s, 90 %% %s, 99 %% %s\n",
                at("min").c_str(), at("max").c_str(), at("mean").c_str(), at("p50").c_str(),
                at("p90").c_str(), at("p99").c_str());
  }
  TextTable table(
      {"feature", "kind", "in records", "missing", "steps", "values", "bytes", "range", "mean"});
  for (const Json& feature : statistics.at("features")) {
    std::string kinds;
    for (const auto& [kind, n] : feature.at("kinds").items()) {
      kinds += (kinds.empty() ? "" : ", ") + kind;
    }
    const std::string place = feature.at("place");
    table.Add({(place == "features" ? "" : place + "/") + feature.at("name").get<std::string>(),
               kinds, NumberText(feature.at("records")), NumberText(feature.at("missing")),
               SpreadText(feature, "steps"), SpreadText(feature, "values"),
               SpreadText(feature, "bytes"), SpreadText(feature, "numbers"),
               feature.contains("numbers") ? NumberText(feature.at("numbers").at("mean")) : "-"});
  }
  if (!table.empty()) Write(table.Text());
}

void Statistics(const RecordsArgs& args) {
  const std::vector<const char*> paths = args.Paths();
  const Json statistics =
      FileWork("reading").Get([&](TwProgress tell, void* context, TwStatus* status) {
        return tw_records_statistics(paths.data(), static_cast<int32_t>(paths.size()), tell,
                                     context, status);
      });
  if (args.json) {
    PrintJson(statistics);
  } else {
    PrintStatistics(statistics);
  }
}

void VerifyRecords(const RecordsArgs& args) {
  const std::vector<const char*> paths = args.Paths();
  const Json audit =
      FileWork("verifying").Get([&](TwProgress tell, void* context, TwStatus* status) {
        return tw_records_verify(paths.data(), static_cast<int32_t>(paths.size()), tell, context,
                                 status);
      });
  PrintAudit(audit, args.json, "record");
}

using RewriteFn = TwBuffer* (*)(const char* const*, int32_t, const char*, const TwRewriteOptions*,
                                TwProgress, void*, TwStatus*);

void Rewrite(const RecordsArgs& args, const char* verb, RewriteFn rewrite) {
  TwRewriteOptions options{};
  options.struct_size = sizeof(options);
  options.replace = args.force ? 1 : 0;
  options.shards = args.shards;
  options.records = args.records;
  options.bytes = args.bytes;
  options.seed = args.seed;
  options.memory = args.memory;
  options.compression = args.compression.c_str();
  const std::vector<const char*> paths = args.Paths();
  const Json result = FileWork(verb).Get([&](TwProgress tell, void* context, TwStatus* status) {
    return rewrite(paths.data(), static_cast<int32_t>(paths.size()), args.out.c_str(), &options,
                   tell, context, status);
  });
  if (args.json) {
    PrintJson(result);
    return;
  }
  const Json& files = result.at("files");
  std::string text = Count(result.at("records").get<uint64_t>(), "record") + ", " +
                     BytesText(result.at("bytes").get<double>()) + ": " +
                     files.front().get<std::string>();
  if (files.size() > 1) {
    text += " to " + files.back().get<std::string>() + ", " + Count(files.size(), "file");
  }
  if (result.contains("seed")) text += "; seed " + result.at("seed").dump();
  Write(text + "\n");
}

}  // namespace

void AddRecords(CLI::App& app) {
  const auto args = std::make_shared<RecordsArgs>();
  CLI::App* const all = app.add_subcommand("records", "What is in TFRecord files; new files of it");
  all->require_subcommand(1);
  const auto add = [&](const char* name, const std::string& does) {
    CLI::App* const verb = all->add_subcommand(name, does);
    verb->add_option("FILE", args->paths, "TFRecord files; compressed with gzip or zlib, or not")
        ->required();
    verb->add_flag("--json", args->json, "For programs");
    return verb;
  };
  const auto add_range = [&](CLI::App* verb, const char* count) {
    verb->add_option("--skip", args->first, "So many records first (0)")
        ->check(CLI::NonNegativeNumber);
    verb->add_option("-n,--records", args->count, count);
    verb->add_option("--type", args->type,
                     "Of the messages: tensorflow.Event; by default Example or SequenceExample");
  };
  CLI::App* const head = add("head", "Shows the first records: a line for each feature");
  add_range(head, "How many (5)");
  head->callback([args] {
    if (args->count < 0) args->count = 5;
    Head(*args);
  });
  CLI::App* const cat = add("cat", "Writes records as text (.pbtxt), as JSON, or as they are");
  add_range(cat, "How many (all)");
  cat->add_flag("--raw", args->raw, "Their bytes, one behind the other")->excludes("--json");
  cat->callback([args] { Cat(*args); });
  add("stats", "Numbers, sizes, features: kinds, lengths, ranges")->callback([args] {
    Statistics(*args);
  });
  add("verify", "Checks every checksum. Status 1 where there is damage")->callback([args] {
    VerifyRecords(*args);
  });

  const auto add_output = [&](CLI::App* verb, const char* what) {
    verb->add_option("--out", args->out, what)->required();
    verb->add_flag("--force", args->force, "Replace files that are there");
    verb->add_option("--compression", args->compression,
                     "gzip, zlib or none; by default as the files are that are read")
        ->transform(CLI::IsMember({"GZIP", "ZLIB", "NONE"}, CLI::ignore_case));
  };
  CLI::App* const shuffle =
      add("shuffle", "Writes the records in random order, also more than memory holds");
  add_output(shuffle, "The new file; with --shards, what their names begin with");
  shuffle->add_option("--seed", args->seed, "The same seed gives the same order (0)");
  shuffle
      ->add_option("--memory", args->memory,
                   "Of records at once (1GB); what is more goes through temporary files")
      ->transform(CLI::AsSizeValue(false));
  shuffle->add_option("--shards", args->shards, "So many files: OUT-00000-of-00008")
      ->check(CLI::Range(1, 99999));
  shuffle->callback([args] { Rewrite(*args, "shuffling", tw_records_shuffle); });

  CLI::App* const split = add("split", "Writes the records, in their order, in several files");
  add_output(split, "What their names begin with: OUT-00000-of-00008");
  CLI::Option_group* const by = split->add_option_group("size");
  by->add_option("--shards", args->shards, "So many files")->check(CLI::Range(1, 99999));
  by->add_option("--records", args->records, "So many records in each")->check(CLI::PositiveNumber);
  by->add_option("--bytes", args->bytes,
                 "At most so many bytes in each, before compression (as 100MB)")
      ->transform(CLI::AsSizeValue(false));
  by->require_option(1);
  split->callback([args] { Rewrite(*args, "splitting", tw_records_split); });
}

}  // namespace cli
