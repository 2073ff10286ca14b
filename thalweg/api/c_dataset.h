/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that builds input pipelines, tf.data's, stage
 * by stage. A dataset is a sequence of elements; an element is a list of tensors, its components.
 * Each stage adds an operation to the graph; nothing is read before a step asks an iterator.
 *
 *   TwDatasetBuilder* b = tw_dataset_builder_new(graph);
 *   const TwDataset* lines = tw_dataset_text_lines(b, files, NULL);
 *   TwOutput line, length;
 *   TwGraph* body = tw_dataset_begin_function(b, lines, NULL, 0, &line);
 *   length.node = ... StringLength of line, a node of body ...; length.index = 0;
 *   lines = tw_dataset_map(b, lines, &length, 1, tw_count(0), 1);
 *   lines = tw_dataset_batch(b, lines, tw_count(32), 0);
 *   next.node = tw_dataset_get_next(b, lines, tw_dataset_make_one_shot_iterator(b, lines));
 *   if (tw_dataset_builder_check(b, status) != TW_OK) ...
 *
 * Ownership: datasets and the bodies of functions are the builder's; the nodes are the graph's,
 * which may be run when the builder is gone.
 * Threads: a builder belongs to one thread at a time.
 * Errors: the first one sticks to the builder: later calls do nothing and give NULL. The message
 * begins with the stage. An element that cannot be made is an error of the step that asks for
 * it. */
#ifndef THALWEG_C_DATASET_H_
#define THALWEG_C_DATASET_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwDataset TwDataset;
typedef struct TwDatasetBuilder TwDatasetBuilder;

/* Stages are added to `graph`, which may be the body of a function; its handle may go before. */
TW_EXPORT TwDatasetBuilder* tw_dataset_builder_new(TwGraph* graph);
TW_EXPORT void tw_dataset_builder_free(TwDatasetBuilder* builder);
/* Of stages made from now on: the line they come from, the device of their nodes; "": none. */
TW_EXPORT void tw_dataset_builder_site(TwDatasetBuilder* builder, const char* site);
TW_EXPORT void tw_dataset_builder_device(TwDatasetBuilder* builder, const char* device);
/* The first error since it was asked last, which the builder then forgets, with the functions that
 * were begun. */
TW_EXPORT TwCode tw_dataset_builder_check(TwDatasetBuilder* builder, TwStatus* status);

/* A number of a pipeline: the program's, or (node not NULL) an int64 scalar of the graph, such as a
 * placeholder that the iterator's initializer is fed. */
typedef struct TwCount {
  int64_t value;
  TwOutput scalar;
} TwCount;
static inline TwCount tw_count(int64_t value) {
  const TwCount count = {value, {NULL, 0}};
  return count;
}
static inline TwCount tw_count_of(TwOutput scalar) {
  const TwCount count = {-1, scalar};
  return count;
}
/* As a number of parallel calls, a cycle's length or a buffer's size: what fits. */
#define TW_AUTOTUNE (-1)

/* What is known of a component: rank -1: not its rank; dimension -1: not this one. */
typedef struct TwTensorSpec {
  TwDataType dtype;
  int32_t rank;
  const int64_t* dims;
} TwTensorSpec;
TW_EXPORT int32_t tw_dataset_num_components(const TwDataset* dataset);
/* 0 where there is no component i. `dims` live as long as the dataset. */
TW_EXPORT int32_t tw_dataset_component(const TwDataset* dataset, int32_t i, TwTensorSpec* spec);
/* The tensor that is the dataset, for operations that take one. */
TW_EXPORT TwOutput tw_dataset_variant(const TwDataset* dataset);

/* ---- Sources ---- */
/* One element, these tensors; or the rows of the tensors, which have equally many. */
TW_EXPORT const TwDataset* tw_dataset_from_tensors(TwDatasetBuilder* builder,
                                                   const TwOutput* components, int32_t n);
TW_EXPORT const TwDataset* tw_dataset_from_tensor_slices(TwDatasetBuilder* builder,
                                                         const TwOutput* components, int32_t n);
TW_EXPORT const TwDataset* tw_dataset_range(TwDatasetBuilder* builder, TwCount start, TwCount stop,
                                            TwCount step);
/* The names of the files that match, in random order (`seed` NULL: any) or by name. None: an error
 * when the iterator begins. */
