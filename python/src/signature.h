// SPDX-License-Identifier: Apache-2.0
// What Session.run was asked for. A Key identifies fetches and feeds in their nested structure
// cheaply enough to be computed in every call; a Request is what it means, worked out once.
// Ownership: a request holds the objects that its key knows by address; a key alone holds none.
// Threads: with the GIL held.
// Errors: null or false with a Python error set.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core.h"

namespace thalweg_python {

// Words that spell the structure: markers, node addresses, interned names, objects by identity.
class Key {
 public:
  // False with a Python error. `feeds` is null, or a dict whose keys are tensors and names.
  bool AddFetches(PyObject* fetches, int depth = 0);
  bool AddFeeds(PyObject* feeds);
  bool operator==(const Key& other) const { return words_ == other.words_; }
  uint64_t hash() const;

 private:
  bool AddName(PyObject* name);
  std::vector<uint64_t> words_;
};

// True when a key is neither a tensor nor a name.
bool HasOtherKeys(PyObject* feed_dict);

class Request {
 public:
  Request() = default;
  ~Request();
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  // False with a Python error: names that do not exist, things that cannot be fetched or fed.
  bool AddFetches(PyObject* graph, PyObject* fetches, int depth = 0);
  bool AddFeeds(PyObject* graph, PyObject* feed_dict);
  bool AddFeed(PyObject* graph, PyObject* key);
  // False with a Python error where Graph.prevent_feeding or prevent_fetching forbids a part.
  bool CheckAllowed(PyObject* graph) const;

  // Converts the value of feed i; null with a Python error that names the feed.
  TensorPtr FeedValue(size_t i, PyObject* value) const;
  // The results in the structure of the fetches. Takes the tensors. Null with an error.
  PyObject* Build(TwTensor** results) const;

  std::vector<TwOutput> feeds;
  std::vector<TwOutput> fetches;
  std::vector<TwNode*> targets;

 private:
  // Adds to a TypeError or ValueError that is set which feed it is about.
  void NameFeedInError(size_t i) const;

  struct Step {
    enum Kind : uint8_t { kLeaf, kNone, kList, kTuple, kNamedTuple, kDict, kCustom };
    Kind kind;
    size_t count = 0;           // of the parts that follow; of a leaf, its fetch
    PyObject* extra = nullptr;  // named tuple's class, dict's (class, keys), custom's function
  };
  struct Feed {
    TwDataType dtype;
    int32_t rank;
    std::vector<int64_t> dims;
  };
  bool AddTensor(PyObject* graph, PyObject* tensor);
  bool AddTarget(PyObject* graph, PyObject* operation);
  bool AddNamed(PyObject* graph, PyObject* name);
  bool AddSequence(PyObject* graph, PyObject* sequence, int depth);
  bool AddDict(PyObject* graph, PyObject* dict, int depth);
  bool AddCustom(PyObject* graph, PyObject* object, int depth);
  PyObject* BuildStep(size_t* step, PyObject* const* values) const;
  PyObject* BuildSequence(size_t* step, PyObject* const* values) const;
  PyObject* BuildDict(size_t* step, PyObject* const* values) const;
  void Keep(PyObject* object);

  struct OutputHash {
    size_t operator()(const std::pair<const TwNode*, int32_t>& output) const {
      return std::hash<const TwNode*>()(output.first) * 31 + static_cast<size_t>(output.second);
    }
  };

  std::unordered_map<std::pair<const TwNode*, int32_t>, size_t, OutputHash> place_of_fetch_;
  std::vector<Step> steps_;
  std::vector<Feed> feed_types_;
  std::vector<PyObject*> kept_;  // objects that a Key knows by address
};

}  // namespace thalweg_python
