// SPDX-License-Identifier: Apache-2.0
#include "thalweg/training/saver.h"

#include <algorithm>
#include <map>
#include <set>

#include "thalweg/graph/graph_builder.h"
#include "thalweg/io/bundle_writer.h"
#include "thalweg/io/matching_paths.h"
#include "thalweg/io/tensor_slice.h"
#include "thalweg/training/saver_nodes.h"
#include "thalweg/training/variable_nodes.h"

namespace thalweg {
namespace {

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
  if (options.keep_best < 0)
    return InvalidArgument("keep_best must not be negative, got ", options.keep_best);
  if (options.in_background && options.write_version != 2) {
    return InvalidArgument("checkpoints of format ", options.write_version,
                           " are not written in the background, only those of format 2");
  }
  return OkStatus();
}

RetentionOptions RetentionOf(const SaverOptions& options) {
  return {.newest = options.max_to_keep,
          .every_n_hours = options.keep_checkpoint_every_n_hours,
          .best = options.keep_best,
          .best_is_greatest = options.best_is_greatest,
          .format = options.write_version == 1 ? CheckpointFormat::kV1 : CheckpointFormat::kV2};
}

// What one SaveV2 writes.
struct Snapshot {
  Tensor names, slices;
  std::vector<Tensor> values;
};

// Values go as soon as they are written: a variable whose value is held is copied by its next
// update.
Status WriteSnapshots(FileSystem& fs, const std::string& prefix, std::vector<Snapshot> snapshots,
                      Leisure& leisure) {
  ASSIGN_OR_RETURN(const auto writer, BundleWriter::Create(fs, prefix));
  writer->set_progress([&leisure](size_t bytes) { leisure.Take(bytes); });
  for (Snapshot& one : snapshots) {
    for (size_t i = 0; i < one.values.size(); ++i) {
      const std::string& name = one.names.data<std::string>()[i];
      const std::string& slice = one.slices.data<std::string>()[i];
      const Tensor value = std::move(one.values[i]);
      if (slice.empty()) {
        RETURN_IF_ERROR(writer->Add(name, value));
        continue;
      }
      Shape whole;
      TensorSlice box;
      RETURN_IF_ERROR(ParseShapeAndSlice(slice, &whole, &box).WithContext(name));
      RETURN_IF_ERROR(writer->AddSlice(name, whole, box, value));
    }
  }
  return writer->Finish();
}

Status WriteBeside(FileSystem& fs, const std::string& prefix, const SaveRequest& request) {
  if (request.suffix.empty()) return OkStatus();
  return WriteFileAtomically(fs, StrCat(prefix, ".", request.suffix), request.contents);
}

}  // namespace

Saver::Saver(SaverOptions options)
    : options_(std::move(options)),
      kept_(std::make_shared<KeptCheckpoints>(RetentionOf(options_))) {}

Saver::~Saver() { Wait(options_.patience).IgnoreError(); }

Status Saver::Wait(std::chrono::nanoseconds patience) {
  if (write_ == nullptr) return OkStatus();
  Status status = write_->Wait(patience);
  if (write_->is_done()) write_ = nullptr;
  return status;
}

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
  Node* restored = b.OpNode("RestoreV2", arguments("RestoreV2"), {{"dtypes", dtypes}}, "RestoreV2");
  if (!b.ok()) return b.status();
  parts_ = PartsAsTensors(restored, all.names, all.slices, all.names_of_parts);
  restore_op_ = b.Group(AddAssigns(b, variables, restored), "restore_all");
  return b.status();
}

Result<std::string> Saver::Save(Session& session, const std::string& path,
                                std::optional<int64_t> global_step) {
  return Save(session, {.path = path, .global_step = global_step});
}

Result<std::string> Saver::Save(Session& session, SaveRequest request) {
  if (options_.in_background) return SaveInBackground(session, std::move(request));
  const std::string given =
      request.global_step ? StrCat(request.path, "-", *request.global_step) : request.path;
  ASSIGN_OR_RETURN(
      const std::vector<Tensor> saved,
      session.Run({{filename_.ToString(), Tensor::Scalar(given)}}, {save_tensor_.ToString()}));
  // A graph may say otherwise, as with a pattern of files that several devices wrote.
  const bool is_name = saved[0].dtype() == DType::kString && saved[0].num_elements() == 1;
  std::string prefix = is_name ? saved[0].data<std::string>()[0] : given;
  RETURN_IF_ERROR(WriteBeside(fs_, prefix, request));
  if (state_file_.empty()) return prefix;
  RETURN_IF_ERROR(kept_->Add(fs_, {.path = prefix, .metric = request.metric}, state_file_));
  return prefix;
}