TW_EXPORT const TwDataset* tw_dataset_list_files(TwDatasetBuilder* builder, const char* pattern,
                                                 int32_t shuffle, const int64_t* seed);
typedef struct TwFileOptions {
  size_t struct_size;
  const char* compression; /* NULL or "", "GZIP", "ZLIB" */
  int64_t buffer_size;     /* bytes at once; 0: 256 kB */
} TwFileOptions;
/* Lines, records, pieces of `files`: strings, one or a vector. `options` may be NULL. */
TW_EXPORT const TwDataset* tw_dataset_text_lines(TwDatasetBuilder* builder, TwOutput files,
                                                 const TwFileOptions* options);
TW_EXPORT const TwDataset* tw_dataset_tf_records(TwDatasetBuilder* builder, TwOutput files,
                                                 const TwFileOptions* options);
TW_EXPORT const TwDataset* tw_dataset_fixed_length_records(TwDatasetBuilder* builder,
                                                           TwOutput files, TwCount record_bytes,
                                                           TwCount header_bytes,
                                                           TwCount footer_bytes,
                                                           const TwFileOptions* options);
typedef struct TwCsvOptions {
  size_t struct_size;
  const TwFileOptions* files;    /* NULL: the defaults */
  int32_t header;                /* 1: the first record of each file holds names */
  char delimiter;                /* 0: a comma */
  int32_t no_quotes;             /* 1: quotes are text */
  const char* missing;           /* a field of this text; NULL: an empty one */
  const int64_t* select_columns; /* ascending ... */
  int32_t num_select_columns;    /* ... 0: all */
} TwCsvOptions;
/* A component for each field: fields[i] is what it is where it is missing; of no element: it must
 * be there. */
TW_EXPORT const TwDataset* tw_dataset_csv(TwDatasetBuilder* builder, TwOutput files,
                                          TwTensor* const* fields, int32_t n,
                                          const TwCsvOptions* options);
/* A dataset that any operation made, whose elements are these: of the body that is being built, or
 * outside of it. */
TW_EXPORT const TwDataset* tw_dataset_from_output(TwDatasetBuilder* builder, TwOutput variant,
                                                  const TwTensorSpec* components, int32_t n);

/* ---- Which elements ---- */
TW_EXPORT const TwDataset* tw_dataset_take(TwDatasetBuilder* builder, const TwDataset* dataset,
                                           TwCount count);
TW_EXPORT const TwDataset* tw_dataset_skip(TwDatasetBuilder* builder, const TwDataset* dataset,
                                           TwCount count);
/* -1: without end. */
TW_EXPORT const TwDataset* tw_dataset_repeat(TwDatasetBuilder* builder, const TwDataset* dataset,
                                             TwCount count);
/* Every element whose number modulo `shards` is `index`. */
TW_EXPORT const TwDataset* tw_dataset_shard(TwDatasetBuilder* builder, const TwDataset* dataset,
                                            TwCount shards, TwCount index);
/* Those that can be made: what is wrong with others is forgotten. */
TW_EXPORT const TwDataset* tw_dataset_ignore_errors(TwDatasetBuilder* builder,
                                                    const TwDataset* dataset);
TW_EXPORT const TwDataset* tw_dataset_concatenate(TwDatasetBuilder* builder,
                                                  const TwDataset* dataset, const TwDataset* more);
/* One element of each at a time: the components one after the other; as long as the shortest. */
TW_EXPORT const TwDataset* tw_dataset_zip(TwDatasetBuilder* builder,
                                          const TwDataset* const* datasets, int32_t n);
/* A number, from `start` on, and the components. */
TW_EXPORT const TwDataset* tw_dataset_enumerate(TwDatasetBuilder* builder, const TwDataset* dataset,
                                                int64_t start);

/* ---- In which order, and when ---- */
/* Each time any of the next `buffer_size`; the same for the same seed; NULL: any. */
TW_EXPORT const TwDataset* tw_dataset_shuffle(TwDatasetBuilder* builder, const TwDataset* dataset,
                                              TwCount buffer_size, const int64_t* seed,
                                              int32_t reshuffle_each_iteration);
/* Made once, kept in memory. */
TW_EXPORT const TwDataset* tw_dataset_cache(TwDatasetBuilder* builder, const TwDataset* dataset);
/* As many are made before they are asked for. */
TW_EXPORT const TwDataset* tw_dataset_prefetch(TwDatasetBuilder* builder, const TwDataset* dataset,
                                               TwCount buffer_size);

