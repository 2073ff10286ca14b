/* SPDX-License-Identifier: Apache-2.0
 * Thalweg's C ABI: the one stable binary interface of the library. Everything else (thalweg.h, the
 * Python package) is a layer over it. Handles and codes are in c_types.h; checkpoints, datasets,
 * models, files, messages and servers have headers of their own, all of which are included here.
 *
 * Handles are opaque. A function that makes something returns it, and NULL after an error;
 * functions that only do something return the code (TW_OK = 0). `status` may be NULL when the
 * reason is of no interest; otherwise it is set on every call. Names are UTF-8, zero-terminated.
 * Functions are only added; tw_abi_version() changes when that promise is broken.
 *
 * Ownership: a handle is the caller's until its _free function. Strings in are copied; strings out
 * live as long as the handle they come from, or until its next change.
 * Threads: all functions on a TwEnvironment, TwGraph or TwSession may be called from any thread at
 * once. Tensors are immutable once shared. A TwStatus, TwNodeBuilder or TwRunOptions belongs to one
 * thread at a time.
 * Errors: a TwCode and the message in `status`. A NULL where something is needed is
 * INVALID_ARGUMENT, and the empty answer (NULL, "", 0) of a function without a status. Nothing here
 * throws, aborts or exits. */
#ifndef THALWEG_C_API_H_
#define THALWEG_C_API_H_

#include "thalweg/c_checkpoint.h"
#include "thalweg/c_control_flow.h"
#include "thalweg/c_dataset.h"
#include "thalweg/c_files.h"
#include "thalweg/c_machine.h"
#include "thalweg/c_message.h"
#include "thalweg/c_model.h"
#include "thalweg/c_server.h"
#include "thalweg/c_trace.h"
#include "thalweg/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

TW_EXPORT const char* tw_version(void); /* "0.1.0" */
TW_EXPORT int32_t tw_abi_version(void); /* 1 */

/* ---- Status: code, message, and where it happened ("" when not known) ---- */
TW_EXPORT TwStatus* tw_status_new(void);
TW_EXPORT void tw_status_free(TwStatus* status);
TW_EXPORT TwCode tw_status_code(const TwStatus* status);
TW_EXPORT const char* tw_status_message(const TwStatus* status);
TW_EXPORT const char* tw_code_name(TwCode code); /* "INVALID_ARGUMENT" */
/* For functions of the host that are called from here. */
TW_EXPORT void tw_status_set(TwStatus* status, TwCode code, const char* message);

/* ---- Buffers ---- */
TW_EXPORT const void* tw_buffer_data(const TwBuffer* buffer);
TW_EXPORT size_t tw_buffer_size(const TwBuffer* buffer);
TW_EXPORT void tw_buffer_free(TwBuffer* buffer);

/* ---- Tensors: dense, row-major, reference counted ---- */
/* Uninitialized elements; strings are empty. Not for resource and variant. */
TW_EXPORT TwTensor* tw_tensor_new(TwDataType dtype, const int64_t* dims, int32_t rank,
                                  TwStatus* status);
/* Over the caller's memory, without a copy; `release(arg)` runs once, on any thread, when the last
 * user is done. The data must be aligned to its element and stay unchanged until then. Released at
 * once when NULL is returned. */
TW_EXPORT TwTensor* tw_tensor_from_memory(TwDataType dtype, const int64_t* dims, int32_t rank,
                                          void* data, size_t bytes, void (*release)(void* arg),
                                          void* arg, TwStatus* status);
TW_EXPORT TwTensor* tw_tensor_share(const TwTensor* tensor); /* another handle of the same tensor */
TW_EXPORT void tw_tensor_free(TwTensor* tensor);
TW_EXPORT TwDataType tw_tensor_dtype(const TwTensor* tensor);
TW_EXPORT int32_t tw_tensor_rank(const TwTensor* tensor);
TW_EXPORT int64_t tw_tensor_dim(const TwTensor* tensor, int32_t i);
TW_EXPORT int64_t tw_tensor_num_elements(const TwTensor* tensor);
TW_EXPORT size_t tw_tensor_bytes(const TwTensor* tensor); /* 0 for strings, resources, variants */
/* NULL for strings, resources, variants. Write only before the tensor is fed or shared. */
TW_EXPORT void* tw_tensor_data(const TwTensor* tensor);
/* 1 when somebody else (a variable, a constant, the memory's owner) can see the bytes as well. */
TW_EXPORT int32_t tw_tensor_is_shared(const TwTensor* tensor);
TW_EXPORT const char* tw_tensor_string(const TwTensor* tensor, int64_t i, size_t* size);
TW_EXPORT TwCode tw_tensor_set_string(TwTensor* tensor, int64_t i, const char* text, size_t size);
/* The TensorProto of the tensor, and back. */
TW_EXPORT TwBuffer* tw_tensor_to_proto(const TwTensor* tensor, TwStatus* status);
TW_EXPORT TwTensor* tw_tensor_from_proto(const void* data, size_t size, TwStatus* status);

