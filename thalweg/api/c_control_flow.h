/* SPDX-License-Identifier: Apache-2.0
 * The part of the C ABI (c_api.h, which includes it) that builds loops and conditionals. Their
 * bodies are functions (tw_function_body_new): each is built from its arguments and from what it
 * reads outside, which need not be the same tensors in all of them. Gradients go through them.
 * Ownership: nodes are the graph's; the bodies stay the caller's, who frees them.
 * Threads: as for a TwGraph; a body by one at a time.
 * Errors: INVALID_ARGUMENT that names what does not fit; nothing is added then. */
#ifndef THALWEG_C_CONTROL_FLOW_H_
#define THALWEG_C_CONTROL_FLOW_H_

#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwControlFlowOptions {
  size_t struct_size;
  const char* name;            /* of the node; NULL or taken: made from the operation's */
  const char* device;          /* as a node's */
  const char* site;            /* of the node: "train.c:41" */
  int64_t parallel_iterations; /* of a loop, at most at once; 0: 10 */
} TwControlFlowOptions;

/* A body without its definition (tw_function_define is not called), and its results: tensors of the
 * body or of the graph outside. */
typedef struct TwBranch {
  TwGraph* body;
  const TwOutput* results;
  int32_t num_results;
} TwBranch;

/* Calls `body` on the variables as long as `condition` says true of them: their last values, as
 * many as there are of `initial`, go to `last`. Both have an argument for each variable; a variable
 * keeps the shape of the body's argument, so that one whose shape changes has an argument of a less
 * definite shape. `options` may be NULL. INVALID_ARGUMENT that names the variable that does not
 * fit; nothing is added then. */
TW_EXPORT TwCode tw_graph_while(TwGraph* graph, const TwOutput* initial, int32_t num_variables,
                                const TwBranch* condition, const TwBranch* body,
                                const TwControlFlowOptions* options, TwOutput* last,
                                TwStatus* status);
/* The results of a branch; branches have no arguments, and results of the same number and types, as
 * many as `made` takes. A selector of bool is a condition, of which branches[0] is what is done
 * where it holds and branches[1] where not; one of int32 is the number of the branch, the last
 * being that for all other numbers. */
TW_EXPORT TwCode tw_graph_branch(TwGraph* graph, TwOutput selector, const TwBranch* branches,
                                 int32_t num_branches, const TwControlFlowOptions* options,
                                 TwOutput* made, TwStatus* status);

#ifdef __cplusplus
}
#endif

#endif /* THALWEG_C_CONTROL_FLOW_H_ */