/* ---- Functions of elements ---- */
/* Begins a function: gives its body, in which nodes are built as in any graph and where stages are
 * made from now on, and sets components[i] to what stands for component i of an element. With
 * `initial`, of a reduction, components[0] ... are the state, the element's come behind. What the
 * body reads of the graph outside is passed to it. The next function of these, whose dataset is the
 * same, ends it with its results; a function may be begun inside of another. */
TW_EXPORT TwGraph* tw_dataset_begin_function(TwDatasetBuilder* builder, const TwDataset* dataset,
                                             const TwOutput* initial, int32_t num_initial,
                                             TwOutput* components);
/* `parallel_calls` at once; 0: one after the other. Not deterministic: as they are done. */
TW_EXPORT const TwDataset* tw_dataset_map(TwDatasetBuilder* builder, const TwDataset* dataset,
                                          const TwOutput* results, int32_t n,
                                          TwCount parallel_calls, int32_t deterministic);
/* Those for which the function gives true: one bool scalar. */
TW_EXPORT const TwDataset* tw_dataset_filter(TwDatasetBuilder* builder, const TwDataset* dataset,
                                             TwOutput predicate);
/* The elements of the datasets that the function makes, one dataset after the other; or
 * `block_length` elements of each of `cycle_length` of them in turn. */
TW_EXPORT const TwDataset* tw_dataset_flat_map(TwDatasetBuilder* builder, const TwDataset* dataset,
                                               const TwDataset* inner);
TW_EXPORT const TwDataset* tw_dataset_interleave(TwDatasetBuilder* builder,
                                                 const TwDataset* dataset, const TwDataset* inner,
                                                 TwCount cycle_length, TwCount block_length,
                                                 TwCount parallel_calls);
/* The node whose outputs are the state after the function has made a next one of each state and
 * element; of the function that was begun with the initial state. */
TW_EXPORT TwNode* tw_dataset_reduce(TwDatasetBuilder* builder, const TwDataset* dataset,
                                    const TwOutput* results, int32_t n);

/* ---- Several as one ---- */
TW_EXPORT const TwDataset* tw_dataset_batch(TwDatasetBuilder* builder, const TwDataset* dataset,
                                            TwCount batch_size, int32_t drop_remainder);
/* Components padded to one shape each: shapes[i], whose dtype does not count, or NULL for those
 * that are known; -1 stands for the largest of the batch. With `values`, scalars, or NULL for zeros
 * and empty strings. */
TW_EXPORT const TwDataset* tw_dataset_padded_batch(TwDatasetBuilder* builder,
                                                   const TwDataset* dataset, TwCount batch_size,
                                                   const TwTensorSpec* shapes,
                                                   const TwOutput* values, int32_t drop_remainder);
/* The rows of the elements. */
TW_EXPORT const TwDataset* tw_dataset_unbatch(TwDatasetBuilder* builder, const TwDataset* dataset);
/* Datasets of `size` elements each, one for each component: tw_dataset_from_output(component). */
TW_EXPORT const TwDataset* tw_dataset_window(TwDatasetBuilder* builder, const TwDataset* dataset,
                                             TwCount size, TwCount shift, TwCount stride,
                                             int32_t drop_remainder);

/* ---- Elements ---- */
/* A place in a dataset: it begins with what is fed when the initializer is run; one without an
 * initializer begins by itself and goes through once. */
typedef struct TwIterator {
  TwOutput handle;
  TwNode* initializer;
} TwIterator;
/* The dataset must not depend on what a session has: placeholders, variables, tables. */
TW_EXPORT TwIterator tw_dataset_make_one_shot_iterator(TwDatasetBuilder* builder,
                                                       const TwDataset* dataset);
/* Steps of a server that name the same `shared_name` share it; NULL or "": nobody does. */
TW_EXPORT TwIterator tw_dataset_make_initializable_iterator(TwDatasetBuilder* builder,
                                                            const TwDataset* dataset,
                                                            const char* shared_name);
/* The node whose outputs are the components of the next element: of one and the same in each step
 * that uses any of them. Behind the last element a step ends with OUT_OF_RANGE. */
TW_EXPORT TwNode* tw_dataset_get_next(TwDatasetBuilder* builder, const TwDataset* dataset,
                                      TwIterator iterator);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_DATASET_H_ */
