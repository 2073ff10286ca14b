/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that loads a model, which is a SavedModel, a
 * MetaGraph beside its checkpoint or a GraphDef, and runs it by name.
 * Ownership: a model is the caller's until tw_model_free; graph, session, texts and dims are its.
 * Threads: all functions on one model from any at once, but tw_model_free.
 * Errors: begin with the path; those of a run name the signature and the input. */
#ifndef THALWEG_C_MODEL_H_
#define THALWEG_C_MODEL_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwModel TwModel;
typedef struct TwModelOptions {
  size_t struct_size;
  const char* const* tags; /* of the graph in a SavedModel that is meant ... */
  int32_t num_tags;        /* ... 0: the only one, or the one for serving ("serve") */
  int32_t without_weights; /* 1: to look at: nothing is restored, nothing needs to be usable */
  /* Timeout and cancellation of the restore and of what fills tables; NULL: without an end. */
  const TwRunOptions* run_options;
  /* 1: variables of 64 KiB and more are pages of their files, shared with other
   * processes and not read before they are used. Who writes into such a file ends later runs with
   * DATA_LOSS; another file may take its name. Sets a handler of SIGBUS in the process. */
  int32_t map_weights;
  const char* passes; /* as TwSessionOptions' */
  /* "/device:CPU:1", of the environment: where all nodes go that have a kernel there. NULL or "":
   * as sessions place without a word. */
  const char* device;
} TwModelOptions;
/* Reads the model, checks and restores its variables, fills its tables; the files may go then. A
 * graph that says nothing of signatures has one, "serving_default": its placeholders and what is
 * computed from them. Errors begin with the path. */
TW_EXPORT TwModel* tw_model_load(TwEnvironment* environment, const char* path,
                                 const TwModelOptions* options, TwStatus* status);
TW_EXPORT void tw_model_free(TwModel* model);              /* when nobody runs it any more */
TW_EXPORT const char* tw_model_kind(const TwModel* model); /* "SavedModel", "GraphDef" ... */
TW_EXPORT const char* tw_model_tags(const TwModel* model); /* "serve"; several: "gpu,serve" */
/* "", or operations that are not known, with the nearest ones: what needs them is left out. */
TW_EXPORT const char* tw_model_unknown_operations(const TwModel* model);
/* They live as long as the model. */
TW_EXPORT TwGraph* tw_model_graph(TwModel* model);
TW_EXPORT TwSession* tw_model_session(TwModel* model);
/* As JSON: signatures, variables with their sizes, operations with and without a kernel. */
TW_EXPORT TwBuffer* tw_model_describe(const TwModel* model, TwStatus* status);
/* Signatures are numbered by their names' order, so are the inputs and outputs of each. Texts and
 * dims live as long as the model. */
typedef struct TwModelSignature {
  const char* name;
  const char* method; /* "tensorflow/serving/predict", or "" */
  int32_t num_inputs, num_outputs;
  const char* unusable; /* why it cannot be run; "" */
} TwModelSignature;
typedef struct TwModelTensor {
  const char *name, *tensor; /* of the graph: "dense/BiasAdd:0" */
  TwDataType dtype;
  int32_t rank; /* -1: unknown */
  const int64_t* dims;
  int32_t is_optional; /* an input with a default */
} TwModelTensor;
TW_EXPORT int32_t tw_model_num_signatures(const TwModel* model);
TW_EXPORT TwCode tw_model_signature(const TwModel* model, int32_t i, TwModelSignature* signature,
                                    TwStatus* status);
/* -1 where there is none. NULL or "": serving_default, or the only one. */
TW_EXPORT int32_t tw_model_find_signature(const TwModel* model, const char* name, TwStatus* status);
TW_EXPORT TwCode tw_model_input(const TwModel* model, int32_t signature, int32_t i,
                                TwModelTensor* tensor, TwStatus* status);
TW_EXPORT TwCode tw_model_output(const TwModel* model, int32_t signature, int32_t i,
                                 TwModelTensor* tensor, TwStatus* status);
/* Plans the signature now, not in its first run. */
TW_EXPORT TwCode tw_model_prepare(const TwModel* model, int32_t signature,
                                  const TwRunOptions* options, TwStatus* status);
/* One value for each input, in order, NULL for one that is left out; `results` as of
 * tw_session_run, one for each output. Any number of threads at once. */
TW_EXPORT TwCode tw_model_run(const TwModel* model, int32_t signature, const TwRunOptions* options,
                              TwTensor* const* inputs, TwTensor** results, TwBuffer** metadata,
                              TwStatus* status);
