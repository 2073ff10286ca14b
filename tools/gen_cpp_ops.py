#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes thalweg/ops.h, a C++ function for every public operation that has CPU kernels: gen_cpp_ops.py OPS_JSONL OUT_H

Inputs come first, then the attributes without a default; those with one go into the list `attrs`. An operation without inputs
takes the graph. One output is an Output, a list of outputs a vector, several a struct with their names.
"""
import json
import sys

KEYWORDS = {"alignas", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "const", "continue", "default",
            "delete", "do", "double", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend", "goto",
            "if", "inline", "int", "long", "mutable", "namespace", "new", "not", "operator", "or", "private", "protected", "public",
            "register", "return", "short", "signed", "sizeof", "static", "struct", "switch", "template", "this", "throw", "true",
            "try", "typedef", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor"}
TAKEN = {"graph", "attrs", "name", "node"}  # what every function calls its own
TYPES = {"type": "DataType", "int": "int64_t", "float": "float", "bool": "bool", "string": "const std::string&",
         "shape": "const std::vector<int64_t>&", "tensor": "const Tensor&", "list(int)": "const std::vector<int64_t>&",
         "list(float)": "const std::vector<float>&", "list(type)": "const std::vector<DataType>&",
         "list(string)": "const std::vector<std::string>&", "list(shape)": "const std::vector<TensorSpec>&", "func": "const Function&"}

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// A function for every operation: tw::ops::MatMul(a, b, {{"transpose_b", true}}). Written by
// tools/gen_cpp_ops.py from the schemas; do not edit.
//
// Inputs come first, then the attributes that have no default; those with one go into `attrs`.
// Errors stick to the graph (Graph::status). The dtypes of inputs give the attributes that follow
// from them. An operation without a kernel in this library fails when it is run, and says so.
#pragma once

#include <thalweg/thalweg.h>

#include <string>
#include <vector>

namespace tw::ops {

using Attrs = std::vector<Attr>;

namespace internal {
inline Graph& GraphOf(const Output& first) {
  if (first.graph() == nullptr) throw Error(3, "an input belongs to no graph");
  return *first.graph();
}
inline Graph& GraphOf(const std::vector<Output>& first) {
  if (first.empty()) throw Error(3, "a list of inputs is empty");
  return GraphOf(first.front());
}
inline void Append(std::vector<Output>& all, const Output& one) { all.push_back(one); }
inline void Append(std::vector<Output>& all, const std::vector<Output>& more) {
  all.insert(all.end(), more.begin(), more.end());
}
template <class... Inputs>
std::vector<Output> Flat(const Inputs&... inputs) {
  std::vector<Output> all;
  (Append(all, inputs), ...);
  return all;
}
inline std::vector<Output> List(Graph& graph, Node node, int begin, int64_t count) {
  std::vector<Output> all;
  for (int64_t i = 0; i < count; ++i)
    all.emplace_back(&graph, TwOutput{node, static_cast<int32_t>(begin + i)});
  return all;
}
inline Attrs Joined(Attrs given, const Attrs& more) {
  given.insert(given.end(), more.begin(), more.end());
  return given;
}
}  // namespace internal
"""


def safe(name):
    return name + "_" if name in KEYWORDS or name in TAKEN else name


def is_list(argument):
    return "number_attr" in argument or "type_list_attr" in argument


def attr_value(attr):
    name = safe(attr["name"])
    if attr["type"] in ("shape", "list(shape)"):
        return f'Attr::{"Shape" if attr["type"] == "shape" else "Shapes"}("{attr["name"]}", {name})'
    return f'{{"{attr["name"]}", {name}}}'


def count_of(argument, op, required):
    """The C++ expression for how many outputs a list has, or None."""
    key = argument.get("number_attr") or argument.get("type_list_attr")
    for given in op["inputs"]:
        if key in (given.get("number_attr"), given.get("type_list_attr")):
            return f"static_cast<int64_t>({safe(given['name'])}.size())"
    for attr in required:
        if attr["name"] == key:
            return safe(key) if attr["type"] == "int" else f"static_cast<int64_t>({safe(key)}.size())"
    return None


def function(op):
    """The function's text, or None for what cannot be said this way."""
    inferred = {a.get(k) for a in op["inputs"] for k in ("type_attr", "number_attr", "type_list_attr")}
    required = [a for a in op["attrs"] if "default" not in a and a["name"] not in inferred]
    if any(a["type"] not in TYPES for a in required):
        return None
    outputs = []  # (name, type, expression)
    at, offset = 0, ""
    for argument in op["outputs"]:
        name = safe(argument["name"])
        if is_list(argument):
            count = count_of(argument, op, required)
            if count is None:
                return None
            outputs.append((name, "std::vector<Output>", f"internal::List(graph, node, {at}{offset}, {count})"))
            offset += f" + static_cast<int>({count})"
        else:
            outputs.append((name, "Output", f"Output(&graph, {{node, {at}{offset}}})"))
            at += 1
    parameters = [] if op["inputs"] else ["Graph& graph"]
    parameters += [f"const {'std::vector<Output>' if is_list(i) else 'Output'}& {safe(i['name'])}" for i in op["inputs"]]
    parameters += [f"{TYPES[a['type']]}{'' if TYPES[a['type']].endswith('&') else ''} {safe(a['name'])}" for a in required]
    parameters += ["const Attrs& attrs = {}", 'const std::string& name = ""']
    optional = [f"{a['name']} ({json.dumps(a['default'])})" for a in op["attrs"] if "default" in a and a["name"] not in inferred]
    lines = []
    result = outputs[0][1] if len(outputs) == 1 else "Node" if not outputs else op["name"] + "Outputs"
    if len(outputs) > 1:
        lines.append(f"struct {result} {{")
        lines += [f"  {kind} {name};" for name, kind, _ in outputs]
        lines.append("};")
    if optional:
        lines.append(f"// Attributes: {', '.join(optional)}.")
    lines.append(f"inline {result} {op['name']}({', '.join(parameters)}) {{")
    if op["inputs"]:
        lines.append(f"  Graph& graph = internal::GraphOf({safe(op['inputs'][0]['name'])});")
    given = "{" + ", ".join(attr_value(a) for a in required) + "}"
    attrs = f"internal::Joined({given}, attrs)" if required else "attrs"
    flat = f"internal::Flat({', '.join(safe(i['name']) for i in op['inputs'])})" if op["inputs"] else "{}"
    made = f'graph.AddNode("{op["name"]}", {flat}, {attrs}, name)'
    if not outputs:
        lines.append(f"  return {made};")
    else:
        lines.append(f"  const Node node = {made};")
        values = ", ".join(e for _, _, e in outputs)
        lines.append(f"  return {values};" if len(outputs) == 1 else f"  return {{{values}}};")
    return "\n".join([*lines, "}"])


def main(facts, target):
    with open(facts, encoding="utf-8") as f:
        ops = [json.loads(line) for line in f]
    made = [function(op) for op in ops if op.get("cpu_types") is not None and not op["name"].startswith("_")]
    with open(target, "w", encoding="utf-8") as f:
        f.write(HEAD + "\n" + "\n\n".join(m for m in made if m) + "\n\n}  // namespace tw::ops\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
