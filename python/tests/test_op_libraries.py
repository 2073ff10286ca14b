# SPDX-License-Identifier: Apache-2.0
"""Operations from shared objects of a user: an operation and a kernel are registered once, and a second time is an error that names both."""
import os
import subprocess

import pytest

import thalweg as tw

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = """
#include "kernel_api.h"
static int Shape(TwShapeCall* call, const TwKernelApi* api) { return api->set_output_shape(call, 0, 0, 0); }
static int Kernel(TwKernelCall* call, const TwKernelApi* api) {
  TwTensorView y;
  if (!api->allocate_output(call, 0, 1, 0, 0, &y)) return 0;
  *(float*)y.data = %(value)d;
  return 1;
}
int tw_register(const TwKernelApi* api, TwRegistrar* registrar) {
  if (%(defines)d && !api->define_op(registrar, "name: '%(op)s' output_arg { name: 'y' type: DT_FLOAT }", Shape)) return 0;
  return api->add_kernel(registrar, "%(op)s", "CPU", Kernel);
}
"""


@pytest.fixture
def library(tmp_path):
    """The path of a library whose operation gives `value`; `defines`: whether it defines that operation, or has a kernel for it alone."""
    def make(name, op, value, defines=1):
        source, path = tmp_path / f"{name}.c", tmp_path / f"lib{name}.so"
        source.write_text(SOURCE % {"op": op, "value": value, "defines": defines})
        subprocess.run(["cc", "-shared", "-fPIC", "-I", os.path.join(ROOT, "thalweg", "api"), source, "-o", path], check=True)
        return str(path)
    return make


def value_of(op):
    with tw.Graph().as_default(), tw.Session() as sess:
        return sess.run(tw.get_default_graph().create_op(op, [], [tw.float32]).outputs[0])


def test_an_operation_of_two_libraries(library):
    first, second = library("one", "RegisteredOnce", 1), library("two", "RegisteredOnce", 2)
    tw.load_op_library(first)
    with pytest.raises(tw.errors.AlreadyExistsError, match="operation 'RegisteredOnce' exists already") as raised:
        tw.load_op_library(second)
    assert f"registered in {first} and then in {second}" in str(raised.value)
    assert value_of("RegisteredOnce") == 1


def test_a_library_that_is_loaded_twice(library):
    path = library("again", "LoadedTwice", 3)
    tw.load_op_library(path)
    with pytest.raises(tw.errors.AlreadyExistsError, match=f"registered in {path} and then in {path}"):
        tw.load_op_library(path)
    assert value_of("LoadedTwice") == 3


def test_a_second_kernel_of_an_operation(library):
    first, second = library("kernel", "OneKernel", 4), library("kernel_again", "OneKernel", 5, defines=0)
    tw.load_op_library(first)
    with pytest.raises(tw.errors.AlreadyExistsError, match="a kernel for OneKernel on CPU with any type exists already") as raised:
        tw.load_op_library(second)
    assert f"registered in {first} and then in {second}" in str(raised.value)
    assert value_of("OneKernel") == 4, "the first kernel stands"


def test_a_name_of_the_instruction_set(library):
    with pytest.raises(tw.errors.AlreadyExistsError, match="operation 'MatMul' exists already: it was registered in thalweg/ops/math"):
        tw.load_op_library(library("taken", "MatMul", 6))
