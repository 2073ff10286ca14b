/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that loads a model, which is a SavedModel, a
 * MetaGraph beside its checkpoint or a GraphDef, and runs it by name. */
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

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_MODEL_H_ */
