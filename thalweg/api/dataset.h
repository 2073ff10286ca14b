// SPDX-License-Identifier: Apache-2.0
// Thalweg's input pipelines for C++ (tf.data's, by the same names), header-only over thalweg.h. A
// dataset is a sequence of elements; an element is a list of tensors, its components. Each method
// adds one operation to the graph; nothing is read before an iterator is asked for an element.
//
//   tw::Dataset pictures =
//       tw::Dataset::ListFiles(g, "pictures/*/*.jpg")
//           .Map([&](tw::Output name) { return g.Op("ReadFile", {name}); }, 4)
//           .Map([&](tw::Output file) { return Decoded(file); }, 4)
//           .Shuffle(1000, 7)
//           .Batch(32)
//           .Prefetch(2);
//   tw::Outputs batch = pictures.MakeOneShotIterator().GetNext();  // inputs of a model
//   for (const tw::Tensors& element : pictures.Elements()) Show(element[0]);
//
// Functions of elements add nodes as the program does elsewhere: while one is called, what is added
// to the graph, `g`, goes into the function. It takes the components one by one, or as Outputs, and
// gives an Output or Outputs; those of FlatMap and Interleave give a Dataset. What it reads of the
// graph outside is passed to it.
// Ownership: a Dataset is a handle: copies are the same node. The graph must outlive it.
// Threads: as of Graph: one at a time.
// Errors: a stage that cannot be built throws tw::Error that names stage and line; an element that
// cannot be made is an error of the step that asked for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "thalweg/iterator.h"
#include "thalweg/thalweg.h"

namespace tw {

// As a number of parallel calls, a cycle's length or a buffer's size: what fits.
constexpr int64_t kAutotune = TW_AUTOTUNE;

// A number of a pipeline: the program's, or an int64 scalar of the graph (such as a placeholder
// that the iterator's initializer is fed).
class Count {
 public:
  // NOLINTBEGIN(google-explicit-constructor): numbers are written as they are
  Count(int value) : value_(value) {}
  Count(int64_t value) : value_(value) {}
  Count(const Output& value) : value_(-1), output_(value) {}
  // NOLINTEND
  TwCount c() const { return {value_, output_.c()}; }

 private:
  int64_t value_;
  Output output_;
};

// How files are read: "", "GZIP" or "ZLIB"; bytes at once.
struct FileOptions {
  std::string compression{};
  int64_t buffer_size = 256 * 1024;
};

// A field of a CSV record: its type, where it must be there, or what it is where it is missing.
class CsvField {
 public:
  // NOLINTBEGIN(google-explicit-constructor): fields are written as {tw::kInt32, Tensor::Scalar(0)}
  CsvField(DataType required)
      : default_(required == kString ? Tensor::Strings({}, {0})
                                     : Tensor::New(required, {0}).OrThrow()) {}
  CsvField(const Tensor& otherwise) : default_(otherwise) {}
  // NOLINTEND
  const Tensor& otherwise() const { return default_; }

 private:
  Tensor default_;  // of no element: none
};

struct CsvOptions {
  FileOptions files{};
  bool header = false;  // the first record of each file holds names
  char delimiter = ',';
  bool quotes = true;
  std::string missing{};                  // a field of this text
  std::vector<int64_t> select_columns{};  // ascending; none: all
};

namespace internal {
class StageBuilder;
}

class Dataset {
 public:
  using Specs = std::vector<TensorSpec>;

  // ---- sources ----
  // One element, these tensors.
  static Dataset FromTensors(const Outputs& components, const Site& site = Site::Here());
  // The rows of the tensors, which must have equally many.
  static Dataset FromTensorSlices(const Outputs& components, const Site& site = Site::Here());
  static Dataset Range(Graph& graph, const Count& stop, const Site& site = Site::Here());
  static Dataset Range(Graph& graph, const Count& start, const Count& stop, const Count& step = 1,
                       const Site& site = Site::Here());
  // The names of the files that match, in random order unless `shuffle` is false. None: an error
  // when the iterator begins.
  static Dataset ListFiles(Graph& graph, const std::string& pattern, bool shuffle = true,
                           std::optional<int64_t> seed = {}, const Site& site = Site::Here());
  // Lines, records, pieces of `files`: strings, one (as in Interleave) or a vector.
  static Dataset TextLines(const Output& files, const FileOptions& options = {},
                           const Site& site = Site::Here());
  static Dataset TFRecords(const Output& files, const FileOptions& options = {},
                           const Site& site = Site::Here());
  static Dataset FixedLengthRecords(const Output& files, const Count& record_bytes,
                                    const Count& header_bytes = 0, const Count& footer_bytes = 0,
                                    const FileOptions& options = {},
                                    const Site& site = Site::Here());
  // A component for each field.
  static Dataset Csv(const Output& files, const std::vector<CsvField>& fields,
                     const CsvOptions& options = {}, const Site& site = Site::Here());
  // What any operation makes, with attributes output_types and output_shapes.
  static Dataset FromOp(Graph& graph, const std::string& op, const Outputs& inputs,
                        const Specs& elements, const std::vector<Attr>& attrs = {},
                        const Site& site = Site::Here());
  // A variant of the graph that is a dataset: of a window, of an imported graph.
  Dataset(const Output& variant, const Specs& elements, const Site& site = Site::Here());

