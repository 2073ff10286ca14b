/* SPDX-License-Identifier: Apache-2.0
 * Thalweg's C ABI: the one stable binary interface of the library. Everything else (thalweg.h, the
 * Python package) is a layer over it.
 *
 * Handles are opaque. A function that makes something returns it, and NULL after an error;
 * functions that only do something return the code (TW_OK = 0). `status` may be NULL when the
 * reason is of no interest; otherwise it is set on every call. Strings in are copied; strings out
 * live as long as the handle they come from, or until its next change. Names are UTF-8,
 * zero-terminated. Nothing here throws, aborts or exits. A NULL where something is needed is
 * INVALID_ARGUMENT, and the empty answer (NULL, "", 0) of a function without a status.
 *
 * Threads: all functions on a TwEnvironment, TwGraph or TwSession may be called from any thread at
 * once. Tensors are immutable once shared. A TwStatus, TwNodeBuilder or TwRunOptions belongs to one
 * thread at a time. Versions: functions are only added. tw_abi_version() changes when that promise
 * is broken. */
#ifndef THALWEG_C_API_H_
#define THALWEG_C_API_H_

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
 * step waits. One function for the process; NULL: none, and such nodes fail. */
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
/* The FunctionDef message of what a graph computes of `arguments`, whatever their nodes are: all its
 * nodes but these. Nothing is added anywhere. */
TW_EXPORT TwBuffer* tw_function_definition(TwGraph* body, const char* name,
                                           const TwOutput* arguments, int32_t num_arguments,
                                           const TwOutput* results, int32_t num_results,
                                           const char* const* result_names, TwStatus* status);
/* What a call passes behind the arguments: tensors of the graph outside. */
TW_EXPORT int32_t tw_function_num_captures(const TwGraph* body);
TW_EXPORT TwOutput tw_function_capture(const TwGraph* body, int32_t i);

/* ---- Gradients ---- */
/* A gradient: dense (indices.node NULL), sparse rows, or none (values.node NULL). */
typedef struct TwGradient {
  TwOutput values, indices, dense_shape;
} TwGradient;
/* Nodes whose gradient a function of the caller's says: from those of `outputs`, some of them none,
 * it sets those of `inputs`, and adds the nodes for it under the scope of the gradients. It returns
 * TW_OK, or another code, with which the whole ends. */
