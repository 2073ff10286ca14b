/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) for files of tensors, records and events:
 * looking into them and checking them, and the records that they are made of. Results are JSON,
 * which the command `thalweg` shows.
 * Ownership: buffers, readers and files are the caller's until their _free functions.
 * Threads: any; one reader or file from one at a time.
 * Errors: NOT_FOUND, DATA_LOSS and what else the files give, with the path; CANCELLED where
 * `progress` says so. */
#ifndef THALWEG_C_FILES_H_
#define THALWEG_C_FILES_H_

#include "thalweg/c_checkpoint.h"
#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then by long work: bytes that are done, of how many (0: not known). What is not 0
 * ends the work with CANCELLED; nothing is left of what it wrote. */
typedef int32_t (*TwProgress)(void* context, uint64_t done, uint64_t total);
/* Format, and each tensor's name, dtype, shape, bytes, slices. */
TW_EXPORT TwBuffer* tw_checkpoint_list(const TwCheckpoint* checkpoint, TwStatus* status);
/* One tensor: dtype, shape, statistics, its first `limit` values (below 0: all). */
TW_EXPORT TwBuffer* tw_checkpoint_show(const TwCheckpoint* checkpoint, const char* name,
                                       int64_t limit, TwStatus* status);
/* Of any tensor: dtype, shape, statistics. */
TW_EXPORT TwBuffer* tw_tensor_statistics(const TwTensor* tensor, TwStatus* status);
/* What only one has, other types and shapes, values with |a - b| > atol + rtol * |b|. */
TW_EXPORT TwBuffer* tw_checkpoint_compare(const char* a, const char* b, double atol, double rtol,
                                          TwProgress progress, void* context, TwStatus* status);
/* All checksums of index and data; "damages": how many are wrong. Damage is no error of the
 * call. */
TW_EXPORT TwBuffer* tw_checkpoint_verify(const char* path, TwProgress progress, void* context,
                                         TwStatus* status);

/* Records of TFRecord files, one file after the other; gzip and zlib as each file begins. */
typedef struct TwRecords TwRecords;
TW_EXPORT TwRecords* tw_records_open(const char* const* paths, int32_t n, TwStatus* status);
TW_EXPORT void tw_records_free(TwRecords* records);
/* 1 and the next record, valid until the next call; 0 at the end; -1 for an error. */
TW_EXPORT int32_t tw_records_next(TwRecords* records, const char** data, size_t* size,
                                  TwStatus* status);
/* Of the last record: its file, and where it begins there (before compression). */
TW_EXPORT const char* tw_records_path(const TwRecords* records);
TW_EXPORT uint64_t tw_records_offset(const TwRecords* records);
/* A record as text: "json" (protobuf's), "text" (.pbtxt), "outline" (a line for each feature).
 * `type` names its message; NULL or "": Example or SequenceExample, whichever it is. */
TW_EXPORT TwBuffer* tw_record_text(const void* data, size_t size, const char* form,
                                   const char* type, TwStatus* status);
/* Numbers and sizes of records, and what features they have. */
TW_EXPORT TwBuffer* tw_records_statistics(const char* const* paths, int32_t n, TwProgress progress,
                                          void* context, TwStatus* status);
/* As tw_checkpoint_verify, of record and event files. */
TW_EXPORT TwBuffer* tw_records_verify(const char* const* paths, int32_t n, TwProgress progress,
                                      void* context, TwStatus* status);

typedef struct TwRewriteOptions {
  size_t struct_size;
  int32_t replace; /* a file that is there */
  uint64_t shards; /* shuffle: 0: one file. split: exactly one of these three is not 0 */
  uint64_t records;
  uint64_t bytes;
  uint64_t seed;           /* shuffle */
  uint64_t memory;         /* shuffle: bytes; 0: 1 GiB */
  const char* compression; /* "GZIP", "ZLIB", "NONE"; NULL or "": as the files that are read are */
} TwRewriteOptions;
/* New files of all records: OUTPUT or OUTPUT-00000-of-00008. What is done, and "files". They appear
 * when they are whole. Shuffled: every order has the same chance, and a seed its order. */
TW_EXPORT TwBuffer* tw_records_shuffle(const char* const* paths, int32_t n, const char* output,
                                       const TwRewriteOptions* options, TwProgress progress,
                                       void* context, TwStatus* status);
/* In their order. */
TW_EXPORT TwBuffer* tw_records_split(const char* const* paths, int32_t n, const char* output,
                                     const TwRewriteOptions* options, TwProgress progress,
                                     void* context, TwStatus* status);

/* Runs and tags of the event files in and below a folder, or of one file. `scalars`: values, too,
 * and nothing of other kinds. `run` and `tag`: patterns with *; NULL or "": all. */
TW_EXPORT TwBuffer* tw_events_read(const char* path, int32_t scalars, const char* run,
                                   const char* tag, TwProgress progress, void* context,
                                   TwStatus* status);
/* As tw_checkpoint_verify, of those files. */
TW_EXPORT TwBuffer* tw_events_verify(const char* path, TwProgress progress, void* context,
                                     TwStatus* status);

/* A new event file FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER and SUFFIX, with its
 * first record. */
typedef struct TwEventFile TwEventFile;
TW_EXPORT TwEventFile* tw_event_file_new(const char* folder, const char* suffix, TwStatus* status);
TW_EXPORT void tw_event_file_free(TwEventFile* file);
TW_EXPORT const char* tw_event_file_path(const TwEventFile* file);
/* Whole records (tw_record_frame); where that fails, the file is as it was before. NOT_FOUND:
 * somebody has removed it. From one thread at a time. */
TW_EXPORT TwCode tw_event_file_append(TwEventFile* file, const void* data, size_t size,
                                      TwStatus* status);

/* ---- Record and event files: length, checksum, bytes, checksum ---- */
#define TW_RECORD_HEADER 12 /* bytes before a record, and after it */
#define TW_RECORD_FOOTER 4
/* A record as it stands in a file. */
TW_EXPORT TwBuffer* tw_record_frame(const void* data, size_t size, TwStatus* status);
/* The number of bytes after the header of a record that begins at byte `at` of its file. */
TW_EXPORT TwCode tw_record_length(const void* header, uint64_t at, uint64_t* length,
                                  TwStatus* status);
/* Checks the bytes of that record; `size` counts the footer, which follows them, too. */
TW_EXPORT TwCode tw_record_check(const void* data, size_t size, uint64_t at, TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_FILES_H_ */
