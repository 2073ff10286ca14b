// SPDX-License-Identifier: Apache-2.0
#include "signature.h"

namespace thalweg_python {
namespace {

constexpr int kMaxDepth = 100;
enum Marker : uint64_t { kList = 1, kTuple, kDict, kTensor, kOperation, kName, kOther, kFeeds };

uint64_t Word(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool CheckDepth(int depth) {
  if (depth <= kMaxDepth) return true;
  PyErr_Format(PyExc_ValueError, "fetches are nested more than %d deep", kMaxDepth);
  return false;
}

bool SameGraph(PyObject* graph, PyObject* handle, const char* what) {
  // `graph` is the first member of Tensor and Operation alike.
  if (reinterpret_cast<TensorObject*>(handle)->graph == graph) return true;
  PyErr_Format(PyExc_ValueError,
               "%s argument %R cannot be interpreted as a Tensor. (Tensor %R is not an element of "
               "this graph.)",
               what, handle, handle);
  return false;
}

std::string ShapeText(const int64_t* dims, int32_t rank) {
  std::string text = "(";
  for (int32_t i = 0; i < rank; ++i) {
    if (i > 0) text += ", ";
    text += dims[i] < 0 ? "?" : std::to_string(dims[i]);
  }
  return text + (rank == 1 ? ",)" : ")");
}

}  // namespace

bool Key::AddName(PyObject* name) {
  Py_INCREF(name);
  PyUnicode_InternInPlace(&name);
  words_.push_back(kName);
  words_.push_back(Word(name));
  Py_DECREF(name);  // a Request that is found by this key keeps it
  return true;
}

bool Key::AddFetches(PyObject* fetches, int depth) {
  if (IsTensor(fetches)) {
    const TwOutput output = OutputOf(fetches);
    words_.insert(words_.end(), {kTensor, Word(output.node), static_cast<uint64_t>(output.index)});
    return true;
  }
  if (IsOperation(fetches)) {
    words_.insert(words_.end(), {kOperation, Word(NodeOf(fetches))});
    return true;
  }
  if (PyUnicode_Check(fetches)) return AddName(fetches);
  const bool tuple = PyTuple_Check(fetches);
  if (!CheckDepth(depth)) return false;
  if (tuple || PyList_Check(fetches)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(fetches);
    words_.insert(words_.end(),
                  {tuple ? kTuple : kList, Word(Py_TYPE(fetches)), static_cast<uint64_t>(count)});
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!AddFetches(PySequence_Fast_GET_ITEM(fetches, i), depth + 1)) return false;
    }
    return true;
  }
  if (PyDict_Check(fetches)) {
    words_.insert(words_.end(),
                  {kDict, Word(Py_TYPE(fetches)), static_cast<uint64_t>(PyDict_Size(fetches))});
    Py_ssize_t position = 0;
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    while (PyDict_Next(fetches, &position, &name, &value)) {
      if (PyUnicode_Check(name)) {
        AddName(name);
      } else {
        words_.insert(words_.end(), {kOther, Word(name)});
      }
      if (!AddFetches(value, depth + 1)) return false;
    }
    return true;
  }
  words_.insert(words_.end(), {kOther, Word(fetches)});
  return true;
}

bool Key::AddFeeds(PyObject* feeds) {
  words_.push_back(kFeeds);
  if (feeds == nullptr) return true;
  Py_ssize_t position = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(feeds, &position, &name, &value)) {
    if (!AddFetches(name)) return false;
  }
  return true;
}

uint64_t Key::hash() const {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const uint64_t word : words_) hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash;
}

bool HasOtherKeys(PyObject* feed_dict) {
  Py_ssize_t position = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(feed_dict, &position, &name, &value)) {
    if (!IsTensor(name) && !PyUnicode_Check(name)) return true;
  }
  return false;
}

Request::~Request() {
  for (PyObject* object : kept_) Py_DECREF(object);
}

void Request::Keep(PyObject* object) {
  Py_INCREF(object);
  kept_.push_back(object);
}