/* ---- Environment: devices, threads, memory. Sessions share one ---- */
typedef struct TwEnvironmentOptions {
  size_t struct_size;   /* sizeof(TwEnvironmentOptions): fields may be added at the end */
  int32_t threads;      /* beside the caller; -1: one fewer than cores; 0: none, all is inline */
  int32_t cpu_devices;  /* virtual CPU devices, at least 1 */
  int64_t memory_limit; /* bytes; 0: what the machine or control group has, less a reserve */
  int32_t isa_level;    /* -1: the best the CPU has; 0 x86-64-v2, 1 AVX2, 2 AVX-512 */
  /* The host's own threads instead of ours: must run every task once, on any thread. NULL: ours. */
  void (*schedule)(void* host, void (*task)(void* arg), void* arg);
  void* host;
  int32_t host_parallelism;
  /* Where log lines go; NULL: standard error, what least_severity lets pass. Severity 0 info, 1
   * warning, 2 error. */
  void (*log)(void* log_arg, int32_t severity, const char* line);
  void* log_arg;
  int32_t strict_kernels; /* 1: the library's own kernels only, no oneDNN */
  int32_t least_severity; /* of lines on standard error: 0 and 1 warnings, 2 errors, 3 none */
} TwEnvironmentOptions;
TW_EXPORT void tw_environment_options_init(TwEnvironmentOptions* options); /* the defaults */
TW_EXPORT TwEnvironment* tw_environment_new(const TwEnvironmentOptions* options,
                                            TwStatus* status); /* NULL: defaults */
/* Sessions keep it alive; memory goes back to the system with the last of them. */
TW_EXPORT void tw_environment_free(TwEnvironment* environment);
TW_EXPORT int32_t tw_environment_num_devices(const TwEnvironment* environment);
TW_EXPORT const char* tw_environment_device_name(const TwEnvironment* environment, int32_t i);
TW_EXPORT const char* tw_environment_device_type(const TwEnvironment* environment, int32_t i);
TW_EXPORT int64_t tw_environment_memory_in_use(const TwEnvironment* environment);
TW_EXPORT int64_t tw_environment_memory_peak(const TwEnvironment* environment); /* in use at once */
TW_EXPORT int64_t tw_environment_memory_limit(const TwEnvironment* environment);
/* Drops all variables, queues ... of the named containers; of all when n is 0. */
TW_EXPORT TwCode tw_environment_reset(TwEnvironment* environment, const char* const* containers,
                                      int32_t n, TwStatus* status);
/* Loads operations and kernels of a user's shared object (kernel_api.h). */
TW_EXPORT TwCode tw_environment_load_library(TwEnvironment* environment, const char* path,
                                             TwStatus* status);
/* The schemas of all operations as one OpList message (only those with a kernel when
 * `implemented_only`). */
TW_EXPORT TwBuffer* tw_environment_op_list(TwEnvironment* environment, int32_t implemented_only,
                                           TwStatus* status);
/* All kernels as one KernelList message: operation, device type, types. */
TW_EXPORT TwBuffer* tw_environment_kernel_list(TwEnvironment* environment, TwStatus* status);
/* Why an operation has no gradient; "" when it has one, NULL when nobody said or it does not exist.
 */
TW_EXPORT const char* tw_environment_no_gradient(const TwEnvironment* environment, const char* op);

/* ---- Functions of the host: what PyFunc and PyFuncStateless call ----
 * `token` is the node's attribute, of `token_size` bytes. The function sets every output to a
 * tensor of the type in `output_types`, which the caller then owns, and returns TW_OK; or it sets
 * none, sets `status` and returns its code. Any thread of any step may call, several at once; the
 * step waits. Threads of ours block signals from outside. One function for the process; NULL: none,
 * and such nodes fail. */