/* values[i] is for the input names[i]. INVALID_ARGUMENT names all that are missing or unknown. */
TW_EXPORT TwCode tw_model_run_names(const TwModel* model, int32_t signature,
                                    const TwRunOptions* options, const char* const* names,
                                    TwTensor* const* values, int32_t n, TwTensor** results,
                                    TwBuffer** metadata, TwStatus* status);
/* Any tensors of the graph, fed at any others, by names of the signature or of tensors ("a:0");
 * only what they need runs. `signature` -1: names of tensors alone. */
TW_EXPORT TwCode tw_model_fetch(const TwModel* model, int32_t signature,
                                const TwRunOptions* options, const char* const* feed_names,
                                TwTensor* const* feeds, int32_t num_feeds,
                                const char* const* fetch_names, int32_t num_fetches,
                                TwTensor** results, TwStatus* status);

/* A SavedModel as messages, for who adds it to a graph of his own: the MetaGraphDef with the tags,
 * and as JSON whether there are variables ("has_variables"), the node that makes it ready
 * ("initializer") and files with the tensors that name them ("assets"). Errors as
 * tw_model_load's. */
TW_EXPORT TwCode tw_saved_model_read(const char* path, const char* const* tags, int32_t num_tags,
                                     TwBuffer** meta_graph, TwBuffer** facts, TwStatus* status);

typedef struct TwConvertOptions {
  size_t struct_size;
  int32_t saved_model;             /* 1: a SavedModel, with its tables; 0: a GraphDef in a file */
  int32_t keep_batch_norms;        /* 1: they do not become part of weights: the same bits */
  const TwRunOptions* run_options; /* of the reads of variables; NULL: without an end */
} TwConvertOptions;
/* Writes what a signature computes without variables, functions and what it does not need. Inputs
 * and outputs are called as the signature calls them. A name that ends in .pbtxt is text. */
TW_EXPORT TwCode tw_model_convert(const TwModel* model, int32_t signature, const char* out,
                                  const TwConvertOptions* options, TwStatus* status);

typedef struct TwCostOptions {
  size_t struct_size;
  int64_t batch; /* the first dimension of inputs that leave it open; 0: 1 */
  /* Shapes of inputs that are known better: dims[i] has ranks[i] sizes, -1 where one is open. */
  const char* const* inputs;
  const int64_t* const* dims;
  const int32_t* ranks;
  int32_t num_inputs;
} TwCostOptions;
/* As JSON: arithmetic operations and bytes by operation and in all, parameters, the most that a
 * step holds at once. Needs no weights. */
TW_EXPORT TwBuffer* tw_model_costs(const TwModel* model, int32_t signature,
                                   const TwCostOptions* options, TwStatus* status);

typedef struct TwPlacementOptions {
  size_t struct_size;
  const TwCostOptions* inputs; /* NULL: as tw_model_costs' NULL */
  /* "preferred", as sessions place without a word; "cost"; "search". NULL: "preferred". */
  const char* method;
  const char* const* devices; /* "/job:a/task:1/device:CPU:0", "/gpu:0", whether or not ... */
  int32_t num_devices;        /* ... they are here; 0: those of the model's environment */
  const char* const* nodes;   /* that are explained, with the costs of the alternatives */
  int32_t num_nodes;
} TwPlacementOptions;
/* As JSON: the device of each node of a step, what the step would take, what devices would do and
 * hold, and why the named nodes are where they are. Nothing runs; needs no weights. */
TW_EXPORT TwBuffer* tw_model_placement(const TwModel* model, int32_t signature,
                                       const TwPlacementOptions* options, TwStatus* status);

typedef struct TwVerifyOptions {
  size_t struct_size;
  double atol,
      rtol; /* a and b are equal where |a - b| <= atol + rtol * |b|; integers where equal */
  const TwRunOptions* run_options;
} TwVerifyOptions;
/* As JSON: the tensors that a step of the signature computes and that can be recorded. */
TW_EXPORT TwBuffer* tw_model_recordable(const TwModel* model, int32_t signature, TwStatus* status);
/* Runs the signature with recorded inputs and compares recorded values, all by names of the
 * signature or of tensors. As JSON: the values in an order in which they can be computed, which of
 * them is the first that differs, by how much, and what is known of its inputs. */
TW_EXPORT TwBuffer* tw_model_verify(const TwModel* model, int32_t signature,
                                    const char* const* input_names, TwTensor* const* inputs,
                                    int32_t num_inputs, const char* const* value_names,
                                    TwTensor* const* values, int32_t num_values,
                                    const TwVerifyOptions* options, TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_MODEL_H_ */