bool Request::AddTensor(PyObject* graph, PyObject* tensor) {
  if (!SameGraph(graph, tensor, "Fetch")) return false;
  const TwOutput output = OutputOf(tensor);
  const auto [place, is_new] =
      place_of_fetch_.try_emplace({output.node, output.index}, fetches.size());
  if (is_new) fetches.push_back(output);
  steps_.push_back({Step::kLeaf, place->second, nullptr});
  return true;
}

bool Request::AddTarget(PyObject* graph, PyObject* operation) {
  if (!SameGraph(graph, operation, "Fetch")) return false;
  targets.push_back(NodeOf(operation));
  steps_.push_back({Step::kNone, 0, nullptr});
  return true;
}

bool Request::AddNamed(PyObject* graph, PyObject* name) {
  PyObject* interned = Py_NewRef(name);
  PyUnicode_InternInPlace(&interned);
  kept_.push_back(interned);
  PyObject* element = PyObject_CallMethod(graph, "_fetched_by_name", "O", interned);
  if (element == nullptr) return false;
  const bool added = IsTensor(element) ? AddTensor(graph, element) : AddTarget(graph, element);
  Py_DECREF(element);
  return added;
}

bool Request::AddSequence(PyObject* graph, PyObject* sequence, int depth) {
  const auto count = static_cast<size_t>(PySequence_Fast_GET_SIZE(sequence));
  if (PyTuple_Check(sequence) && !PyTuple_CheckExact(sequence)) {
    auto* type = reinterpret_cast<PyObject*>(Py_TYPE(sequence));
    Keep(type);
    steps_.push_back({Step::kNamedTuple, count, type});
  } else {
    steps_.push_back({PyTuple_Check(sequence) ? Step::kTuple : Step::kList, count, nullptr});
  }
  if (depth == 0) {  // not the small ones in it, each of which would move all before
    steps_.reserve(count + 1);
    fetches.reserve(count);
    place_of_fetch_.reserve(count);
  }
  for (size_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, static_cast<Py_ssize_t>(i));
    if (!AddFetches(graph, item, depth + 1)) return false;
  }
  return true;
}

bool Request::AddDict(PyObject* graph, PyObject* dict, int depth) {
  PyObject* keys = PyDict_Keys(dict);
  if (keys == nullptr) return false;
  PyObject* extra = PyTuple_Pack(2, Py_TYPE(dict), keys);
  Py_DECREF(keys);
  if (extra == nullptr) return false;
  kept_.push_back(extra);
  steps_.push_back({Step::kDict, static_cast<size_t>(PyList_GET_SIZE(keys)), extra});
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys); ++i) {
    PyObject* name = PyList_GET_ITEM(keys, i);
    if (PyUnicode_Check(name)) {
      PyObject* interned = Py_NewRef(name);
      PyUnicode_InternInPlace(&interned);
      kept_.push_back(interned);
    }
    if (!AddFetches(graph, PyDict_GetItem(dict, name), depth + 1)) return false;
  }
  return true;
}

bool Request::AddCustom(PyObject* graph, PyObject* object, int depth) {
  Keep(object);
  PyObject* pair = PyObject_CallOneArg(hooks.expand_fetch, object);
  if (pair == nullptr) return false;
  PyObject* parts = nullptr;
  PyObject* rebuild = nullptr;
  bool added = PyArg_ParseTuple(pair, "O!O", &PyList_Type, &parts, &rebuild);
  if (added) {
    Keep(rebuild);
    const auto count = static_cast<size_t>(PyList_GET_SIZE(parts));
    steps_.push_back({Step::kCustom, count, rebuild});
    for (size_t i = 0; added && i < count; ++i) {
      added = AddFetches(graph, PyList_GET_ITEM(parts, static_cast<Py_ssize_t>(i)), depth + 1);
    }
  }
  Py_DECREF(pair);
  return added;
}

bool Request::AddFetches(PyObject* graph, PyObject* given, int depth) {
  if (!CheckDepth(depth)) return false;
  if (IsTensor(given)) return AddTensor(graph, given);
  if (IsOperation(given)) return AddTarget(graph, given);
  if (PyUnicode_Check(given)) return AddNamed(graph, given);
  if (PyList_Check(given) || PyTuple_Check(given)) return AddSequence(graph, given, depth);
  if (PyDict_Check(given)) return AddDict(graph, given, depth);
  return AddCustom(graph, given, depth);
}