typedef TwCode (*TwHostFunction)(void* host, const char* token, size_t token_size,
                                 const TwTensor* const* inputs, int32_t num_inputs,
                                 const TwDataType* output_types, TwTensor** outputs,
                                 int32_t num_outputs, TwStatus* status);
TW_EXPORT void tw_set_host_function(TwHostFunction function, void* host);

/* ---- Graph ---- */
TW_EXPORT TwGraph* tw_graph_new(TwEnvironment* environment, TwStatus* status);
TW_EXPORT void tw_graph_free(TwGraph* graph); /* sessions keep it alive */
TW_EXPORT int32_t tw_graph_num_nodes(const TwGraph* graph);
TW_EXPORT TwNode* tw_graph_node(const TwGraph* graph, int32_t id); /* by order of creation */
/* The nodes that are there now, from `first` on, are a tool's that looks into the graph, and not
 * the program's: sessions do not warn of a graph that grows by them, nor does strict_graph refuse
 * it. */
TW_EXPORT void tw_graph_set_aside(TwGraph* graph, int32_t first);
TW_EXPORT TwNode* tw_graph_find_node(const TwGraph* graph,
                                     const char* name); /* NULL when there is none */
/* "name" or "name:port" */
TW_EXPORT TwCode tw_graph_find_output(const TwGraph* graph, const char* name, TwOutput* output,
                                      TwStatus* status);
TW_EXPORT TwBuffer* tw_graph_unique_name(const TwGraph* graph, const char* prefix);
/* GraphDef, binary or (text != 0) in text form. */
TW_EXPORT TwBuffer* tw_graph_export(const TwGraph* graph, int32_t text, TwStatus* status);
/* FunctionDefLibrary: the functions alone. */
TW_EXPORT TwBuffer* tw_graph_export_library(const TwGraph* graph, TwStatus* status);
typedef struct TwImportOptions {
  size_t struct_size;
  const char* prefix;                /* "" or NULL: none */
  const char* const* input_map_from; /* "name:port" in the message ... */
  const TwOutput* input_map_to;      /* ... stands for this output of the graph */
  int32_t num_input_map;
  TwNode* const* control_inputs; /* before every imported node */
  int32_t num_control_inputs;
  const char* const* return_outputs;
  int32_t num_return_outputs;
} TwImportOptions;
TW_EXPORT TwCode tw_graph_import(TwGraph* graph, const void* data, size_t size, int32_t text,
                                 const TwImportOptions* options, TwOutput* returned,
                                 TwStatus* status);

/* A node: one call for each part, then finish, which frees the builder whatever comes. */
TW_EXPORT TwNodeBuilder* tw_node_builder_new(TwGraph* graph, const char* op, const char* name);
TW_EXPORT void tw_node_builder_free(TwNodeBuilder* builder); /* only when finish is not called */
TW_EXPORT void tw_node_builder_input(TwNodeBuilder* builder,
                                     TwOutput input); /* flat, in the schema's order */
TW_EXPORT void tw_node_builder_control(TwNodeBuilder* builder, TwNode* before);
TW_EXPORT void tw_node_builder_device(TwNodeBuilder* builder, const char* device);
TW_EXPORT void tw_node_builder_site(TwNodeBuilder* builder,
                                    const char* site); /* "train.py:41 in build" */
TW_EXPORT void tw_node_builder_attr_int(TwNodeBuilder* builder, const char* attr, int64_t value);
TW_EXPORT void tw_node_builder_attr_float(TwNodeBuilder* builder, const char* attr, float value);
TW_EXPORT void tw_node_builder_attr_bool(TwNodeBuilder* builder, const char* attr, int32_t value);
TW_EXPORT void tw_node_builder_attr_type(TwNodeBuilder* builder, const char* attr,
                                         TwDataType value);
TW_EXPORT void tw_node_builder_attr_string(TwNodeBuilder* builder, const char* attr,
                                           const char* text, size_t size);
/* rank -1: unknown; dimension -1: unknown */
TW_EXPORT void tw_node_builder_attr_shape(TwNodeBuilder* builder, const char* attr,
                                          const int64_t* dims, int32_t rank);
TW_EXPORT void tw_node_builder_attr_tensor(TwNodeBuilder* builder, const char* attr,
                                           const TwTensor* value);
TW_EXPORT void tw_node_builder_attr_int_list(TwNodeBuilder* builder, const char* attr,
                                             const int64_t* values, int32_t n);
