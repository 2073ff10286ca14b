// SPDX-License-Identifier: Apache-2.0
// What is done with a model besides running it: written as one graph, measured, compared with
// recorded values, looked into.
#include <utility>

#include "model.h"

namespace thalweg_python {
namespace {

// The text of a buffer, which goes.
PyObject* TakeText(TwBuffer* buffer) {
  PyObject* const text =
      PyUnicode_DecodeUTF8(static_cast<const char*>(tw_buffer_data(buffer)),
                           static_cast<Py_ssize_t>(tw_buffer_size(buffer)), "surrogateescape");
  tw_buffer_free(buffer);
  return text;
}

// The names of a dictionary, and its values as tensors.
bool NamedTensorsOf(PyObject* values, std::vector<const char*>* names, TensorHandles* tensors) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(values, &at, &key, &value);) {
    names->push_back(PyUnicode_AsUTF8(key));
    if (names->back() == nullptr) return false;
    TwTensor* const made = TensorFromPython(value, static_cast<TwDataType>(0), true).release();
    if (made == nullptr) return false;
    tensors->data()[names->size() - 1] = made;
  }
  return true;
}

}  // namespace

// _convert(name or None, path, saved_model, keep_batch_norms)
PyObject* ModelConvert(PyObject* self, PyObject* args) {
  const StatePtr state = *AsModel(self)->state;
  PyObject *name = nullptr, *path = nullptr;
  TwConvertOptions options{};
  options.struct_size = sizeof options;
  if (!PyArg_ParseTuple(args, "OO&pp", &name, PyUnicode_FSConverter, &path, &options.saved_model,
                        &options.keep_batch_norms)) {
    return nullptr;
  }
  const std::string out = PyBytes_AS_STRING(path);
  Py_DECREF(path);
  const int32_t place = FindSignature(*state, name);
  OptionsOfRun chosen(&state->main_options);
  if (place < 0 || !chosen.Choose(nullptr, 0)) return nullptr;
  options.run_options = chosen.get();
  const bool converted = RunUnlocked(nullptr, &chosen, [&] {
    return tw_model_convert(state->model, place, out.c_str(), &options, ThreadStatus());
  });
  return converted ? Py_NewRef(Py_None) : nullptr;
}

// _costs(name or None, batch, {input: [sizes, -1 where open]}): JSON.
PyObject* ModelCosts(PyObject* self, PyObject* args) {
  const StatePtr state = *AsModel(self)->state;
  PyObject *name = nullptr, *shapes = nullptr;
  long long batch = 0;
  if (!PyArg_ParseTuple(args, "OLO!", &name, &batch, &PyDict_Type, &shapes)) return nullptr;
  std::vector<const char*> inputs;
  std::vector<std::vector<int64_t>> sizes;
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(shapes, &at, &key, &value);) {
    inputs.push_back(PyUnicode_AsUTF8(key));
    if (inputs.back() == nullptr) return nullptr;
    std::vector<int64_t>& dims = sizes.emplace_back();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) {
      dims.push_back(PyLong_AsLongLong(PyList_GET_ITEM(value, i)));
    }
    if (PyErr_Occurred()) return nullptr;
  }
  std::vector<const int64_t*> dims;
  std::vector<int32_t> ranks;
  for (const std::vector<int64_t>& one : sizes) {
    dims.push_back(one.data());
    ranks.push_back(static_cast<int32_t>(one.size()));
  }
  TwCostOptions options{};
  options.struct_size = sizeof options;
  options.batch = batch;
  options.inputs = inputs.data();
  options.dims = dims.data();
  options.ranks = ranks.data();
  options.num_inputs = static_cast<int32_t>(inputs.size());
  const int32_t place = FindSignature(*state, name);
  if (place < 0) return nullptr;
  TwBuffer* json = nullptr;
  Py_BEGIN_ALLOW_THREADS;
  json = tw_model_costs(state->model, place, &options, ThreadStatus());
  Py_END_ALLOW_THREADS;
  return json == nullptr ? Raise(ThreadStatus(), nullptr) : TakeText(json);
}

