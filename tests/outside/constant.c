/* SPDX-License-Identifier: Apache-2.0
 * A C program outside the tree: 2 + 3 through the C ABI. */
#include <stdio.h>
#include <thalweg/c_api.h>

static TwOutput constant(TwGraph* graph, const char* name, float value, TwStatus* status) {
  TwTensor* tensor = tw_tensor_new(1, NULL, 0, status);
  *(float*)tw_tensor_data(tensor) = value;
  TwNodeBuilder* builder = tw_node_builder_new(graph, "Const", name);
  tw_node_builder_attr_type(builder, "dtype", 1);
  tw_node_builder_attr_tensor(builder, "value", tensor);
  TwOutput output = {tw_node_builder_finish(builder, status), 0};
  tw_tensor_free(tensor);
  return output;
}

int main(void) {
  TwStatus* status = tw_status_new();
  TwEnvironment* environment = tw_environment_new(NULL, status);
  TwGraph* graph = tw_graph_new(environment, status);
  TwNodeBuilder* builder = tw_node_builder_new(graph, "AddV2", "sum");
  tw_node_builder_input(builder, constant(graph, "two", 2, status));
  tw_node_builder_input(builder, constant(graph, "three", 3, status));
  TwOutput sum = {tw_node_builder_finish(builder, status), 0};
  TwSession* session = tw_session_new(environment, graph, NULL, status);
  TwTensor* result = NULL;
  if (tw_session_run(session, NULL, NULL, NULL, 0, &sum, 1, NULL, 0, &result, NULL, status) !=
      TW_OK) {
    fprintf(stderr, "%s\n", tw_status_message(status));
    return 1;
  }
  printf("%g\n", *(float*)tw_tensor_data(result));
  tw_tensor_free(result);
  tw_session_free(session);
  tw_graph_free(graph);
  tw_environment_free(environment);
  tw_status_free(status);
  return 0;
}
