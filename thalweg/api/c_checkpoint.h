/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that saves variables, restores them and reads
 * checkpoints, of formats V2 and V1.
 * Ownership: savers, readers and differences are the caller's until their _free functions; texts
 * are theirs. The graph outlives its savers.
 * Threads: a saver and what it gives from one at a time; a reader from any.
 * Errors: NOT_FOUND, DATA_LOSS and INVALID_ARGUMENT with file and tensor, those of the session. */
#ifndef THALWEG_C_CHECKPOINT_H_
#define THALWEG_C_CHECKPOINT_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwSaver TwSaver;
typedef struct TwSaverOptions {
  size_t struct_size;
  int32_t max_to_keep;                  /* newest checkpoints kept, 0: all; default 5 */
  double keep_checkpoint_every_n_hours; /* one in so many hours is kept for good; default 10000 */
  const char* scope;                    /* of the nodes; NULL: "save" */
  const char* site;                     /* of the nodes: "train.py:41 in build" */
  /* Saved besides, under tensor_names[i]; tensor_slices[i] is the part of a larger tensor, in the
   * words of SaveV2's shape_and_slices, "": the whole. Restored values are the last outputs of
   * SCOPE/RestoreV2; add what sets them to the control inputs of SCOPE/restore_all. */
  const char* const* tensor_names;
  const char* const* tensor_slices;
  const TwOutput* tensors;
  int32_t num_tensors;
  int32_t write_version; /* the format that is written, 1 or 2; 0: 2. Both are read. */
  /* NULL, or for each variable the part it is of a larger tensor, as in tensor_slices: several of
   * one name are saved as one tensor. */
  const char* const* variable_slices;
  int32_t keep_best;        /* besides the newest, of those saved with a metric; default 0 */
  int32_t best_is_greatest; /* else the best metric is the least */
  /* Whether a save returns when it has the values, which a thread then writes from this process.
   * What goes wrong there is the error of the next save or wait. */
  int32_t in_background;
  double patience_seconds; /* with what is written in the background; 0: 600 */
} TwSaverOptions;
/* names[i] is what variable handle i is called in checkpoints. options NULL: defaults. */
TW_EXPORT TwSaver* tw_saver_new(TwGraph* graph, const char* const* names, const TwOutput* variables,
                                int32_t n, const TwSaverOptions* options, TwStatus* status);
/* Of nodes that are there, as a SaverDef names them: scope, tensors and slices do not count. */
TW_EXPORT TwSaver* tw_saver_of_nodes(TwGraph* graph, TwOutput filename, TwOutput save_tensor,
                                     TwNode* restore_op, const TwSaverOptions* options,
                                     TwStatus* status);
TW_EXPORT void tw_saver_free(TwSaver* saver);
/* The checkpoints that are kept, oldest first: path, and seconds since 1970. NULL: no such. The
 * list is taken by tw_saver_num_kept, or by asking for number 0 without it; paths live until the
 * next. */
TW_EXPORT int32_t tw_saver_num_kept(const TwSaver* saver);
TW_EXPORT const char* tw_saver_kept(const TwSaver* saver, int32_t i, double* saved_at);
TW_EXPORT TwCode tw_saver_set_kept(TwSaver* saver, const char* const* paths, const double* saved_at,
                                   int32_t n, TwStatus* status);
/* The file that a save writes instead of "checkpoint"; "": none, and it deletes nothing. */
TW_EXPORT TwCode tw_saver_set_state_file(TwSaver* saver, const char* name, TwStatus* status);
/* Writes PATH, or PATH-STEP for a step that is not negative, and the file "checkpoint" beside it;
 * what it wrote. */
TW_EXPORT TwBuffer* tw_saver_save(TwSaver* saver, TwSession* session, const char* path,
                                  int64_t global_step, TwStatus* status);