bool Request::AddFeed(PyObject* graph, PyObject* key) {
  PyObject* tensor = Py_NewRef(key);
  if (PyUnicode_Check(key)) {
    PyObject* interned = Py_NewRef(key);
    PyUnicode_InternInPlace(&interned);
    kept_.push_back(interned);
    Py_SETREF(tensor, PyObject_CallMethod(graph, "_fed_by_name", "O", interned));
    if (tensor == nullptr) return false;
  }
  bool added = IsTensor(tensor);
  if (!added) {
    PyErr_Format(
        PyExc_TypeError,
        "Cannot interpret feed_dict key as Tensor: The name %R refers to an Operation, not a "
        "Tensor.",
        key);
  } else {
    added = SameGraph(graph, tensor, "Feed");
  }
  if (added) {
    const TwOutput output = OutputOf(tensor);
    feeds.push_back(output);
    const TwDataType dtype = tw_output_dtype(output);
    Feed feed{dtype > 100 ? dtype - 100 : dtype, tw_output_shape(output, nullptr, 0), {}};
    if (feed.rank > 0) {
      feed.dims.resize(static_cast<size_t>(feed.rank));
      tw_output_shape(output, feed.dims.data(), feed.rank);
    }
    feed_types_.push_back(std::move(feed));
  }
  Py_DECREF(tensor);
  return added;
}

bool Request::AddFeeds(PyObject* graph, PyObject* feed_dict) {
  if (feed_dict == nullptr) return true;
  Py_ssize_t position = 0;
  PyObject* name = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(feed_dict, &position, &name, &value)) {
    if (!AddFeed(graph, name)) return false;
  }
  return true;
}

bool Request::CheckAllowed(PyObject* graph) const {
  PyObject* restricted = PyObject_GetAttrString(graph, "_restricted");
  if (restricted == nullptr) return false;
  const bool any = restricted == Py_True;
  Py_DECREF(restricted);
  if (!any) return true;
  const auto check = [&](const char* method, PyObject* element) {
    PyObject* done =
        element == nullptr ? nullptr : PyObject_CallMethod(graph, method, "N", element);
    Py_XDECREF(done);
    return done != nullptr;
  };
  for (const TwOutput& feed : feeds) {
    if (!check("_check_feed", MakeTensor(graph, feed))) return false;
  }
  for (const TwOutput& fetch : fetches) {
    if (!check("_check_fetch", MakeTensor(graph, fetch))) return false;
  }
  for (TwNode* target : targets) {
    if (!check("_check_fetch", MakeOperation(graph, target))) return false;
  }
  return true;
}

void Request::NameFeedInError(size_t i) const {
  // Other exceptions come from the value itself and keep what they carry.
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) return;
  PyObject* type = nullptr;
  PyObject* error = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &error, &trace);
  if (type == PyExc_TypeError || type == PyExc_ValueError) {
    PyErr_Format(type, "%S (fed to Tensor '%s:%d', which has type %s)",
                 error == nullptr ? Py_None : error, tw_node_name(feeds[i].node), feeds[i].index,
                 TypeName(feed_types_[i].dtype));
    Py_DECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
  } else {
    PyErr_Restore(type, error, trace);
  }
}