typedef struct TwGradientStep {
  const TwOutput* inputs;
  int32_t num_inputs;
  const TwOutput* outputs;
  int32_t num_outputs;
  TwCode (*function)(void* argument, const TwGradient* incoming, TwGradient* made);
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
  /* Passes to switch off and on, such as "-cse,-join_products"; "none" for all. Their names are in
   * docs/howto/add_a_pass.md; join_products and channels_last change last places. NULL: as they
   * are. Of a session of a server its config says it. */
  const char* passes;
  /* "grpc://HOST:PORT": the session of a server, Thalweg's or TensorFlow's, to which the graph is
   * sent; "grpcs://HOST:PORT?cert=FILE&key=FILE&ca=FILE" over TLS. NULL or "": this process. */
  const char* target;
  const void* config; /* a ConfigProto message; it counts before the other fields. NULL: none, which
                         differs from one without a field: see strict_placement */
  size_t config_size;
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

/* Options of one run: timeout, tracing, a handle to cancel it from another thread. */
TW_EXPORT TwRunOptions* tw_run_options_new(void);
TW_EXPORT void tw_run_options_free(TwRunOptions* options);
TW_EXPORT void tw_run_options_timeout_ms(TwRunOptions* options, int64_t timeout_ms);
TW_EXPORT void tw_run_options_trace_level(TwRunOptions* options,
                                          int32_t level); /* RunOptions.TraceLevel's numbers */
TW_EXPORT void tw_run_options_output_partition_graphs(TwRunOptions* options, int32_t on);
/* Not 0: members of collective operations may be in steps of other sessions of the cluster that run
 * with this key. */
TW_EXPORT void tw_run_options_collective_graph_key(TwRunOptions* options, int64_t key);
/* The metadata tell what the step's values take at once, known before it runs: the one node of
 * cost_graph is where, its temporary_memory_size how many bytes. */
TW_EXPORT void tw_run_options_memory_plan(TwRunOptions* options, int32_t on);
/* Any thread, a signal handler's excepted: the run that uses these options ends with CANCELLED. */
TW_EXPORT void tw_run_options_cancel(TwRunOptions* options);

/* Feeds replace outputs, fetches are returned in `results` (the caller frees them), targets only
 * run. `options` and `metadata` may be NULL; *metadata becomes a RunMetadata message. After an
 * error no result is set. */
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

/* ---- Checkpoints (formats V2 and V1) ---- */
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
/* The checkpoints that are kept, oldest first: path, and seconds since 1970. NULL: no such. The list
 * is taken by tw_saver_num_kept, or by asking for number 0 without it; paths live until the next. */
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
/* All in which a checkpoint differs from what a saver restores of it. `restore_into` NULL: nothing is
 * restored; else what fits is, and the rest of that session's variables stay as they are. */
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

/* ---- Models: a SavedModel, a MetaGraph beside its checkpoint, or a GraphDef, run by name ---- */
typedef struct TwModel TwModel;
typedef struct TwModelOptions {
  size_t struct_size;
  const char* const* tags; /* of the graph in a SavedModel that is meant ... */
  int32_t num_tags;        /* ... 0: the only one, or the one for serving ("serve") */
  int32_t without_weights; /* 1: to look at: nothing is restored, nothing needs to be usable */
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

/* ---- Looking into files: results are JSON, which the command `thalweg` shows ---- */
/* Called now and then by long work: bytes that are done, of how many (0: not known). What is not 0
 * ends the work with CANCELLED; nothing is left of what it wrote. */
typedef int32_t (*TwProgress)(void* context, uint64_t done, uint64_t total);
/* Format, and each tensor's name, dtype, shape, bytes, slices. */
TW_EXPORT TwBuffer* tw_checkpoint_list(const TwCheckpoint* checkpoint, TwStatus* status);
/* One tensor: dtype, shape, statistics, its first `limit` values (below 0: all). */
TW_EXPORT TwBuffer* tw_checkpoint_show(const TwCheckpoint* checkpoint, const char* name,
                                       int64_t limit, TwStatus* status);
/* What only one has, other types and shapes, values with |a - b| > atol + rtol * |b|. */
TW_EXPORT TwBuffer* tw_checkpoint_compare(const char* a, const char* b, double atol, double rtol,
                                          TwProgress progress, void* context, TwStatus* status);
/* All checksums of index and data; "damages": how many are wrong. Damage is no error of the call. */
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

/* Runs and tags of the event files in and below a folder, or of one file. `scalars`: values, too, and
 * nothing of other kinds. `run` and `tag`: patterns with *; NULL or "": all. */
TW_EXPORT TwBuffer* tw_events_read(const char* path, int32_t scalars, const char* run,
                                   const char* tag, TwProgress progress, void* context,
                                   TwStatus* status);
/* As tw_checkpoint_verify, of those files. */
TW_EXPORT TwBuffer* tw_events_verify(const char* path, TwProgress progress, void* context,
                                     TwStatus* status);

/* A new event file FOLDER/events.out.tfevents.SECONDS.HOST.PROCESS.NUMBER and SUFFIX, with its first record. */
typedef struct TwEventFile TwEventFile;
TW_EXPORT TwEventFile* tw_event_file_new(const char* folder, const char* suffix, TwStatus* status);
TW_EXPORT void tw_event_file_free(TwEventFile* file);
TW_EXPORT const char* tw_event_file_path(const TwEventFile* file);
/* Whole records (tw_record_frame); where that fails, the file is as it was before. NOT_FOUND: somebody has
 * removed it. From one thread at a time. */
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

/* ---- Protocol messages of every type that TensorFlow 1.15 and 2.21 write, as trees ---- */
typedef struct TwMessage TwMessage;         /* a tree and its memory; read by any thread */
typedef struct TwMessagePart TwMessagePart; /* one message of a tree, which owns it */
/* Reads and checks the whole. `type`: "tensorflow.GraphDef". An error names byte and field. */
TW_EXPORT TwMessage* tw_message_parse(const char* type, const void* data, size_t size,
                                      TwStatus* status);
TW_EXPORT void tw_message_free(TwMessage* message);
TW_EXPORT const TwMessagePart* tw_message_root(const TwMessage* message);
/* The bytes of a part: fields by number, maps by key. */
TW_EXPORT TwBuffer* tw_message_serialize(const TwMessagePart* part, TwStatus* status);
/* Fields that the type does not have, as they came. */
TW_EXPORT const char* tw_message_unknown(const TwMessagePart* part, size_t* size);
/* A field that is there. Values are int64_t, uint64_t or double (floats and bools as one of them,
 * enums as int64_t) when it is single, arrays of the field's own width when it is repeated. */
#define TW_MESSAGE_FIELDS 63 /* of one message, at most */
typedef struct TwMessageField {
  int32_t number;
  int32_t type; /* protobuf's number: 1 double, 2 float, 3 int64 ... 11 message, 18 sint64 */
  int32_t repeated;
  int32_t map;        /* values are entries: messages with key 1 and value 2, by key */
  size_t count;       /* 1 when it is single */
  const void* values; /* repeated numbers and bools, else for the two functions below */
  union {
    int64_t i;
    uint64_t u;
    double d;
  } single;
} TwMessageField;
/* Writes at most `capacity` fields, by number, and gives how many there are. */
TW_EXPORT int32_t tw_message_fields(const TwMessagePart* part, TwMessageField* fields,
                                    int32_t capacity);
/* Value i of a field of text or bytes, and of one of messages; NULL where there is none. */
TW_EXPORT const char* tw_message_text(const TwMessageField* field, size_t i, size_t* size);
TW_EXPORT const TwMessagePart* tw_message_part(const TwMessageField* field, size_t i);
/* An empty message, to be filled in by one thread at a time; its root, and what that gives, stay as
 * long as it does. */
TW_EXPORT TwMessage* tw_message_new(const char* type, TwStatus* status);
TW_EXPORT TwMessagePart* tw_message_filled(TwMessage* message);
/* What field `number` is: type, repeated, map; 0 where the type of the part has none of it. */
TW_EXPORT int32_t tw_message_field(const TwMessagePart* part, int32_t number,
                                   TwMessageField* field);
/* Puts a number or text in field `value->number`, one more where it is repeated: `single` of what
 * tw_message_field told; text as `single.u` bytes at `values`, which are copied. */
TW_EXPORT TwCode tw_message_put(TwMessagePart* part, const TwMessageField* value, TwStatus* status);
/* The message of a field, made when it is not there; one more where it is repeated. */
TW_EXPORT TwMessagePart* tw_message_put_part(TwMessagePart* part, int32_t number, TwStatus* status);
/* The entry of a map, whose value is field 2 of it, made when it is not there. `key`: an integer or
 * bool (`type` 3) or text (9), as in tw_message_put. */
TW_EXPORT TwMessagePart* tw_message_put_entry(TwMessagePart* part, int32_t number,
                                              const TwMessageField* key, TwStatus* status);
/* Adds what another message of the type has: single fields are replaced, repeated ones grow. */
TW_EXPORT TwCode tw_message_merge(TwMessagePart* part, const TwMessagePart* other,
                                  TwStatus* status);

/* ---- Server: one task of a cluster, driven by TensorFlow's protocol ---- */
typedef struct TwServerOptions {
  size_t struct_size;
  /* Listen where other machines reach it, without encryption or authentication. */
  int32_t insecure;
  int32_t threads;       /* of kernels; -1: one for each processor */
  int32_t cpu_devices;   /* 0: as the configuration of the server says, or 1 */
  int64_t memory_limit;  /* bytes of tensors; 0: what the machine has, less a reserve */
  int64_t message_limit; /* bytes of a request; 0: 2 GiB */
  /* TLS: PEM files of this task's certificate and key, and of who signs the others' certificates.
   * All three or none; clients and other tasks must show a certificate too. */
  const char *tls_cert, *tls_key, *tls_ca;
  int64_t graph_limit;   /* bytes of a graph that a client or another task sends; 0: as a request */
  int64_t node_limit;    /* nodes of such a graph, with those of its functions; 0: 10,000,000 */
  int32_t session_limit; /* open at once; 0: 10,000 */
  int32_t call_limit;    /* calls that wait at once; 0: 10,000 */
  int64_t lost_after_ms; /* a task that is silent for so long is lost; 0: 3000 */
  /* A step in which nothing ended and nothing moved in any task is ended; 0: 60000, below 0: never.
   */
  int64_t stuck_after_ms;
  /* How values go to other tasks of ours: "memory", "sockets" (unix), "tcp", "calls", or "any" of
   * them, the fastest that can be had; "ucx", where it is built with it, to tasks that say so too;
   * NULL: any. */
  const char* channels;
  const char* listen; /* HOST:PORT in place of the cluster's own address of this task; NULL or "":
                         that, or a free loopback port where there is no cluster */
} TwServerOptions;
TW_EXPORT void tw_server_options_init(TwServerOptions* options);
/* Listens and serves at once. `server_def`: a ServerDef message; of no bytes: a cluster of one task
 * on a free loopback port. `options` may be NULL. UNAVAILABLE when the port is taken. */
TW_EXPORT TwServer* tw_server_new(const void* server_def, size_t size,
                                  const TwServerOptions* options, TwStatus* status);
TW_EXPORT const char* tw_server_target(const TwServer* server); /* "grpc://127.0.0.1:2222" */
TW_EXPORT int32_t tw_server_port(const TwServer* server);
/* What the task does now, as JSON: open steps, the nodes that wait and for what, values that are
 * awaited, calls, tasks. Works while steps are stuck. */
TW_EXPORT TwBuffer* tw_server_dump(TwServer* server, TwStatus* status);
/* The same of the server at "grpc://HOST:PORT"; below 1 ms: 10 s. */
TW_EXPORT TwBuffer* tw_debug_dump(const char* target, int64_t timeout_ms, TwStatus* status);
/* Ends all sessions and calls and frees the port; returns when nothing runs any more. */
TW_EXPORT TwCode tw_server_stop(TwServer* server, TwStatus* status);
/* Waits until it is stopped: 1; 0 when it is not within `timeout_ms` (below 0: no limit). */
TW_EXPORT int32_t tw_server_join(TwServer* server, int64_t timeout_ms);
/* Stops. Nobody may wait in tw_server_join. */
TW_EXPORT void tw_server_free(TwServer* server);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* THALWEG_C_API_H_ */
