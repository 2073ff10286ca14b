// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/saver.h"

#include <chrono>
#include <map>
#include <set>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/proto/messages.h"
#include "thalweg/proto/text_format.h"
#include "thalweg/training/variable_nodes.h"

namespace thalweg {
namespace {

namespace State = pb::CheckpointState;

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void RemoveCheckpoint(FileSystem& fs, const std::string& path, bool is_v1) {
  const Result<std::vector<std::string>> names = fs.List(ParentDirectory(path));
  if (!names.ok()) return;
  const std::string base = BaseName(path);
  for (const std::string& name : *names) {
    if ((is_v1 && name == base) || name == base + ".index" || name == base + ".meta" ||
        name.starts_with(base + ".data-")) {
      fs.RemoveFile(ParentDirectory(path) + "/" + name).IgnoreError();
    }
  }
}

bool IsTable(const Output& handle) {
  return handle.node != nullptr && handle.index == 0 &&
         handle.node->op_name().find("HashTable") != std::string::npos;
}

// What a checkpoint holds of a variable or a table.
struct Entries {
  std::vector<std::string> names;
  std::vector<Output> values;
};

// The arguments of the operation that saves and the one that restores: an element for each value.
struct Arguments {
  std::vector<std::string> names, slices;
  std::vector<std::string> names_of_parts;  // those of the nodes where there is a slice
  std::vector<Output> values;
};

Result<Entries> EntriesOf(const GraphBuilder& b, const std::string& name, Output handle) {
  if (!IsTable(handle)) {
    ASSIGN_OR_RETURN(const VariableNodes variable, VariableOf(handle));
    if (!variable.is_resource()) return Entries{{name}, {handle}};
    const Output value =
        b.ColocatedWith(*handle.node).Op("ReadVariableOp", {handle}, {{"dtype", variable.dtype()}});
    return Entries{{name}, {value}};
  }
  ASSIGN_OR_RETURN(const DType key, handle.node->Attr<DType>("key_dtype"));
  ASSIGN_OR_RETURN(const DType value, handle.node->Attr<DType>("value_dtype"));
  const bool is_reference = handle.dtype() == DType::kString;
  Node* const rows = b.ColocatedWith(*handle.node)
                         .OpNode(is_reference ? "LookupTableExport" : "LookupTableExportV2",
                                 {handle}, {{"Tkeys", key}, {"Tvalues", value}},
                                 handle.node->name() + "_lookup_table_export_values");
  if (rows == nullptr) return b.status();
  return Entries{{name + "-keys", name + "-values"}, {{rows, 0}, {rows, 1}}};
}

Result<Arguments> ArgumentsOf(const GraphBuilder& b, const std::vector<NamedVariable>& variables,
                              const std::vector<SavedTensor>& tensors) {
  Arguments all;
  for (const auto& [name, handle, slice] : variables) {
    ASSIGN_OR_RETURN(const Entries entries, EntriesOf(b, name, handle));
    for (size_t i = 0; i < entries.names.size(); ++i) {
      all.names.push_back(entries.names[i]);
      all.slices.push_back(slice);
      all.names_of_parts.push_back(slice.empty() ? entries.names[i] : handle.node->name());
      all.values.push_back(entries.values[i]);
    }
  }
  for (const SavedTensor& tensor : tensors) {
    all.names.push_back(tensor.name);
    all.slices.push_back(tensor.slice);
    all.names_of_parts.push_back(tensor.name);
    all.values.push_back(tensor.value);
  }
  return all;
}

// What sets the variables and tables to the outputs of `restored`.
std::vector<Node*> AddAssigns(const GraphBuilder& b, const std::vector<NamedVariable>& variables,
                              Node* restored) {
  std::vector<Node*> assigns;
  int next = 0;
  for (const auto& [name, handle, slice] : variables) {
    GraphBuilder beside = b.ColocatedWith(*handle.node);
    const Output first{restored, next++};
    if (IsTable(handle)) {
      const bool is_reference = handle.dtype() == DType::kString;
      assigns.push_back(beside.OpNode(is_reference ? "LookupTableImport" : "LookupTableImportV2",
                                      {handle, first, {restored, next++}}, {},
                                      name + "_table_restore"));
      continue;
    }
    const bool resource = handle.node->op_name() == "VarHandleOp";
    assigns.push_back(
        beside.OpNode(resource ? "AssignVariableOp" : "Assign", {handle, first}, {}, "Assign"));
  }
  return assigns;
}

// A name stands once, or for several slices of one tensor.
Status CheckNames(const std::vector<NamedVariable>& variables) {
  std::map<std::string_view, std::set<std::string_view>> slices;
  for (const auto& [name, handle, slice] : variables) {
    std::set<std::string_view>& known = slices[name];
    if (!known.empty() && (slice.empty() || known.contains("") || known.contains(slice))) {
      return InvalidArgument("two variables would be saved as '", name, "'");
    }
    known.insert(slice);
    if (!IsTable(handle)) RETURN_IF_ERROR(VariableOf(handle).status());
    if (slice.empty()) continue;
    Shape whole;
    TensorSlice box;
    RETURN_IF_ERROR(ParseShapeAndSlice(slice, &whole, &box).WithContext(name));
  }
  return OkStatus();
}

Status CheckOptions(const SaverOptions& options) {
  if (options.max_to_keep < 0)
    return InvalidArgument("max_to_keep must not be negative, got ", options.max_to_keep);
  if (options.write_version != 1 && options.write_version != 2) {
    return InvalidArgument("checkpoints are written in format 1 or 2, not ", options.write_version);
  }
  return OkStatus();
}

}  // namespace

Saver::Saver(SaverOptions options)
    : options_(std::move(options)),
      next_preserved_(Now() + options_.keep_checkpoint_every_n_hours * 3600) {}

Result<Saver> Saver::Create(Graph* graph, const std::vector<NamedVariable>& variables,
                            SaverOptions options) {
  if (variables.empty() && options.tensors.empty()) return InvalidArgument("no variables to save");
  RETURN_IF_ERROR(CheckNames(variables));
  RETURN_IF_ERROR(CheckOptions(options));
  Saver saver(std::move(options));
  RETURN_IF_ERROR(saver.AddNodes(graph, variables));
  return saver;
}

Result<Saver> Saver::OfNodes(Output filename, Output save_tensor, Node* restore_op,
                             SaverOptions options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (filename.node == nullptr || filename.dtype() != DType::kString ||
      save_tensor.node == nullptr || restore_op == nullptr) {
    return InvalidArgument(
        "a saver of nodes that are there needs the tensor of the file's name, a tensor to fetch "
        "when it saves and an operation that restores");
  }
  Saver saver(std::move(options));
  saver.filename_ = filename;
  saver.save_tensor_ = save_tensor;
  saver.restore_op_ = restore_op;
  return saver;
}

Status Saver::AddNodes(Graph* graph, const std::vector<NamedVariable>& variables) {
  GraphBuilder b = GraphBuilder(graph).WithSite(options_.site).Scope(options_.scope);
  const Output default_name = b.Const(Tensor::Scalar("model"), "filename/input");
  const Output given =
      b.Op("PlaceholderWithDefault", {default_name}, {{"shape", PartialShape(Dims())}}, "filename");
  filename_ = b.Op("PlaceholderWithDefault", {given}, {{"shape", PartialShape(Dims())}}, "Const");
  ASSIGN_OR_RETURN(const Arguments all, ArgumentsOf(b, variables, options_.tensors));
  std::vector<DType> dtypes;
  for (const Output& value : all.values) dtypes.push_back(value.dtype());
  const auto arguments = [&](const char* op) {
    return std::vector<Output>{filename_, b.Const(all.names, StrCat(op, "/tensor_names")),
                               b.Const(all.slices, StrCat(op, "/shape_and_slices"))};
  };
  const bool is_v1 = options_.write_version == 1;
  const char* const save_op = is_v1 ? "SaveSlices" : "SaveV2";
  std::vector<Output> saved = arguments(save_op);
  saved.insert(saved.end(), all.values.begin(), all.values.end());
  Node* save = b.OpNode(save_op, std::move(saved), {{is_v1 ? "T" : "dtypes", dtypes}}, save_op);
  if (!b.ok()) return b.status();
  save_tensor_ = b.WithControls({save}).Op("Identity", {filename_}, {}, "control_dependency");
  const std::vector<Output> wanted = arguments("RestoreV2");
  Node* restored = b.OpNode("RestoreV2", wanted, {{"dtypes", dtypes}}, "RestoreV2");
  if (!b.ok()) return b.status();
  if (all.names_of_parts != all.names) {
    std::vector<std::string> slices = all.slices;
    for (size_t i = 0; i < slices.size(); ++i) {
      if (all.names_of_parts[i] != all.names[i]) slices[i].clear();
    }
    const Shape size{std::ssize(slices)};
    parts_as_tensors_ = {{wanted[1].ToString(), Tensor::Of<std::string>(all.names_of_parts, size)},
                         {wanted[2].ToString(), Tensor::Of<std::string>(slices, size)}};
  }
  restore_op_ = b.Group(AddAssigns(b, variables, restored), "restore_all");
  return b.status();
}

Result<std::string> Saver::Save(Session& session, const std::string& path,
                                std::optional<int64_t> global_step) {
  const std::string given = global_step ? StrCat(path, "-", *global_step) : path;
  ASSIGN_OR_RETURN(
      const std::vector<Tensor> saved,
      session.Run({{filename_.ToString(), Tensor::Scalar(given)}}, {save_tensor_.ToString()}));
  // A graph may say otherwise, as with a pattern of files that several devices wrote.
  const bool is_name = saved[0].dtype() == DType::kString && saved[0].num_elements() == 1;
  std::string prefix = is_name ? saved[0].data<std::string>()[0] : given;
  if (state_file_.empty()) return prefix;
  Retain(prefix);
  RETURN_IF_ERROR(WriteState(prefix));
  return prefix;
}

// Drops what is too old, but for one every keep_checkpoint_every_n_hours.
void Saver::Retain(std::string path) {
  std::erase_if(kept_, [&](const KeptCheckpoint& kept) { return kept.path == path; });
  kept_.push_back({std::move(path), Now()});
  if (options_.max_to_keep == 0) return;
  while (kept_.size() > static_cast<size_t>(options_.max_to_keep)) {
    const KeptCheckpoint oldest = kept_.front();
    kept_.erase(kept_.begin());
    if (oldest.saved_at > next_preserved_) {
      next_preserved_ += options_.keep_checkpoint_every_n_hours * 3600;
      last_preserved_ = oldest.saved_at;
    } else {
      RemoveCheckpoint(fs_, oldest.path, options_.write_version == 1);
    }
  }
}

// Paths are relative to the directory, so that it can be moved as a whole.
Status Saver::WriteState(const std::string& newest) {
  OwnedMessage state(State::Descriptor());
  state->SetString(State::kModelCheckpointPath, BaseName(newest));
  std::vector<double> times;
  for (const KeptCheckpoint& kept : kept_) {
    const bool beside = ParentDirectory(kept.path) == ParentDirectory(newest);
    state->AddString(State::kAllModelCheckpointPaths, beside ? BaseName(kept.path) : kept.path);
    times.push_back(kept.saved_at);
  }
  state->Append<double>(State::kAllModelCheckpointTimestamps, times);
  if (last_preserved_ > 0) state->SetDouble(State::kLastPreservedTimestamp, last_preserved_);
  ASSIGN_OR_RETURN(const std::string text, PrintText(*state));
  return WriteFileAtomically(fs_, StrCat(ParentDirectory(newest), "/", state_file_), text);
}

Status Saver::Restore(Session& session, const std::string& path) {
  ASSIGN_OR_RETURN(const bool is_v2, FileExists(fs_, path + ".index"));
  if (!is_v2) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, MatchingPaths(fs_, path));
    if (files.empty()) {
      return NotFound("there is no checkpoint '", path, "': no file '", path, ".index', and none '",
                      path, "' of format V1");
    }
  }
  std::vector<Session::NamedTensor> feeds = {{filename_.ToString(), Tensor::Scalar(path)}};
  const std::vector<std::string> targets = {restore_op_->name()};
  const Status status = session.Run(RunOptions(), feeds, {}, targets, nullptr);
  if (status.code() != Code::kNotFound || parts_as_tensors_.empty()) return status;
  feeds.insert(feeds.end(), parts_as_tensors_.begin(), parts_as_tensors_.end());
  const Status otherwise = session.Run(RunOptions(), feeds, {}, targets, nullptr);
  return otherwise.code() == Code::kNotFound ? status : otherwise;
}

Result<std::string> LatestCheckpoint(FileSystem& fs, const std::string& directory) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(fs, directory + "/checkpoint"));
  Result<OwnedMessage> state = ParseText(State::Descriptor(), text);
  if (!state.ok()) return state.status().WithContext(directory + "/checkpoint");
  const std::string name((*state)->GetString(State::kModelCheckpointPath));
  if (name.empty()) return NotFound(directory, "/checkpoint names no checkpoint");
  return name.front() == '/' ? name : StrCat(directory, "/", name);
}

}  // namespace thalweg
