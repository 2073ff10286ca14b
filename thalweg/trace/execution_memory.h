// SPDX-License-Identifier: Apache-2.0
// ExecutionMemory: what one execution of a node tells of memory: blocks that came and went, what it
// put out, what the state it leads to keeps.
//
//   ExecutionMemory memory;
//   if (ReadExecutionMemory(node_exec_stats_bytes, &memory)) {
//     trace.memory.Add(memory);
//   }
//
// Ownership: values; nothing of the bytes is kept.
// Threads: any, on distinct objects.
// Errors: none; what cannot be read is left out.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace thalweg {

struct ExecutionMemory {
  // A block that its kernel was given (bytes > 0), or gave back.
  struct Change {
    int64_t nanos = 0;  // since 1970
    int64_t bytes = 0;
  };
  struct Value {
    uint64_t address = 0;  // of its buffer; 0: not known
    int64_t bytes = 0;
    int64_t allocated = 0;  // by the step; 0: it was there before, or is not known
    int dtype = 0;          // as DataType has it
    std::vector<int64_t> shape;
  };
  uint32_t device = 0, name = 0, op = 0;  // as TraceSpan has them
  int64_t start = 0, end = 0;             // nanoseconds since 1970
  std::vector<Change> changes;
  std::vector<Value> values;     // its outputs, then what these refer to
  size_t outputs = 0;            // how many of those are outputs
  int64_t persistent = 0;        // bytes that outlive the step: a variable, a constant, a queue
  int64_t allocator_in_use = 0;  // when its last block came; 0: not known
};

// The fields of a NodeExecStats message that tell of memory; false: it has none.
bool ReadExecutionMemory(std::string_view bytes, ExecutionMemory* memory);

// Bytes of an element of a DataType, 0 for texts and objects; "float32", or "" for a type
// that is not known.
int64_t ElementBytes(int dtype);
std::string_view ElementTypeName(int dtype);

// A TensorProto's, or a TensorDescription's, whose first two fields are type and shape.
void ReadTypeAndShape(std::string_view tensor, int* dtype, std::vector<int64_t>* shape);

}  // namespace thalweg
