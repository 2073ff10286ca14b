/* SPDX-License-Identifier: Apache-2.0
 * What all parts of the C ABI (c_api.h) speak of: the opaque handles, codes and element types.
 * Ownership: a TwNode is its graph's, all other handles are the caller's until they are freed.
 * Threads: as c_api.h says of each handle.
 * Errors: TwCode, in which TW_OK is none. */
#ifndef THALWEG_C_TYPES_H_
#define THALWEG_C_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_EXPORT __attribute__((visibility("default")))

typedef struct TwStatus TwStatus;
typedef struct TwEnvironment TwEnvironment;
typedef struct TwGraph TwGraph;
typedef struct TwNode TwNode; /* owned by its graph */
typedef struct TwNodeBuilder TwNodeBuilder;
typedef struct TwSession TwSession;
typedef struct TwCallable TwCallable;
typedef struct TwPartialRun TwPartialRun;
typedef struct TwTensor TwTensor;
typedef struct TwRunOptions TwRunOptions;
typedef struct TwBuffer TwBuffer; /* bytes that a function made */
typedef struct TwServer TwServer;

/* Output `index` of a node. A NULL node means none. */
typedef struct TwOutput {
  TwNode* node;
  int32_t index;
} TwOutput;

/* Codes have gRPC's numbers, element types TensorFlow's (1 float, 2 double, 3 int32 ... ). */
typedef int32_t TwCode;
typedef int32_t TwDataType;
#define TW_OK 0

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_TYPES_H_ */