TW_EXPORT void tw_node_builder_attr_float_list(TwNodeBuilder* builder, const char* attr,
                                               const float* values, int32_t n);
TW_EXPORT void tw_node_builder_attr_type_list(TwNodeBuilder* builder, const char* attr,
                                              const TwDataType* values, int32_t n);
TW_EXPORT void tw_node_builder_attr_string_list(TwNodeBuilder* builder, const char* attr,
                                                const char* const* texts, const size_t* sizes,
                                                int32_t n);
/* ranks[i] (-1: unknown) says how many of `dims` are those of shape i. */
TW_EXPORT void tw_node_builder_attr_shape_list(TwNodeBuilder* builder, const char* attr,
                                               const int64_t* dims, const int32_t* ranks,
                                               int32_t n);
/* A function of the graph's library, by its name. */
TW_EXPORT void tw_node_builder_attr_function(TwNodeBuilder* builder, const char* attr,
                                             const char* function);
/* Any attribute, as an AttrValue message. */
TW_EXPORT void tw_node_builder_attr_proto(TwNodeBuilder* builder, const char* attr,
                                          const void* data, size_t size);
TW_EXPORT TwNode* tw_node_builder_finish(TwNodeBuilder* builder, TwStatus* status);
TW_EXPORT TwCode tw_graph_set_back_edge(TwGraph* graph, TwNode* merge, int32_t index,
                                        TwOutput source, TwStatus* status);
TW_EXPORT TwCode tw_graph_add_control_input(TwGraph* graph, TwNode* node, TwNode* before,
                                            TwStatus* status);
/* Another source for input `index`, of the same type and a shape that fits. INVALID_ARGUMENT, with
 * the path, when a cycle would close. Not while another thread prepares a run of the node; a
 * session that has run it keeps what it read then. */
TW_EXPORT TwCode tw_graph_set_input(TwGraph* graph, TwNode* node, int32_t index, TwOutput source,
                                    TwStatus* status);
/* The container of a node that keeps state and names none; nothing for other nodes. Before a
 * session has seen it. */
TW_EXPORT TwCode tw_graph_set_container(TwGraph* graph, TwNode* node, const char* container,
                                        TwStatus* status);
/* An attribute beside those of the operation, which begins with '_' (`_class`: what the node is
 * colocated with), as an AttrValue message. Before a session has seen the node. */
TW_EXPORT TwCode tw_graph_set_annotation(TwGraph* graph, TwNode* node, const char* attr,
                                         const void* data, size_t size, TwStatus* status);
/* The device that a node asks for: of nodes that gradients and optimizers made, before a session
 * has seen them. */
TW_EXPORT TwCode tw_graph_set_device(TwGraph* graph, TwNode* node, const char* device,
                                     TwStatus* status);
/* What the caller knows of a shape beyond inference, for nodes made from now on; rank -1: nothing,
 * dimension -1: unknown. INVALID_ARGUMENT when it contradicts what is known. Not while another
 * thread prepares a run of the node. */
TW_EXPORT TwCode tw_graph_set_shape(TwGraph* graph, TwOutput output, const int64_t* dims,
                                    int32_t rank, TwStatus* status);

TW_EXPORT const char* tw_node_name(const TwNode* node);
TW_EXPORT const char* tw_node_op(const TwNode* node);
TW_EXPORT const char* tw_node_device(const TwNode* node);
TW_EXPORT const char* tw_node_site(const TwNode* node);
TW_EXPORT int32_t tw_node_id(const TwNode* node);
TW_EXPORT int32_t tw_node_num_inputs(const TwNode* node);
TW_EXPORT TwOutput tw_node_input(const TwNode* node, int32_t i);
TW_EXPORT int32_t tw_node_num_control_inputs(const TwNode* node);
TW_EXPORT TwNode* tw_node_control_input(const TwNode* node, int32_t i);
TW_EXPORT int32_t tw_node_num_outputs(const TwNode* node);
TW_EXPORT TwDataType tw_output_dtype(TwOutput output); /* plus 100 for a reference edge */
/* Rank, or -1 when unknown; fills at most `capacity` dims (-1 unknown). */
TW_EXPORT int32_t tw_output_shape(TwOutput output, int64_t* dims, int32_t capacity);
TW_EXPORT TwBuffer* tw_node_attr(const TwNode* node, const char* attr,
                                 TwStatus* status);                    /* an AttrValue message */
