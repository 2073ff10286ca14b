/* SPDX-License-Identifier: Apache-2.0
 * Operations and kernels from a shared object of your own, through a table of C functions that
 * stays the same from version to version: the object links nothing of Thalweg.
 *
 *   static int Double(TwKernelCall* call, const TwKernelApi* api) {
 *     TwTensorView x, y;
 *     if (!api->input(call, 0, &x) || !api->allocate_output(call, 0, x.dtype, x.dims, x.rank, &y))
 * return 0;
 *     ...
 *     return 1;
 *   }
 *   int tw_register(const TwKernelApi* api, TwRegistrar* registrar) {
 *     return api->define_op(registrar, "name: 'Double' input_arg { name: 'x' type: DT_FLOAT } "
 *                                      "output_arg { name: 'y' type: DT_FLOAT }", NULL) &&
 *            api->add_kernel(registrar, "Double", "CPU", Double);
 *   }
 *
 * The object exports `tw_register`; tw_environment_load_library calls it once.
 * Ownership: calls and views are lent for the call; an output's memory is the tensor's.
 * Threads: a kernel may be called by several threads at once.
 * Errors: functions return 1, or 0 after an error: what they set as the error (fail) reaches the
 * user with node, operation, device and shapes put before it. No exception may leave a function of
 * yours. */
#ifndef THALWEG_KERNEL_API_H_
#define THALWEG_KERNEL_API_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_KERNEL_API_VERSION 1

typedef struct TwRegistrar TwRegistrar;
typedef struct TwKernelCall TwKernelCall; /* one call of a kernel */
typedef struct TwShapeCall TwShapeCall;   /* one call of a shape function */
typedef struct TwKernelApi TwKernelApi;

/* A tensor as a kernel sees it: element type with TensorFlow's number, dense, row-major. Valid
 * during the call. */
typedef struct TwTensorView {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
  int64_t num_elements;
  void* data; /* do not write an input's */
} TwTensorView;

typedef int (*TwKernelFunction)(TwKernelCall* call, const TwKernelApi* api);
typedef int (*TwShapeFunction)(TwShapeCall* call, const TwKernelApi* api);

struct TwKernelApi {
  uint32_t version; /* TW_KERNEL_API_VERSION of the library that calls; functions are only added */

  /* `op_def`: an OpDef message in text form. `shape` may be NULL: shapes stay unknown. */
  int (*define_op)(TwRegistrar* registrar, const char* op_def, TwShapeFunction shape);
  /* For all element types that the schema allows; the kernel looks at its inputs'. */
  int (*add_kernel)(TwRegistrar* registrar, const char* op, const char* device_type,
                    TwKernelFunction kernel);

  /* ---- in a kernel ---- */
  int32_t (*num_inputs)(const TwKernelCall* call);
  int32_t (*num_outputs)(const TwKernelCall* call);
  int (*input)(TwKernelCall* call, int32_t i, TwTensorView* view);
  /* Plain element types. The elements are uninitialized. */
  int (*allocate_output)(TwKernelCall* call, int32_t i, int32_t dtype, const int64_t* dims,
                         int32_t rank, TwTensorView* view);
  int (*attr_int)(TwKernelCall* call, const char* name, int64_t* value);
  int (*attr_float)(TwKernelCall* call, const char* name, float* value);
  int (*attr_bool)(TwKernelCall* call, const char* name, int32_t* value);
  int (*attr_type)(TwKernelCall* call, const char* name, int32_t* value);
  /* Sets the error and returns 0. Codes are those of c_api.h (3: invalid argument). */
  int (*fail)(TwKernelCall* call, int32_t code, const char* message);

  /* ---- in a shape function ---- */
  /* -1: unknown */
  int32_t (*input_rank)(const TwShapeCall* call, int32_t i);
  int64_t (*input_dim)(const TwShapeCall* call, int32_t i, int32_t dim);
  int (*set_output_shape)(TwShapeCall* call, int32_t i, const int64_t* dims, int32_t rank);
  int (*fail_shape)(TwShapeCall* call, const char* message);
};

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_KERNEL_API_H_ */