TensorPtr Request::FeedValue(size_t i, PyObject* value) const {
  const Feed& feed = feed_types_[i];
  if (IsTensor(value)) {
    PyErr_SetString(PyExc_TypeError,
                    "The value of a feed cannot be a tf.Tensor object. Acceptable feed values "
                    "include Python scalars, strings, lists, numpy ndarrays, or TensorHandles.");
    return nullptr;
  }
  TensorPtr tensor = TensorFromPython(value, feed.dtype, true);
  if (!tensor) {
    if (PyLong_Check(value) && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Format(PyExc_TypeError,
                   "Type of feed value %R with type %R is not compatible with Tensor type <class "
                   "'numpy.%s'>. No value of that type is the same.",
                   value, Py_TYPE(value), TypeName(feed.dtype));
    }
    NameFeedInError(i);
    return nullptr;
  }
  const int32_t rank = tw_tensor_rank(tensor.get());
  bool fits = feed.rank < 0 || feed.rank == rank;
  for (int32_t d = 0; fits && d < feed.rank; ++d) {
    const int64_t wanted = feed.dims[static_cast<size_t>(d)];
    fits = wanted < 0 || wanted == tw_tensor_dim(tensor.get(), d);
  }
  if (fits) return tensor;
  std::vector<int64_t> dims;
  for (int32_t d = 0; d < rank; ++d) dims.push_back(tw_tensor_dim(tensor.get(), d));
  PyErr_Format(PyExc_ValueError,
               "Cannot feed value of shape %s for Tensor '%s:%d', which has shape '%s'",
               ShapeText(dims.data(), rank).c_str(), tw_node_name(feeds[i].node), feeds[i].index,
               ShapeText(feed.dims.data(), feed.rank).c_str());
  return nullptr;
}

PyObject* Request::BuildSequence(size_t* step, PyObject* const* values) const {
  const Step& s = steps_[(*step)++];
  PyObject* list = s.kind == Step::kTuple ? PyTuple_New(static_cast<Py_ssize_t>(s.count))
                                          : PyList_New(static_cast<Py_ssize_t>(s.count));
  if (list == nullptr) return nullptr;
  for (size_t i = 0; i < s.count; ++i) {
    PyObject* item = BuildStep(step, values);
    if (item == nullptr) {
      Py_DECREF(list);
      return nullptr;
    }
    if (s.kind == Step::kTuple) {
      PyTuple_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    } else {
      PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
    }
  }
  PyObject* made = list;
  if (s.kind == Step::kNamedTuple) {
    PyObject* arguments = PyList_AsTuple(list);
    Py_DECREF(list);
    if (arguments == nullptr) return nullptr;
    made = PyObject_Call(s.extra, arguments, nullptr);
    Py_DECREF(arguments);
  } else if (s.kind == Step::kCustom) {
    made = PyObject_CallOneArg(s.extra, list);
    Py_DECREF(list);
  }
  return made;
}

PyObject* Request::BuildDict(size_t* step, PyObject* const* values) const {
  const Step& s = steps_[(*step)++];
  PyObject* dict = PyObject_CallNoArgs(PyTuple_GET_ITEM(s.extra, 0));
  PyObject* keys = PyTuple_GET_ITEM(s.extra, 1);
  for (size_t i = 0; dict != nullptr && i < s.count; ++i) {
    PyObject* item = BuildStep(step, values);
    if (item == nullptr ||
        PyObject_SetItem(dict, PyList_GET_ITEM(keys, static_cast<Py_ssize_t>(i)), item) != 0) {
      Py_CLEAR(dict);
    }
    Py_XDECREF(item);
  }
  return dict;
}

PyObject* Request::BuildStep(size_t* step, PyObject* const* values) const {
  const Step& s = steps_[*step];
  switch (s.kind) {
    case Step::kLeaf:
      ++*step;
      return Py_NewRef(values[s.count]);
    case Step::kNone:
      ++*step;
      return Py_NewRef(Py_None);
    case Step::kDict:
      return BuildDict(step, values);
    default:
      return BuildSequence(step, values);
  }
}

PyObject* Request::Build(TwTensor** results) const {
  if (steps_.size() == 1 && fetches.size() == 1) return TensorToPython(TensorPtr(results[0]));
  std::vector<PyObject*> values(fetches.size(), nullptr);
  bool complete = true;
  for (size_t i = 0; i < fetches.size(); ++i) {
    TensorPtr tensor(results[i]);
    if (complete) values[i] = TensorToPython(std::move(tensor));
    complete = complete && values[i] != nullptr;
  }
  size_t step = 0;
  PyObject* made = complete ? BuildStep(&step, values.data()) : nullptr;
  for (PyObject* value : values) Py_XDECREF(value);
  return made;
}

}  // namespace thalweg_python