TW_EXPORT TwBuffer* tw_node_def(const TwNode* node, TwStatus* status); /* a NodeDef message */

/* ---- Functions: what nodes call by name, as datasets, While and If do ----
 * The body is a graph of its own, in which nodes are built as in any. Where one of them reads a
 * tensor of the graph outside, or of a graph outside of that, the function gets one more argument:
 * a capture. No session runs a body, no variable is made in one. */
/* The body of a function of `graph`, which may be a body itself. Freed by tw_graph_free, when none
 * of its nodes is used any more. */
TW_EXPORT TwGraph* tw_function_body_new(TwGraph* graph, TwStatus* status);
/* All arguments come before the first capture. rank -1: unknown; dimension -1: unknown. */
TW_EXPORT TwOutput tw_function_argument(TwGraph* body, const char* name, TwDataType dtype,
                                        const int64_t* dims, int32_t rank, TwStatus* status);
/* A tensor of the graph outside, made in the body anew: its node and all that it depends on are
 * copied. FAILED_PRECONDITION where that holds a placeholder, a variable or another resource. */
TW_EXPORT TwOutput tw_function_copy(TwGraph* body, TwOutput outside, TwStatus* status);
/* Puts the function into the library of the graph outside, with all functions that the body has;
 * gives its name there: `name`, and with `append_hash` "_" and a number that depends on what the
 * function does. `result_names` may be NULL. */
TW_EXPORT TwBuffer* tw_function_define(TwGraph* body, const char* name, int32_t append_hash,
                                       const TwOutput* results, int32_t num_results,
                                       const char* const* result_names, TwStatus* status);
/* The FunctionDef message of what a graph computes of `arguments`, whatever their nodes are: all
 * its nodes but these. Nothing is added anywhere. */
TW_EXPORT TwBuffer* tw_function_definition(TwGraph* body, const char* name,
                                           const TwOutput* arguments, int32_t num_arguments,
                                           const TwOutput* results, int32_t num_results,
                                           const char* const* result_names, TwStatus* status);
/* Adds the nodes that steps run for a call (a function's name, PartitionedCall, If, While ...) to
 * the graph of the call, named "PREFIX/CALL/NODE", so that values within can be looked at;
 * `outputs`, as many as the call has, get what would stand for its own. Loops of functions go
 * through one iteration at a time. Nothing reads these nodes; the last of them is a NoOp that comes
 * behind the others. What stands in a function has attributes that say where: `_function`,
 * `_function_node`, its name there, and `_function_calls`, the names of the calls that lead to it.
 * FAILED_PRECONDITION for what is no call, RESOURCE_EXHAUSTED for one that becomes more than 65,536
 * nodes; after an error some nodes may be there. */
TW_EXPORT TwCode tw_graph_expand_call(TwGraph* graph, const TwNode* call, const char* prefix,
                                      TwOutput* outputs, TwStatus* status);
/* What a call passes behind the arguments: tensors of the graph outside. */
TW_EXPORT int32_t tw_function_num_captures(const TwGraph* body);
TW_EXPORT TwOutput tw_function_capture(const TwGraph* body, int32_t i);

/* ---- Gradients ---- */
/* A gradient: dense (indices.node NULL), sparse rows, or none (values.node NULL). */
typedef struct TwGradient {
  TwOutput values, indices, dense_shape;
} TwGradient;
/* Where the function of a step is called; valid until it returns. */
typedef struct TwGradientPlace TwGradientPlace;
/* Nodes whose gradient a function of the caller's says: from those of `outputs`, some of them none,
 * it sets those of `inputs`, and adds the nodes for it under the scope of the gradients. Gradients
 * that it asks for itself are `within` its place. It returns TW_OK, or another code, with which the
 * whole ends. */
