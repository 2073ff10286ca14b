// SPDX-License-Identifier: Apache-2.0
// The functions of the C ABI that look into files.
#include "thalweg/api/handles.h"
#include "thalweg/files/checkpoint_audit.h"
#include "thalweg/files/checkpoint_difference.h"
#include "thalweg/files/event_tags.h"
#include "thalweg/files/record_audit.h"
#include "thalweg/files/record_files.h"
#include "thalweg/files/record_shuffle.h"
#include "thalweg/files/record_split.h"
#include "thalweg/files/record_statistics.h"
#include "thalweg/files/record_text.h"
#include "thalweg/proto/json_writer.h"

using namespace thalweg;       // NOLINT: the file is glue for this namespace
using namespace thalweg::api;  // NOLINT

struct TwRecords {
  explicit TwRecords(std::vector<std::string> paths) : files(fs, std::move(paths)) {}
  PosixFileSystem fs;
  RecordFiles files;
};

namespace {

std::string_view TextOrNone(const char* text) { return text == nullptr ? "" : text; }

ProgressFn ProgressOf(TwProgress progress, void* context) {
  if (progress == nullptr) return {};
  return [progress, context](uint64_t done, uint64_t total) {
    return progress(context, done, total) == 0 ? OkStatus() : Cancelled("the work was stopped");
  };
}

// A buffer of the text that `body` makes of the file system.
template <class Body>
TwBuffer* Told(TwStatus* status, std::initializer_list<Given> given, Body&& body) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll(given));
    PosixFileSystem fs;
    ASSIGN_OR_RETURN(std::string text, body(fs));
    return NewBuffer(std::move(text));
  });
}

template <class Body>
TwBuffer* ToldOf(TwStatus* status, const char* const* paths, int32_t n, Body&& body) {
  return Told(status, {}, [&](FileSystem& fs) -> Result<std::string> {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, UnwrapTexts(paths, n, "path"));
    if (files.empty()) return InvalidArgument("there are no paths");
    return body(fs, files);
  });
}

// Nothing: as the files that are read are.
Result<std::optional<Compression>> CompressionOf(const TwRewriteOptions& options) {
  const std::string_view name = TextOrNone(options.compression);
  if (name.empty()) return std::optional<Compression>();
  if (name == "NONE") return std::optional<Compression>(Compression::kNone);
  ASSIGN_OR_RETURN(const Compression compression, CompressionNamed(name));
  return std::optional<Compression>(compression);
}

void AppendFiles(JsonWriter& json, const std::vector<std::string>& files) {
  json.Key("files").BeginList();
  for (const std::string& file : files) json.Text(file);
  json.EndList();
}

}  // namespace