// One step fetches all that SaveV2 would have written: values of one moment.
Result<std::string> Saver::SaveInBackground(Session& session, SaveRequest request) {
  RETURN_IF_ERROR(Wait(options_.patience));
  std::string prefix =
      request.global_step ? StrCat(request.path, "-", *request.global_step) : request.path;
  const std::vector<Node*> saves = SaveNodes(save_tensor_);
  if (saves.empty()) {
    return Unimplemented("'", save_tensor_.ToString(),
                         "' writes no checkpoint of format 2: it cannot do so in the background");
  }
  std::vector<std::string> fetches;
  for (const Node* save : saves) {
    for (int i = 1; i < save->num_inputs(); ++i) fetches.push_back(save->input(i).ToString());
  }
  std::vector<Tensor> fetched;
  const Session::NamedTensor feed[] = {{filename_.ToString(), Tensor::Scalar(prefix)}};
  RETURN_IF_ERROR(session.Run(RunOptions(), feed, fetches, {}, &fetched));
  std::vector<Snapshot> snapshots;
  size_t next = 0;
  for (const Node* save : saves) {
    Snapshot one{std::move(fetched[next]), std::move(fetched[next + 1]), {}};
    next += 2;
    for (int i = 3; i < save->num_inputs(); ++i) one.values.push_back(std::move(fetched[next++]));
    const auto count = std::ssize(one.values);
    for (const Tensor& texts : {one.names, one.slices}) {
      if (texts.dtype() == DType::kString && texts.num_elements() == count) continue;
      return InvalidArgument(save->Label(), ": expected ", count, " names and slices, got ",
                             texts.dtype(), texts.shape());
    }
    snapshots.push_back(std::move(one));
  }
  auto work = [prefix, snapshots = std::move(snapshots), request = std::move(request),
               state_file = state_file_, kept = kept_](Leisure& leisure) mutable -> Status {
    PosixFileSystem fs;
    const Status status = [&]() -> Status {
      RETURN_IF_ERROR(WriteSnapshots(fs, prefix, std::move(snapshots), leisure));
      RETURN_IF_ERROR(WriteBeside(fs, prefix, request));
      if (state_file.empty()) return OkStatus();
      return kept->Add(fs, {.path = prefix, .metric = request.metric}, state_file);
    }();
    return status.ok()
               ? status
               : status.WithContext(StrCat("writing checkpoint '", prefix, "' in the background"));
  };
  write_ = std::make_unique<BackgroundWrite>(prefix, std::move(work));
  return prefix;
}

// What is restored of this checkpoint.
std::vector<RestoredTensor> Saver::RowsFor(const CheckpointReader& reader) const {
  std::vector<RestoredTensor> rows = RestoredTensors(*restore_op_);
  parts_.Rename(reader, &rows);
  return rows;
}

Result<CheckpointDifferences> Saver::Compare(const std::string& path) {
  LetWriteEnd();
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(fs_, path));
  return CompareCheckpoint(*reader, RowsFor(*reader));
}

Result<CheckpointDifferences> Saver::RestorePart(Session& session, const std::string& path) {
  LetWriteEnd();
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(fs_, path));
  const std::vector<RestoredTensor> rows = RowsFor(*reader);
  ASSIGN_OR_RETURN(CheckpointDifferences found, CompareCheckpoint(*reader, rows));
  std::set<const Node*> unfit;  // what needs several tensors needs all of them
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!found.row_fits[i]) unfit.insert(rows[i].setter);
  }
  std::vector<Session::NamedTensor> feeds;
  std::set<std::string> targets;
  Allocator& allocator = *session.environment().allocator();
  for (const RestoredTensor& row : rows) {
    if (unfit.contains(row.setter)) continue;
    Shape whole;
    TensorSlice box;
    if (!row.slice.empty()) RETURN_IF_ERROR(ParseShapeAndSlice(row.slice, &whole, &box));
    ASSIGN_OR_RETURN(Tensor value, row.slice.empty() ? reader->Read(row.name, allocator)
                                                     : reader->ReadSlice(row.name, box, allocator));
    feeds.emplace_back(row.value.ToString(), std::move(value));
    targets.insert(row.setter->name());
  }
  if (targets.empty()) return found;
  const std::vector<std::string> names(targets.begin(), targets.end());
  RETURN_IF_ERROR(session.Run(RunOptions(), feeds, {}, names, nullptr));
  return found;
}

// What is still being written may be what is asked for; its error stays that of the next Save.
void Saver::LetWriteEnd() const {
  if (write_ != nullptr) write_->Wait(options_.patience).IgnoreError();
}

Status Saver::Restore(Session& session, const std::string& path) {
  LetWriteEnd();
  ASSIGN_OR_RETURN(const bool is_v2, FileExists(fs_, path + ".index"));
  if (!is_v2) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files, MatchingPaths(fs_, path));
    if (files.empty()) {
      return NotFound("there is no checkpoint '", path, "': no file '", path, ".index', and none '",
                      path, "' of format V1");
    }
  }
  std::vector<Session::NamedTensor> feeds;
  if (const auto reader = CheckpointReader::Open(fs_, path); reader.ok()) {
    const std::vector<RestoredTensor> rows = RowsFor(**reader);
    ASSIGN_OR_RETURN(const CheckpointDifferences found, CompareCheckpoint(**reader, rows));
    RETURN_IF_ERROR(found.ToStatus(path));
    feeds = parts_.FeedsOf(rows);
  }
  feeds.emplace_back(filename_.ToString(), Tensor::Scalar(path));
  const std::vector<std::string> targets = {restore_op_->name()};
  return session.Run(RunOptions(), feeds, {}, targets, nullptr);
}

}  // namespace thalweg