  const Output& variant() const { return variant_; }
  // What each component is.
  const Specs& elements() const { return elements_; }
  const TwDataset* c() const { return c_; }

  // ---- which elements ----
  Dataset Take(const Count& count, const Site& site = Site::Here()) const;
  Dataset Skip(const Count& count, const Site& site = Site::Here()) const;
  // -1: without end.
  Dataset Repeat(const Count& count = -1, const Site& site = Site::Here()) const;
  // Every element whose number modulo `shards` is `index`.
  Dataset Shard(const Count& shards, const Count& index, const Site& site = Site::Here()) const;
  // Those for which the function gives true: one bool scalar.
  template <class F>
  Dataset Filter(F&& predicate, const Site& site = Site::Here()) const;
  // Those that can be made: what is wrong with others is forgotten.
  Dataset IgnoreErrors(const Site& site = Site::Here()) const;
  Dataset Concatenate(const Dataset& more, const Site& site = Site::Here()) const;
  // One element of each at a time: the components one after the other; as long as the shortest.
  static Dataset Zip(const std::vector<Dataset>& datasets, const Site& site = Site::Here());
  // A number, from `start` on, and the components.
  Dataset Enumerate(int64_t start = 0, const Site& site = Site::Here()) const;

  // ---- in which order, and when ----
  // Each time any of the next `buffer_size`; the same for the same seed, in Python too.
  Dataset Shuffle(const Count& buffer_size, std::optional<int64_t> seed = {},
                  bool reshuffle_each_iteration = true, const Site& site = Site::Here()) const;
  // Made once, kept in memory.
  Dataset Cache(const Site& site = Site::Here()) const;
  // As many are made before they are asked for.
  Dataset Prefetch(const Count& buffer_size = kAutotune, const Site& site = Site::Here()) const;

  // ---- what becomes of them ----
  // `parallel_calls` at once; 0: one after the other. Not deterministic: as they are done.
  template <class F>
  Dataset Map(F&& function, const Count& parallel_calls = 0, bool deterministic = true,
              const Site& site = Site::Here()) const;
  // The elements of the datasets that the function makes, one dataset after the other.
  template <class F>
  Dataset FlatMap(F&& function, const Site& site = Site::Here()) const;
  // `block_length` elements of each of `cycle_length` of them in turn.
  template <class F>
  Dataset Interleave(F&& function, const Count& cycle_length = kAutotune,
                     const Count& block_length = 1, const Count& parallel_calls = 0,
                     const Site& site = Site::Here()) const;
  // The state after the function has made a next one of each state and element: the state's
  // components, then the element's.
  template <class F>
  Outputs Reduce(const Outputs& initial, F&& function, const Site& site = Site::Here()) const;

  // ---- several as one ----
  Dataset Batch(const Count& batch_size, bool drop_remainder = false,
                const Site& site = Site::Here()) const;
  // Components padded to one shape each: `shapes`, where -1 and none at all say that of the largest
  // in the batch; with `values`, scalars, or zeros and empty strings.
  Dataset PaddedBatch(const Count& batch_size, const std::vector<std::vector<int64_t>>& shapes = {},
                      const Outputs& values = {}, bool drop_remainder = false,
                      const Site& site = Site::Here()) const;
  // The rows of the elements.
  Dataset Unbatch(const Site& site = Site::Here()) const;
  // Datasets of `size` elements each, one for each component: Dataset(component, {spec}).
  Dataset Window(const Count& size, const Count& shift, const Count& stride = 1,
                 bool drop_remainder = false, const Site& site = Site::Here()) const;
  // What any operation makes of this dataset and `inputs`, with attributes output_types and
  // output_shapes.
  Dataset Apply(const std::string& op, const Outputs& inputs, const Specs& elements,
                const std::vector<Attr>& attrs = {}, const Site& site = Site::Here()) const;

  // ---- elements ----
  // Begins by itself, goes through once. The dataset must not depend on what a session has:
  // placeholders, variables, tables.
  Iterator MakeOneShotIterator(const Site& site = Site::Here()) const;
  // Begins whenever its initializer is run.
  Iterator MakeInitializableIterator(const std::string& shared_name = "",
                                     const Site& site = Site::Here()) const;
  // For a loop: in a session of their own, or in the program's.
  tw::Elements Elements(const Site& site = Site::Here()) const {
    return tw::Elements(MakeInitializableIterator("", site), site);
  }
  tw::Elements Elements(Session& session, const Feeds& feeds = {},
                        const Site& site = Site::Here()) const {
    return tw::Elements(MakeInitializableIterator("", site), session, feeds, site);
  }

 private:
  friend class internal::StageBuilder;
  Dataset(Graph& graph, const TwDataset* made);
  static Dataset FromVariant(Graph& graph, const char* name, const Output& variant,
                             const Specs& elements, const Site& site);
  Graph& graph() const { return internal::GraphOf(variant_); }

  const TwDataset* c_;  // the graph keeps it
  Output variant_;
  Specs elements_;
};

}  // namespace tw

#include "thalweg/dataset_stages.h"  // IWYU pragma: export