extern "C" {

TwBuffer* tw_checkpoint_compare(const char* a, const char* b, double atol, double rtol,
                                TwProgress progress, void* context, TwStatus* status) {
  return Told(status, {{"a", a}, {"b", b}}, [&](FileSystem& fs) -> Result<std::string> {
    const CompareOptions options{
        .atol = atol, .rtol = rtol, .progress = ProgressOf(progress, context)};
    ASSIGN_OR_RETURN(const CheckpointDifference difference, CompareCheckpoints(fs, a, b, options));
    return DifferenceJson(difference);
  });
}

TwBuffer* tw_checkpoint_verify(const char* path, TwProgress progress, void* context,
                               TwStatus* status) {
  return Told(status, {{"path", path}}, [&](FileSystem& fs) -> Result<std::string> {
    ASSIGN_OR_RETURN(const Audit audit, AuditCheckpoint(fs, path, ProgressOf(progress, context)));
    return AuditJson(audit);
  });
}

TwRecords* tw_records_open(const char* const* paths, int32_t n, TwStatus* status) {
  return GuardPointer<TwRecords>(status, [&]() -> Result<TwRecords*> {
    ASSIGN_OR_RETURN(std::vector<std::string> files, UnwrapTexts(paths, n, "path"));
    if (files.empty()) return InvalidArgument("there are no paths");
    return std::make_unique<TwRecords>(std::move(files)).release();
  });
}

void tw_records_free(TwRecords* records) { delete records; }

int32_t tw_records_next(TwRecords* records, const char** data, size_t* size, TwStatus* status) {
  bool has_one = false;
  const TwCode code = Guard(status, [&]() -> Status {
    RETURN_IF_ERROR(RequireAll({{"records", records}, {"data", data}, {"size", size}}));
    ASSIGN_OR_RETURN(const std::optional<std::string_view> record, records->files.Next());
    has_one = record.has_value();
    *data = has_one ? record->data() : nullptr;
    *size = has_one ? record->size() : 0;
    return OkStatus();
  });
  if (code != TW_OK) return -1;
  return has_one ? 1 : 0;
}

const char* tw_records_path(const TwRecords* records) {
  return records == nullptr ? "" : records->files.path().c_str();
}
uint64_t tw_records_offset(const TwRecords* records) {
  return records == nullptr ? 0 : records->files.offset();
}

TwBuffer* tw_record_text(const void* data, size_t size, const char* form, const char* type,
                         TwStatus* status) {
  return GuardPointer<TwBuffer>(status, [&]() -> Result<TwBuffer*> {
    RETURN_IF_ERROR(RequireAll({{"form", form}}));
    if (size > 0) RETURN_IF_ERROR(RequireAll({{"data", data}}));
    const std::string_view record(static_cast<const char*>(data), size);
    const std::string_view wanted(form);
    if (wanted == "outline") return NewBuffer(RecordOutline(record));
    if (wanted != "json" && wanted != "text") {
      return InvalidArgument("the form '", wanted, "' is none of json, text and outline");
    }
    ASSIGN_OR_RETURN(std::string text, wanted == "json" ? RecordJson(record, TextOrNone(type))
                                                        : RecordText(record, TextOrNone(type)));
    return NewBuffer(std::move(text));
  });
}

TwBuffer* tw_records_statistics(const char* const* paths, int32_t n, TwProgress progress,
                                void* context, TwStatus* status) {
  return ToldOf(status, paths, n,
                [&](FileSystem& fs, const std::vector<std::string>& files) -> Result<std::string> {
                  ASSIGN_OR_RETURN(const uint64_t total, RecordFileBytes(fs, files));
                  Progress tell(ProgressOf(progress, context), total);
                  RecordFiles records(fs, files);
                  RecordStatistics statistics;
                  while (true) {
                    ASSIGN_OR_RETURN(const auto record, records.Next());
                    if (!record) return statistics.Json();
                    statistics.Add(*record);
                    RETURN_IF_ERROR(tell.Add(RecordFiles::StoredBytes(*record)));
                  }
                });
}

TwBuffer* tw_records_verify(const char* const* paths, int32_t n, TwProgress progress, void* context,
                            TwStatus* status) {
  return ToldOf(status, paths, n,
                [&](FileSystem& fs, const std::vector<std::string>& files) -> Result<std::string> {
                  ASSIGN_OR_RETURN(const Audit audit,
                                   AuditRecords(fs, files, ProgressOf(progress, context)));
                  return AuditJson(audit);
                });
}

TwBuffer* tw_records_shuffle(const char* const* paths, int32_t n, const char* output,
                             const TwRewriteOptions* options, TwProgress progress, void* context,
                             TwStatus* status) {
  return ToldOf(
      status, paths, n,
      [&](FileSystem& fs, const std::vector<std::string>& files) -> Result<std::string> {
        RETURN_IF_ERROR(RequireAll({{"output", output}}));
        const TwRewriteOptions given = CopyOptions(options, TwRewriteOptions{});
        RecordShuffleOptions wanted;
        wanted.seed = given.seed;
        if (given.memory > 0) wanted.memory = given.memory;
        wanted.shards = given.shards;
        ASSIGN_OR_RETURN(wanted.compression, CompressionOf(given));
        wanted.may_replace = given.replace != 0;
        wanted.progress = ProgressOf(progress, context);
        ASSIGN_OR_RETURN(const RecordShuffleResult result,
                         ShuffleRecords(fs, files, output, wanted));
        JsonWriter json;
        json.BeginObject().Key("records").Number(result.records).Key("bytes").Number(result.bytes);
        json.Key("spilled").Number(result.spilled).Key("seed").Number(wanted.seed);
        AppendFiles(json, result.files);
        json.EndObject();
        return json.Take();
      });
}

TwBuffer* tw_records_split(const char* const* paths, int32_t n, const char* output,
                           const TwRewriteOptions* options, TwProgress progress, void* context,
                           TwStatus* status) {
  return ToldOf(
      status, paths, n,
      [&](FileSystem& fs, const std::vector<std::string>& files) -> Result<std::string> {
        RETURN_IF_ERROR(RequireAll({{"output", output}}));
        const TwRewriteOptions given = CopyOptions(options, TwRewriteOptions{});
        ASSIGN_OR_RETURN(const std::optional<Compression> compression, CompressionOf(given));
        ASSIGN_OR_RETURN(const RecordSplitResult result,
                         SplitRecords(fs, files, output,
                                      {.shards = given.shards,
                                       .records = given.records,
                                       .bytes = given.bytes,
                                       .compression = compression,
                                       .may_replace = given.replace != 0,
                                       .progress = ProgressOf(progress, context)}));
        JsonWriter json;
        json.BeginObject().Key("records").Number(result.records).Key("bytes").Number(result.bytes);
        AppendFiles(json, result.files);
        json.EndObject();
        return json.Take();
      });
}

TwBuffer* tw_events_read(const char* path, int32_t scalars, const char* run, const char* tag,
                         TwProgress progress, void* context, TwStatus* status) {
  return Told(status, {{"path", path}}, [&](FileSystem& fs) -> Result<std::string> {
    EventTagsOptions options;
    options.scalars = scalars != 0;
    options.run = TextOrNone(run);
    options.tag = TextOrNone(tag);
    options.progress = ProgressOf(progress, context);
    ASSIGN_OR_RETURN(const EventTags tags, ReadEventTags(fs, path, options));
    return EventTagsJson(tags);
  });
}

TwBuffer* tw_events_verify(const char* path, TwProgress progress, void* context, TwStatus* status) {
  return Told(status, {{"path", path}}, [&](FileSystem& fs) -> Result<std::string> {
    ASSIGN_OR_RETURN(const std::vector<EventFile> files, FindEventFiles(fs, path));
    std::vector<std::string> paths;
    for (const EventFile& file : files) paths.push_back(file.path);
    ASSIGN_OR_RETURN(const Audit audit, AuditRecords(fs, paths, ProgressOf(progress, context)));
    return AuditJson(audit);
  });
}

}  // extern "C"
