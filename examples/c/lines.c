/* SPDX-License-Identifier: Apache-2.0
 * An input pipeline in C: lines TEXT prints the lengths of the lines that are not empty, times ten,
 * in batches of four, and their sum.
 *
 * A builder makes the stages and keeps the first error; a function of elements is a graph of its
 * own, in which nodes are built between tw_dataset_begin_function and the stage that takes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thalweg/c_api.h>

enum { kString = 7, kInt64 = 9, kOutOfRange = 11 };

static TwStatus* status;

static void check(TwCode code) {
  if (code == TW_OK) return;
  fprintf(stderr, "%s: %s\n", tw_code_name(code), tw_status_message(status));
  exit(1);
}

static TwOutput node_of(TwNodeBuilder* builder) {
  TwOutput output = {NULL, 0};
  output.node = tw_node_builder_finish(builder, status);
  check(tw_status_code(status));
  return output;
}

static TwOutput constant(TwGraph* graph, TwTensor* value) {
  TwNodeBuilder* b = tw_node_builder_new(graph, "Const", "");
  tw_node_builder_attr_type(b, "dtype", tw_tensor_dtype(value));
  tw_node_builder_attr_tensor(b, "value", value);
  tw_tensor_free(value);
  return node_of(b);
}

static TwOutput integer(TwGraph* graph, int64_t value) {
  TwTensor* tensor = tw_tensor_new(kInt64, NULL, 0, status);
  check(tw_status_code(status));
  memcpy(tw_tensor_data(tensor), &value, sizeof(value));
  return constant(graph, tensor);
}

static TwOutput text(TwGraph* graph, const char* value) {
  TwTensor* tensor = tw_tensor_new(kString, NULL, 0, status);
  check(tw_status_code(status));
  tw_tensor_set_string(tensor, 0, value, strlen(value));
  return constant(graph, tensor);
}

static TwOutput binary(TwGraph* graph, const char* op, TwOutput a, TwOutput b) {
  TwNodeBuilder* builder = tw_node_builder_new(graph, op, "");
  tw_node_builder_input(builder, a);
  tw_node_builder_input(builder, b);
  return node_of(builder);
}

/* The length of a string, as an int64. */
static TwOutput length_of(TwGraph* graph, TwOutput line) {
  TwNodeBuilder* builder = tw_node_builder_new(graph, "StringLength", "");
  TwOutput length;
  tw_node_builder_input(builder, line);
  length = node_of(builder);
  builder = tw_node_builder_new(graph, "Cast", "");
  tw_node_builder_input(builder, length);
  tw_node_builder_attr_type(builder, "DstT", kInt64);
  return node_of(builder);
}

/* The body of a function of the elements of `dataset`, of one component each. */
static TwGraph* function_of(TwDatasetBuilder* b, const TwDataset* dataset, TwOutput* component) {
  TwGraph* body = tw_dataset_begin_function(b, dataset, NULL, 0, component);
  if (body == NULL) check(tw_dataset_builder_check(b, status));
  return body;
}

static const TwDataset* lengths_of_lines(TwGraph* graph, TwDatasetBuilder* b, const char* file) {
  const TwOutput ten = integer(graph, 10);
  const TwDataset* d = tw_dataset_text_lines(b, text(graph, file), NULL);
  TwOutput line, number;

  TwGraph* body = function_of(b, d, &line);
  /* `ten` is of the graph outside: the function gets it as one more argument. */
  number = binary(body, "Mul", length_of(body, line), ten);
  d = tw_dataset_map(b, d, &number, 1, tw_count(0), 1);

  body = function_of(b, d, &number);
  d = tw_dataset_filter(b, d, binary(body, "Greater", number, integer(body, 0)));
  return tw_dataset_batch(b, d, tw_count(4), 0);
}

int main(int argc, char** argv) {
  TwEnvironment* environment;
  TwGraph* graph;
  TwSession* session;
  TwDatasetBuilder* b;
  const TwDataset* batches;
  TwOutput next = {NULL, 0};
  TwTensor* batch = NULL;
  int64_t sum = 0, i, shown = 0;
  if (argc != 2) return fprintf(stderr, "usage: lines TEXT\n"), 2;
  status = tw_status_new();
  environment = tw_environment_new(NULL, status);
  check(tw_status_code(status));
  graph = tw_graph_new(environment, status);
  check(tw_status_code(status));

  b = tw_dataset_builder_new(graph);
  batches = lengths_of_lines(graph, b, argv[1]);
  next.node = tw_dataset_get_next(b, batches, tw_dataset_make_one_shot_iterator(b, batches));
  check(tw_dataset_builder_check(b, status));
  tw_dataset_builder_free(b);

  session = tw_session_new(environment, graph, NULL, status);
  check(tw_status_code(status));
  while (tw_session_run(session, NULL, NULL, NULL, 0, &next, 1, NULL, 0, &batch, NULL, status) ==
         TW_OK) {
    const int64_t* values = (const int64_t*)tw_tensor_data(batch);
    for (i = 0; i < tw_tensor_num_elements(batch); ++i) {
      sum += values[i];
      if (shown++ < 8) printf("%ld ", (long)values[i]);
    }
    tw_tensor_free(batch);
  }
  if (tw_status_code(status) != kOutOfRange) check(tw_status_code(status));
  printf("... sum: %ld\n", (long)sum);
  tw_session_free(session);
  tw_graph_free(graph);
  tw_environment_free(environment);
  tw_status_free(status);
  return 0;
}