typedef struct TwGradientStep {
  const TwOutput* inputs;
  int32_t num_inputs;
  const TwOutput* outputs;
  int32_t num_outputs;
  TwCode (*function)(void* argument, const TwGradientPlace* place, const TwGradient* incoming,
                     TwGradient* made);
  void* argument;
} TwGradientStep;
typedef struct TwGradientOptions {
  size_t struct_size;
  const TwOutput* grad_ys; /* NULL, or one per y with NULL nodes for ones */
  const TwOutput* stop_gradients;
  int32_t num_stop_gradients;
  int32_t allow_unconnected;
  int32_t colocate;
  const char* scope;
  const char* site; /* of the nodes: "train.py:41 in build" */
  const TwGradientStep* steps;
  int32_t num_steps;
  const TwGradientPlace* within; /* of the step whose function asks; NULL for any other caller */
} TwGradientOptions;
TW_EXPORT TwCode tw_graph_gradients(TwGraph* graph, const TwOutput* ys, int32_t num_ys,
                                    const TwOutput* xs, int32_t num_xs,
                                    const TwGradientOptions* options, TwGradient* gradients,
                                    TwStatus* status);

/* ---- Training ---- */
/* The nodes of a variable: its handle, its initializer (run once before the first read), a read
 * that all may share. */
typedef struct TwVariable {
  TwOutput handle;
  TwNode* initializer;
  TwOutput value;
} TwVariable;
TW_EXPORT TwCode tw_graph_add_variable(TwGraph* graph, const char* name, TwOutput initial_value,
                                       int32_t use_resource, TwVariable* variable,
                                       TwStatus* status);

/* An optimizer: GradientDescent, Momentum, Adagrad, Adadelta, RMSProp, CenteredRMSProp, Adam, Ftrl,
 * FtrlV2 (Ftrl with shrinkage), ProximalGradientDescent or ProximalAdagrad, with TensorFlow's
 * hyper-parameters. Set it up before its first use. */
typedef struct TwOptimizer TwOptimizer;
TW_EXPORT TwOptimizer* tw_optimizer_new(const char* kind, const char* name);
TW_EXPORT void tw_optimizer_free(TwOptimizer* optimizer);
TW_EXPORT void tw_optimizer_set_number(TwOptimizer* optimizer, const char* parameter, double value);
TW_EXPORT void tw_optimizer_set_tensor(TwOptimizer* optimizer, const char* parameter,
                                       TwOutput value);
TW_EXPORT void tw_optimizer_set_flags(TwOptimizer* optimizer, int32_t use_locking,
                                      int32_t use_nesterov);
/* The line that the nodes of later calls come from. */
TW_EXPORT void tw_optimizer_set_site(TwOptimizer* optimizer, const char* site);
/* gradients[i] of `loss` for variable handle i; values.node is NULL where the loss does not depend
 * on it. */
TW_EXPORT TwCode tw_optimizer_compute_gradients(TwOptimizer* optimizer, TwGraph* graph,
                                                TwOutput loss, const TwOutput* variables, int32_t n,
                                                const TwGradientOptions* options,
                                                TwGradient* gradients, TwStatus* status);
/* One node that has run when all variables with a gradient are updated and global_step (may be
 * empty) is one higher. */
TW_EXPORT TwCode tw_optimizer_apply_gradients(TwOptimizer* optimizer, TwGraph* graph,
                                              const TwGradient* gradients,
                                              const TwOutput* variables, int32_t n,
                                              TwOutput global_step, const char* name, TwNode** step,
                                              TwStatus* status);
/* Variables that the optimizer made so far: slot `*slot` of `*primary` (an empty output: of none).
 */
TW_EXPORT int32_t tw_optimizer_num_created(const TwOptimizer* optimizer);
TW_EXPORT void tw_optimizer_created(const TwOptimizer* optimizer, int32_t i, TwVariable* variable,
                                    TwOutput* primary, const char** slot);

/* The table of optimizers, for front ends that make updates of their own. Texts are the library's
 * for ever; each function gives NULL past its last row, so that rows are read until there are none.
 * A kind, and what follows "Apply" in the names of its operations: */
TW_EXPORT const char* tw_optimizer_kind(int32_t kind, const char** operation,
                                        int32_t* has_nesterov);
/* An argument of these operations: "var", "grad" (in sparse forms followed by the indices),
 * "m_slot" for the slot m, "beta1_power" for the variable of that name, or a hyper-parameter. */
TW_EXPORT const char* tw_optimizer_kind_argument(int32_t kind, int32_t i);
/* A slot, and what it begins with: "0", "1" or the name of a hyper-parameter. */
TW_EXPORT const char* tw_optimizer_kind_slot(int32_t kind, int32_t i, const char** initial);
TW_EXPORT const char* tw_optimizer_kind_number(int32_t kind, int32_t i, double* default_value);