// _verify(name or None, {input: value}, {output or tensor: value}, atol, rtol): JSON.
PyObject* ModelVerify(PyObject* self, PyObject* args) {
  const StatePtr state = *AsModel(self)->state;
  PyObject *name = nullptr, *inputs = nullptr, *values = nullptr;
  TwVerifyOptions options{};
  options.struct_size = sizeof options;
  if (!PyArg_ParseTuple(args, "OO!O!dd", &name, &PyDict_Type, &inputs, &PyDict_Type, &values,
                        &options.atol, &options.rtol)) {
    return nullptr;
  }
  std::vector<const char*> fed, compared;
  TensorHandles feeds(static_cast<size_t>(PyDict_GET_SIZE(inputs)));
  TensorHandles references(static_cast<size_t>(PyDict_GET_SIZE(values)));
  const int32_t place = FindSignature(*state, name);
  OptionsOfRun chosen(&state->main_options);
  if (place < 0 || !NamedTensorsOf(inputs, &fed, &feeds) ||
      !NamedTensorsOf(values, &compared, &references) || !chosen.Choose(nullptr, 0)) {
    return nullptr;
  }
  options.run_options = chosen.get();
  TwBuffer* json = nullptr;
  const bool verified = RunUnlocked(nullptr, &chosen, [&] {
    json = tw_model_verify(state->model, place, fed.data(), feeds.data(),
                           static_cast<int32_t>(fed.size()), compared.data(), references.data(),
                           static_cast<int32_t>(compared.size()), &options, ThreadStatus());
    return tw_status_code(ThreadStatus());
  });
  return verified ? TakeText(json) : nullptr;
}

// _fetch(name or None, [tensor], {input or tensor: value}): a list of arrays.
PyObject* ModelFetch(PyObject* self, PyObject* args) {
  const StatePtr state = *AsModel(self)->state;
  PyObject *name = nullptr, *fetches = nullptr, *inputs = nullptr;
  if (!PyArg_ParseTuple(args, "OO!O!", &name, &PyList_Type, &fetches, &PyDict_Type, &inputs)) {
    return nullptr;
  }
  // Tensors have names also where there is no signature.
  int32_t place = tw_model_find_signature(state->model, nullptr, nullptr);
  if (name != Py_None && (place = FindSignature(*state, name)) < 0) return nullptr;
  std::vector<const char*> fed, wanted;
  TensorHandles feeds(static_cast<size_t>(PyDict_GET_SIZE(inputs)));
  TensorHandles results(static_cast<size_t>(PyList_GET_SIZE(fetches)));
  OptionsOfRun chosen(&state->main_options);
  if (!TextsOf(fetches, "names of tensors", &wanted) || !NamedTensorsOf(inputs, &fed, &feeds) ||
      !chosen.Choose(nullptr, 0)) {
    return nullptr;
  }
  const bool ran = RunUnlocked(nullptr, &chosen, [&] {
    return tw_model_fetch(state->model, place, chosen.get(), fed.data(), feeds.data(),
                          static_cast<int32_t>(fed.size()), wanted.data(),
                          static_cast<int32_t>(wanted.size()), results.data(), ThreadStatus());
  });
  PyObject* made = ran ? PyList_New(0) : nullptr;
  for (size_t i = 0; made != nullptr && i < wanted.size(); ++i) {
    PyObject* value = TensorToPython(TensorPtr(std::exchange(results.data()[i], nullptr)));
    if (value == nullptr || PyList_Append(made, value) != 0) Py_CLEAR(made);
    Py_XDECREF(value);
  }
  return made;
}

// read_saved_model(path, tags): (bytes of the MetaGraphDef, JSON of what else it has).
PyObject* ReadSavedModel(PyObject*, PyObject* args) {
  PyObject *path = nullptr, *tags = nullptr;
  if (!PyArg_ParseTuple(args, "O&O!", PyUnicode_FSConverter, &path, &PyList_Type, &tags)) {
    return nullptr;
  }
  const std::string name = PyBytes_AS_STRING(path);
  Py_DECREF(path);
  std::vector<const char*> texts;
  if (!TextsOf(tags, "tags", &texts)) return nullptr;
  TwBuffer *meta_graph = nullptr, *facts = nullptr;
  TwCode code = TW_OK;
  Py_BEGIN_ALLOW_THREADS;
  code = tw_saved_model_read(name.c_str(), texts.data(), static_cast<int32_t>(texts.size()),
                             &meta_graph, &facts, ThreadStatus());
  Py_END_ALLOW_THREADS;
  if (code != TW_OK) return Raise(ThreadStatus(), nullptr);
  PyObject* const bytes =
      PyBytes_FromStringAndSize(static_cast<const char*>(tw_buffer_data(meta_graph)),
                                static_cast<Py_ssize_t>(tw_buffer_size(meta_graph)));
  tw_buffer_free(meta_graph);
  return Py_BuildValue("(NN)", bytes, TakeText(facts));
}

}  // namespace thalweg_python
