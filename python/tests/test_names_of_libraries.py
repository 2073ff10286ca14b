# SPDX-License-Identifier: Apache-2.0
"""What libraries of TensorFlow 1's time take of its less public parts."""
import pytest
import thalweg as tw
from thalweg.compatibility import monitoring
from thalweg.contrib.slim.data_decoder import DataDecoder
from thalweg.keras import utils


def test_collections_are_imported_where_the_nodes_come_to_lie():
    with tw.Graph().as_default():
        table = tw.lookup.StaticHashTable(tw.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        assert table.initializer is not None
        made = tw.train.export_meta_graph()
    with tw.Graph().as_default() as graph:
        for around in ("first", "second"):
            with tw.name_scope(around):
                tw.train.import_meta_graph(made, import_scope="module")
        tw.train.import_meta_graph(made, import_scope="first/module")
        found = [op.name for op in graph.get_collection(tw.GraphKeys.TABLE_INITIALIZERS)]
    assert [name.rpartition("/")[0] for name in found] == ["first/module", "second/module", "first/module_1"]


def test_values_of_a_table_have_the_shape_of_the_keys_in_a_function():
    with tw.Graph().as_default():
        table = tw.lookup.StaticHashTable(tw.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        words = tw.data.Dataset.from_tensor_slices(["a b", "c"]).map(lambda line: table.lookup(tw.string_split([line]).values))
        assert words.output_shapes.as_list() == [None]


def test_objects_of_keras_by_name_and_configuration():
    class Kept:
        def __init__(self, size=3):
            self.size = size

        def get_config(self):
            return {"size": self.size}

        @classmethod
        def from_config(cls, config):
            return cls(**config)

    known = {"Kept": Kept, "double": lambda x: 2 * x}
    config = utils.serialize_keras_object(Kept(5))
    assert config == {"class_name": "Kept", "config": {"size": 5}} and utils.serialize_keras_object(None) is None
    assert utils.deserialize_keras_object(config, known).size == 5
    assert utils.deserialize_keras_object("Kept", custom_objects=known).size == 3
    assert utils.deserialize_keras_object("double", known)(4) == 8 and utils.deserialize_keras_object(None) is None
    with pytest.raises(ValueError, match="Unknown thing: nothing"):
        utils.deserialize_keras_object("nothing", known, printable_module_name="thing")
    with pytest.raises(ValueError, match="Improper config format"):
        utils.deserialize_keras_object({"class_name": "Kept"}, known)


def test_numbers_that_a_library_counts_of_itself():
    counter = monitoring.Counter("/tests/steps", "Steps.", "kind")
    counter.get_cell("a").increase_by(2)
    counter.get_cell("a").increase_by(1)
    assert counter.get_cell("a").value() == 3 and counter.get_cell("b").value() == 0
    with pytest.raises(ValueError, match="0 or more"):
        counter.get_cell("a").increase_by(-1)
    with pytest.raises(ValueError, match="1 label"):
        counter.get_cell()
    with pytest.raises(tw.errors.AlreadyExistsError):
        monitoring.Counter("/tests/steps", "Again.")
    gauge = monitoring.BoolGauge("/tests/on", "Whether.")
    gauge.get_cell().set(1)
    assert gauge.get_cell().value() is True


def test_a_decoder_says_how_it_decodes():
    with pytest.raises(TypeError, match="abstract"):
        DataDecoder()