/* ---- Session ---- */
typedef struct TwSessionOptions {
  size_t struct_size;
  int32_t strict_placement; /* 1: an accelerator that is not here is an error; 0: the CPU stands in
                               for it. Other devices that are not here are errors; with a config,
                               its allow_soft_placement says what all of them are */
  int32_t log_placement;
  int32_t share_resources; /* 1: variables, queues and tables are the environment's, shared by
                              container and name */
  int64_t timeout_ms;      /* of every run that does not set its own; 0: none */
  int32_t strict_graph;    /* 1: a run after the graph has grown is an error */
  /* Passes to switch off and on, such as "-cse,-join_products"; "none" for all. The error of any
   * other word names them; join_products and channels_last change last places. NULL: as they are.
   * Of a session of a server its config says it. */
  const char* passes;
  /* "grpc://HOST:PORT": the session of a server, Thalweg's or TensorFlow's, to which the graph is
   * sent; "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE" over TLS. NULL or "": this process. */
  const char* target;
  const void* config; /* a ConfigProto message; it counts before the other fields. NULL: none, which
                         differs from one without a field: see strict_placement */
  size_t config_size;
  /* What a traced step may keep of each of these while it runs, in bytes: executions of its nodes
   * with their outputs, blocks that came back, times without a processor. The newest is kept, and
   * the trace says what was left out. 0: 256 MiB. Of a session of a server the server's counts */
  int64_t trace_bytes;
} TwSessionOptions;
TW_EXPORT void tw_session_options_init(TwSessionOptions* options);
/* The session sees nodes added to the graph later as well. */
TW_EXPORT TwSession* tw_session_new(TwEnvironment* environment, TwGraph* graph,
                                    const TwSessionOptions* options, TwStatus* status);
TW_EXPORT TwCode tw_session_close(TwSession* session,
                                  TwStatus* status); /* cancels what runs; returns when it ended */
TW_EXPORT void tw_session_free(TwSession* session);  /* closes if need be */

/* Its devices, those of all tasks of a server's cluster: a ListDevicesResponse message. */
TW_EXPORT TwBuffer* tw_session_list_devices(TwSession* session, TwStatus* status);
/* Drops all variables, queues ... of the named containers of a server, of all when n is 0, and ends
 * its sessions. */
TW_EXPORT TwCode tw_target_reset(const char* target, const char* const* containers, int32_t n,
                                 int64_t timeout_ms, TwStatus* status);
/* The same for as long as a ConfigProto message says (operation_timeout_in_ms); NULL: no config. */
TW_EXPORT TwCode tw_target_reset_config(const char* target, const char* const* containers,
                                        int32_t n, const void* config, size_t config_size,
                                        TwStatus* status);

/* Options of one run: timeout, tracing, a handle to cancel it from another thread. */
TW_EXPORT TwRunOptions* tw_run_options_new(void);
TW_EXPORT void tw_run_options_free(TwRunOptions* options);
TW_EXPORT void tw_run_options_timeout_ms(TwRunOptions* options, int64_t timeout_ms);
/* How much of the timeout has gone before the call. Errors say the whole timeout. */
TW_EXPORT void tw_run_options_timeout_spent_ms(TwRunOptions* options, int64_t spent_ms);
TW_EXPORT void tw_run_options_trace_level(TwRunOptions* options,
                                          int32_t level); /* RunOptions.TraceLevel's numbers */
TW_EXPORT void tw_run_options_output_partition_graphs(TwRunOptions* options, int32_t on);
/* Not 0: members of collective operations may be in steps of other sessions of the cluster that run
 * with this key. */
TW_EXPORT void tw_run_options_collective_graph_key(TwRunOptions* options, int64_t key);
/* One of the thread pools that the session's ConfigProto names, counted from 0, which are all one;
 * -1: the calling thread. Others are INVALID_ARGUMENT in a session of this process; a server has
 * its own threads. */
TW_EXPORT void tw_run_options_inter_op_thread_pool(TwRunOptions* options, int32_t pool);
/* The metadata tell what the step's values take at once, known before it runs: the one node of
 * cost_graph is where, its temporary_memory_size how many bytes. */
TW_EXPORT void tw_run_options_memory_plan(TwRunOptions* options, int32_t on);
/* Not 0: the step ends at its first value that is not finite, with the node, its inputs and the
 * iteration. Runs without rewriting, and slower. */
TW_EXPORT void tw_run_options_check_numerics(TwRunOptions* options, int32_t on);
/* Not 0: after an error there are metadata, too, of what was seen until then; in a session of this
 * process. */