typedef struct TwSaveRequest {
  size_t struct_size;
  const char* path;
  int64_t global_step;  /* negative: none */
  const double* metric; /* how good the model is; NULL: not known */
  /* Written beside the checkpoint once it is there, as PATH-STEP.SUFFIX; NULL: nothing. */
  const char* suffix;
  const void* contents;
  size_t contents_size;
} TwSaveRequest;
TW_EXPORT TwBuffer* tw_saver_save_request(TwSaver* saver, TwSession* session,
                                          const TwSaveRequest* request, TwStatus* status);
/* Whether something is written in the background; waits until nothing is, at most so many seconds
 * (negative: as long as the saver's patience): DEADLINE_EXCEEDED then, else what went wrong. */
TW_EXPORT int32_t tw_saver_is_writing(const TwSaver* saver);
TW_EXPORT TwCode tw_saver_wait(TwSaver* saver, double seconds, TwStatus* status);
TW_EXPORT TwCode tw_saver_restore(TwSaver* saver, TwSession* session, const char* path,
                                  TwStatus* status);
/* All in which a checkpoint differs from what a saver restores of it. `restore_into` NULL: nothing
 * is restored; else what fits is, and the rest of that session's variables stay as they are. */
typedef struct TwDifferences TwDifferences;
typedef enum TwDifferenceKind {
  TW_DIFFERENCE_MISSING = 0, /* in the checkpoint */
  TW_DIFFERENCE_EXTRA = 1,   /* only there */
  TW_DIFFERENCE_SHAPE = 2,
  TW_DIFFERENCE_TYPE = 3
} TwDifferenceKind;
typedef struct TwDifference {
  TwDifferenceKind kind;
  const char* name;
  const char* in_checkpoint; /* shape or type there; "" where it is missing */
  const char* in_graph;      /* "" for what is extra */
} TwDifference;
TW_EXPORT TwDifferences* tw_saver_compare(TwSaver* saver, TwSession* restore_into, const char* path,
                                          TwStatus* status);
TW_EXPORT int32_t tw_differences_count(const TwDifferences* differences);
/* The texts live as long as `differences`. */
TW_EXPORT TwCode tw_differences_at(const TwDifferences* differences, int32_t i,
                                   TwDifference* difference, TwStatus* status);
TW_EXPORT void tw_differences_free(TwDifferences* differences);
/* The newest checkpoint of a directory. */
TW_EXPORT TwBuffer* tw_latest_checkpoint(const char* directory, TwStatus* status);
/* The one with the best metric, of those that the file STATE_FILE.metrics names. */
TW_EXPORT TwBuffer* tw_best_checkpoint(const char* directory, const char* state_file,
                                       TwStatus* status);
/* Its files, the index first. `version`: that of its format, 1 or 2. Fine where there is none. */
TW_EXPORT TwCode tw_checkpoint_remove(const char* path, int32_t version, TwStatus* status);

/* What is in a checkpoint of either format, without a session. Any thread. */
typedef struct TwCheckpoint TwCheckpoint;
TW_EXPORT TwCheckpoint* tw_checkpoint_open(const char* path, TwStatus* status);
TW_EXPORT void tw_checkpoint_free(TwCheckpoint* checkpoint);
TW_EXPORT int32_t tw_checkpoint_num_tensors(const TwCheckpoint* checkpoint);
/* Of tensor i, in the order of names. Name and dims live as long as the checkpoint. */
typedef struct TwCheckpointTensor {
  const char* name;
  size_t name_size;
  TwDataType dtype;
  int32_t rank;
  const int64_t* dims; /* of the whole, also of one that was saved in slices */
} TwCheckpointTensor;
TW_EXPORT TwCode tw_checkpoint_tensor(const TwCheckpoint* checkpoint, int32_t i,
                                      TwCheckpointTensor* tensor, TwStatus* status);
/* The value of tensor i; DATA_LOSS where bytes do not match their checksums. */
TW_EXPORT TwTensor* tw_checkpoint_read(const TwCheckpoint* checkpoint, int32_t i, TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_CHECKPOINT_H_ */
