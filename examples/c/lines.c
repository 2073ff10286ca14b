/* SPDX-License-Identifier: Apache-2.0
 * An input pipeline in C: lines TEXT prints the lengths of the lines that are not empty, times ten,
 * in batches of four, and their sum.
 *
 * A dataset is a tensor that an operation makes; a function of elements is a graph of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg/c_api.h>

enum { kInt32 = 3, kString = 7, kInt64 = 9, kOutOfRange = 11 };

static TwStatus* status;

static void check(void) {
  if (tw_status_code(status) == TW_OK) return;
  fprintf(stderr, "%s: %s\n", tw_code_name(tw_status_code(status)), tw_status_message(status));
  exit(1);
}

static TwOutput output_of(TwNodeBuilder* builder) {
  TwOutput output = {NULL, 0};
  output.node = tw_node_builder_finish(builder, status);
  check();
  return output;
}

static TwOutput constant(TwGraph* graph, TwTensor* value) {
  TwNodeBuilder* b = tw_node_builder_new(graph, "Const", "");
  tw_node_builder_attr_type(b, "dtype", tw_tensor_dtype(value));
  tw_node_builder_attr_tensor(b, "value", value);
  tw_tensor_free(value);
  return output_of(b);
}

static TwOutput integer(TwGraph* graph, int64_t value) {
  TwTensor* tensor = tw_tensor_new(kInt64, NULL, 0, status);
  check();
  memcpy(tw_tensor_data(tensor), &value, sizeof(value));
  return constant(graph, tensor);
}

static TwOutput text(TwGraph* graph, const char* value) {
  TwTensor* tensor = tw_tensor_new(kString, NULL, 0, status);
  check();
  tw_tensor_set_string(tensor, 0, value, strlen(value));
  return constant(graph, tensor);
}

static TwOutput binary(TwGraph* graph, const char* op, TwOutput a, TwOutput b) {
  TwNodeBuilder* builder = tw_node_builder_new(graph, op, "");
  tw_node_builder_input(builder, a);
  tw_node_builder_input(builder, b);
  return output_of(builder);
}

/* What most datasets say of their elements: here one int64, of `rank` open dimensions. */
static void elements(TwNodeBuilder* builder, int32_t rank) {
  const TwDataType type = kInt64;
  const int64_t open = -1;
  tw_node_builder_attr_type_list(builder, "output_types", &type, 1);
  tw_node_builder_attr_shape_list(builder, "output_shapes", &open, &rank, 1);
}

/* The body of a function of one element, which becomes `*argument`. */
static TwGraph* function_of(TwGraph* graph, TwDataType type, TwOutput* argument) {
  TwGraph* body = tw_function_body_new(graph, status);
  check();
  *argument = tw_function_argument(body, "element", type, NULL, 0, status);
  check();
  return body;
}

/* A dataset of what the function, whose body gives `result`, makes of each element. */
static TwOutput with_function(TwGraph* graph, const char* op, const char* attr, TwOutput input,
                              TwGraph* body, TwOutput result) {
  TwBuffer* name = tw_function_define(body, op, 1, &result, 1, NULL, status);
  TwNodeBuilder* b = tw_node_builder_new(graph, op, "");
  char text[64] = "";
  int32_t i;
  check();
  memcpy(text, tw_buffer_data(name), tw_buffer_size(name));
  tw_buffer_free(name);
  tw_node_builder_attr_function(b, attr, text);
  tw_node_builder_input(b, input);
  for (i = 0; i < tw_function_num_captures(body); ++i) {
    tw_node_builder_input(b, tw_function_capture(body, i));
  }
  elements(b, 0);
  tw_graph_free(body);
  return output_of(b);
}

static TwOutput lengths_of_lines(TwGraph* graph, const char* file) {
  const TwOutput ten = integer(graph, 10), none = text(graph, ""), path = text(graph, file);
  const TwOutput buffer = integer(graph, 65536);
  TwOutput lines, line, length, number;
  TwGraph* body;
  TwNodeBuilder* b = tw_node_builder_new(graph, "TextLineDataset", "");
  tw_node_builder_input(b, path);
  tw_node_builder_input(b, none);
  tw_node_builder_input(b, buffer);
  lines = output_of(b);

  body = function_of(graph, kString, &line);
  b = tw_node_builder_new(body, "StringLength", "");
  tw_node_builder_input(b, line);
  length = output_of(b);
  b = tw_node_builder_new(body, "Cast", "");
  tw_node_builder_input(b, length);
  tw_node_builder_attr_type(b, "DstT", kInt64);
  number = output_of(b);
  /* `ten` is of the graph outside: the function gets it as one more argument. */
  lines = with_function(graph, "MapDataset", "f", lines, body, binary(body, "Mul", number, ten));

  body = function_of(graph, kInt64, &number);
  return with_function(graph, "FilterDataset", "predicate", lines, body,
                       binary(body, "Greater", number, integer(body, 0)));
}

int main(int argc, char** argv) {
  TwEnvironment* environment;
  TwGraph* graph;
  TwSession* session;
  TwNode* begin;
  TwNodeBuilder* b;
  TwOutput dataset, iterator, next;
  TwTensor* size = NULL;
  TwTensor* batch = NULL;
  int64_t sum = 0, i, shown = 0;
  if (argc != 2) return fprintf(stderr, "usage: lines TEXT\n"), 2;
  status = tw_status_new();
  environment = tw_environment_new(NULL, status);
  check();
  graph = tw_graph_new(environment, status);
  check();

  dataset = lengths_of_lines(graph, argv[1]);
  b = tw_node_builder_new(graph, "BatchDatasetV2", "");
  tw_node_builder_input(b, dataset);
  tw_node_builder_input(b, integer(graph, 4));
  size = tw_tensor_new(10, NULL, 0, status);
  check();
  *(char*)tw_tensor_data(size) = 0;
  tw_node_builder_input(b, constant(graph, size)); /* the last one may be smaller */
  elements(b, 1);
  dataset = output_of(b);

  b = tw_node_builder_new(graph, "IteratorV2", "");
  tw_node_builder_attr_string(b, "shared_name", "", 0);
  tw_node_builder_attr_string(b, "container", "", 0);
  elements(b, 1);
  iterator = output_of(b);
  b = tw_node_builder_new(graph, "MakeIterator", "");
  tw_node_builder_input(b, dataset);
  tw_node_builder_input(b, iterator);
  begin = output_of(b).node;
  b = tw_node_builder_new(graph, "IteratorGetNext", "");
  tw_node_builder_input(b, iterator);
  elements(b, 1);
  next = output_of(b);

  session = tw_session_new(environment, graph, NULL, status);
  check();
  tw_session_run(session, NULL, NULL, NULL, 0, NULL, 0, &begin, 1, NULL, NULL, status);
  check();
  while (tw_session_run(session, NULL, NULL, NULL, 0, &next, 1, NULL, 0, &batch, NULL, status) ==
         TW_OK) {
    const int64_t* values = (const int64_t*)tw_tensor_data(batch);
    for (i = 0; i < tw_tensor_num_elements(batch); ++i) {
      sum += values[i];
      if (shown++ < 8) printf("%ld ", (long)values[i]);
    }
    tw_tensor_free(batch);
  }
  if (tw_status_code(status) != kOutOfRange) check();
  printf("... sum: %ld\n", (long)sum);
  tw_session_free(session);
  tw_graph_free(graph);
  tw_environment_free(environment);
  tw_status_free(status);
  return 0;
}