TW_EXPORT void tw_run_options_metadata_of_failures(TwRunOptions* options, int32_t on);
/* Any thread, a signal handler's excepted: the run that uses these options ends with CANCELLED. */
TW_EXPORT void tw_run_options_cancel(TwRunOptions* options);

/* Feeds replace outputs, fetches are returned in `results` (the caller frees them), targets only
 * run. `options` and `metadata` may be NULL; *metadata becomes a RunMetadata message. After an
 * error no result is set, nor metadata but where the options ask for it. */
TW_EXPORT TwCode tw_session_run(TwSession* session, const TwRunOptions* options,
                                const TwOutput* feeds, TwTensor* const* feed_values,
                                int32_t num_feeds, const TwOutput* fetches, int32_t num_fetches,
                                TwNode* const* targets, int32_t num_targets, TwTensor** results,
                                TwBuffer** metadata, TwStatus* status);
/* The same by names ("name:port"; targets by node name). */
TW_EXPORT TwCode tw_session_run_names(TwSession* session, const TwRunOptions* options,
                                      const char* const* feeds, TwTensor* const* feed_values,
                                      int32_t num_feeds, const char* const* fetches,
                                      int32_t num_fetches, const char* const* targets,
                                      int32_t num_targets, TwTensor** results, TwBuffer** metadata,
                                      TwStatus* status);
/* A prepared run: names, pruning and plan are done once. */
TW_EXPORT TwCallable* tw_session_make_callable(TwSession* session, const TwOutput* feeds,
                                               int32_t num_feeds, const TwOutput* fetches,
                                               int32_t num_fetches, TwNode* const* targets,
                                               int32_t num_targets, TwStatus* status);
/* The same, compiled within the timeout of `options` and until they are cancelled. */
TW_EXPORT TwCallable* tw_session_make_callable_within(TwSession* session,
                                                      const TwRunOptions* options,
                                                      const TwOutput* feeds, int32_t num_feeds,
                                                      const TwOutput* fetches, int32_t num_fetches,
                                                      TwNode* const* targets, int32_t num_targets,
                                                      TwStatus* status);
TW_EXPORT TwCode tw_callable_run(TwCallable* callable, const TwRunOptions* options,
                                 TwTensor* const* feed_values, TwTensor** results,
                                 TwBuffer** metadata, TwStatus* status);
/* What has no feeds and fetches, again and again until so many microseconds have passed, or to the
 * first error: for threads that fill a queue. Steps that enqueue what a reader reads may be done
 * several at once, with the effects of one after the other. */
TW_EXPORT TwCode tw_callable_repeat(TwCallable* callable, const TwRunOptions* options,
                                    int64_t micros, TwStatus* status);
TW_EXPORT void tw_callable_free(TwCallable* callable);
/* A run in pieces (white paper 4.2): all feeds and fetches are named first, then fed and fetched
 * bit by bit. */
TW_EXPORT TwPartialRun* tw_session_partial_run_new(TwSession* session, const TwOutput* feeds,
                                                   int32_t num_feeds, const TwOutput* fetches,
                                                   int32_t num_fetches, TwNode* const* targets,
                                                   int32_t num_targets, TwStatus* status);
TW_EXPORT TwCode tw_partial_run(TwPartialRun* run, const TwOutput* feeds,
                                TwTensor* const* feed_values, int32_t num_feeds,
                                const TwOutput* fetches, int32_t num_fetches, TwTensor** results,
                                TwStatus* status);
TW_EXPORT void tw_partial_run_free(TwPartialRun* run); /* cancels what is left */
/* Drops all variables, queues ... of the session's named containers; of all when n is 0. */
TW_EXPORT TwCode tw_session_reset(TwSession* session, const char* const* containers, int32_t n,
                                  TwStatus* status);
/* Where a node would run and why, as text. */
TW_EXPORT TwBuffer* tw_session_explain_placement(TwSession* session, const char* node,
                                                 TwStatus* status);

/* What a run of these names would do, as text: the graph before and after rewriting, memory,
 * program. */
TW_EXPORT TwBuffer* tw_session_describe_plan(TwSession* session, const char* const* feeds,
                                             int32_t num_feeds, const char* const* fetches,
                                             int32_t num_fetches, const char* const* targets,
                                             int32_t num_targets, TwStatus* status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_API_H_ */
