# SPDX-License-Identifier: Apache-2.0
"""tw.contrib.learn: experiments and learn_runner; sets of examples in files. What contrib.data reads of Examples in files."""
import gzip
import struct
import subprocess
import sys

import numpy as np
import pytest
import thalweg as tf

learn = tf.contrib.learn
mnist = learn.datasets.mnist


# ---- pictures of digits ----
@pytest.fixture(scope="module", name="folder")
def files_of_digits(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("digits"), np.random.RandomState(1)
    for part, count in (("train", 60), ("t10k", 20)):
        with gzip.open(folder / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + random.randint(0, 256, count * 784).astype(np.uint8).tobytes())
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">II", 2049, count) + random.randint(0, 10, count).astype(np.uint8).tobytes())
    return str(folder)


def test_the_files_of_digits_are_read(folder):
    found = mnist.read_data_sets(folder, one_hot=True, validation_size=10)
    assert [s.num_examples for s in found] == [50, 10, 20] and found._fields == ("train", "validation", "test")
    assert found.train.images.shape == (50, 784) and found.train.images.dtype == np.float32 and found.train.labels.shape == (50, 10)
    assert found.test.images.sum() == pytest.approx(7876.5732) and found.test.labels.sum() == 20  # as in 1.15
    raw = mnist.read_data_sets(folder, reshape=False, dtype=tf.uint8, validation_size=0)
    assert raw.train.images.shape == (60, 28, 28, 1) and raw.train.images.sum() == 6004628 and raw.train.labels.sum() == 314


def test_batches_come_in_the_order_of_1_15(folder):
    digits = mnist.read_data_sets(folder, validation_size=10, seed=7).train
    seen = [(digits.next_batch(20)[1].tolist(), digits.epochs_completed) for _ in range(3)]
    assert seen == [([6, 4, 8, 9, 0, 2, 5, 7, 9, 0, 5, 9, 4, 8, 8, 3, 9, 5, 2, 7], 0),
                    ([1, 8, 9, 4, 8, 4, 8, 0, 2, 4, 8, 0, 8, 9, 6, 1, 8, 6, 4, 6], 0),
                    ([5, 9, 4, 0, 1, 3, 4, 1, 3, 3, 9, 5, 5, 9, 4, 4, 9, 8, 8, 4], 1)]
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        assert mnist.DataSet(np.zeros((9, 1, 1, 1), np.uint8), np.arange(9)).next_batch(9)[1].tolist() == [2, 7, 0, 8, 5, 3, 6, 1, 4]
    in_order = mnist.read_data_sets(folder, validation_size=10).train
    assert [in_order.next_batch(30, shuffle=False)[1].tolist()[:3] for _ in range(2)] == [[9, 5, 7], [0, 4, 5]]
    assert in_order.next_batch(200, shuffle=False)[0].shape == (90, 784)  # what was left of an epoch, and another one
    fake = mnist.read_data_sets(folder, fake_data=True, one_hot=True).train
    pictures, labels = fake.next_batch(2, fake_data=True)
    assert fake.num_examples == 10000 and np.shape(pictures) == (2, 784) and labels[0] == [1] + [0] * 9


def test_what_is_wrong_with_files_of_digits_is_said(folder, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*train-images-idx3-ubyte.gz. Thalweg downloads nothing: fetch it from https://"):
        mnist.read_data_sets(str(tmp_path))
    with pytest.raises(ValueError, match="Validation size should be between 0 and 60. Received: 5000."):
        mnist.load_mnist(folder)
    with pytest.raises(TypeError, match="Invalid image dtype tf.float64, expected uint8 or float32"):
        mnist.read_data_sets(folder, dtype=tf.float64, validation_size=0)
    with open(folder + "/t10k-labels-idx1-ubyte.gz", "rb") as file, pytest.raises(ValueError, match="Invalid magic number 2049 in MNIST image"):
        mnist.extract_images(file)
    (tmp_path / "short.gz").write_bytes(gzip.compress(struct.pack(">II", 2049, 9) + bytes(8)))
    with open(tmp_path / "short.gz", "rb") as file, pytest.raises(ValueError, match=r"shape of \[9\] and holds 8 bytes"):
        mnist.extract_labels(file)


@pytest.mark.parametrize(("content", "error", "words"), [
    (b"", ValueError, "f.gz ends within the head of a MNIST label file"), (gzip.compress(b"abc"), ValueError, "f.gz ends within the head"),
    (b"<html>", OSError, "f.gz is no whole compressed file: Not a gzipped file"),
    (gzip.compress(struct.pack(">II", 2049, 9) + bytes(9))[:-9], EOFError, "f.gz is no whole compressed file: Compressed file ended")])
def test_a_damaged_file_of_digits_is_named(tmp_path, content, error, words):
    (tmp_path / "f.gz").write_bytes(content)
    with tf.gfile.Open(str(tmp_path / "f.gz"), "rb") as file, pytest.raises(error, match=words):
        mnist.extract_labels(file)


def test_programs_find_digits_under_both_of_their_paths(folder):
    done = subprocess.run([sys.executable, "-c", "import thalweg.as_tensorflow, sys\n"
                           "from tensorflow.examples.tutorials.mnist import input_data\n"
                           "from tensorflow.contrib.learn.python.learn.datasets.mnist import read_data_sets, DataSet\n"
                           "from tensorflow.contrib.learn.python.learn.datasets import base\n"
                           "print(input_data.read_data_sets is read_data_sets, base.Datasets._fields)\n"
                           "print(input_data.read_data_sets(sys.argv[1], validation_size=5).train.num_examples)", folder],
                          capture_output=True, text=True, check=False)
    assert done.stdout == "True ('train', 'validation', 'test')\n55\n", done.stderr


def test_examples_of_csv_files(tmp_path):
    base = learn.datasets.base
    (tmp_path / "with.csv").write_text("2,3,a,b\n1,2,3,0\n4,5,6,1\n")
    found = base.load_csv_with_header(str(tmp_path / "with.csv"), np.int64, np.float32)
    assert found.data.tolist() == [[1, 2, 3], [4, 5, 6]] and found.target.tolist() == [0, 1] and found.data.dtype == np.float32
    (tmp_path / "without.csv").write_text("1,2,3\n4,5,6\n")
    assert base.load_csv_without_header(str(tmp_path / "without.csv"), np.int64, np.float32, 0).target.tolist() == [1, 4]
    (tmp_path / "less.csv").write_text("3,3,a\n1,2,3,0\n")
    with pytest.raises(ValueError, match=r"3 examples of 3 features, and holds \(1, 3\)"):
        base.load_csv_with_header(str(tmp_path / "less.csv"), np.int64, np.float32)
    for head in ("", "3\n", "a,b\n"):
        (tmp_path / "none.csv").write_text(head)
        with pytest.raises(ValueError, match="none.csv does not begin with the numbers of its examples"):
            base.load_csv_with_header(str(tmp_path / "none.csv"), np.int64, np.float32)


# ---- experiments ----
def model_fn(features, labels, mode):
    w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(features["x"] * w - labels))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, {"y": w}, loss, train, eval_metric_ops={"w": tf.metrics.mean(w)})


def input_fn():
    return {"x": tf.constant([1.0, 2.0])}, tf.constant([2.0, 4.0])


def experiment(**arguments):
    return lambda run_config, hparams: learn.Experiment(tf.estimator.Estimator(model_fn, config=run_config), input_fn, input_fn,
                                                        **{"eval_steps": 1, "train_steps": 5, **arguments})


@pytest.mark.parametrize(("schedule", "arguments", "w", "step"), [
    (None, {}, 1.9375, 5), ("train_and_evaluate", {}, 1.9375, 5), ("local_run", {}, 1.9375, 5), ("test", {}, 1.0, 1),
    ("continuous_train_and_eval", {"train_steps_per_iteration": 2}, 1.96875, 6), ("evaluate", {"eval_delay_secs": 0}, 0.0, 0)])
def test_an_experiment_gives_the_metrics_of_1_15(tmp_path, schedule, arguments, w, step):
    given = learn.learn_runner.run(experiment(**arguments), run_config=learn.RunConfig(model_dir=str(tmp_path)), schedule=schedule)
    found = given if schedule in ("test", "evaluate") else given[0]
    assert (found["w"], found["global_step"]) == (w, step)


def test_an_experiment_trains_between_measurements_as_long_as_in_1_15(tmp_path):
    def steps(name, **arguments):
        seen = []

        def go_on(found):
            seen.append(found and int(found["global_step"]))
            return len(seen) < 3
        end = tf.train.StopAtStepHook(last_step=3000)
        config = learn.RunConfig(model_dir=str(tmp_path / name))
        experiment(train_monitors=[end], **arguments)(config, None).continuous_train_and_eval(go_on)
        return seen
    assert steps("neither", train_steps=None) == [None, 1000, 2000]
    assert steps("a tenth", train_steps=25) == [None, 2, 4]
    for name, wrong in (("few", {}), ("zero", {"train_steps_per_iteration": 0, "train_steps": 25})):
        with pytest.raises(ValueError, match="Must specify steps > 0, given: 0"):
            steps(name, **wrong)


def test_hooks_of_an_experiment_are_called(tmp_path):
    class Counts(tf.train.SessionRunHook):
        count = 0

        def after_run(self, run_context, run_values):
            self.count += 1
    training, measuring, more = Counts(), Counts(), Counts()

    def make(run_config, hparams):
        assert hparams == {"a": 1}
        made = experiment(train_monitors=[training], eval_hooks=[measuring])(run_config, hparams)
        made.extend_train_hooks([more])
        assert (made.train_steps, made.eval_steps, made.eval_metrics) == (5, 1, None)
        return made
    trained = learn.learn_runner.run(make, run_config=learn.RunConfig(model_dir=str(tmp_path)), schedule="train", hparams={"a": 1})
    assert trained.get_variable_value("w") == 1.9375 and (training.count, measuring.count, more.count) == (5, 0, 5)
    learn.Experiment(trained, input_fn, input_fn, eval_steps=1, eval_hooks=[measuring]).evaluate(delay_secs=0)
    assert measuring.count == 1
    learn.Experiment(trained, input_fn, input_fn, train_steps=7, eval_steps=1, train_monitors=[training], eval_hooks=[measuring]).train_and_evaluate()
    assert training.count == 7 and measuring.count > 1


@pytest.mark.parametrize(("schedule", "saved"), [("train_and_evaluate", [0, 5]), ("train", [0, 5]), ("test", [0, 1])])
def test_listeners_of_an_experiment_hear_of_the_checkpoints_of_1_15(tmp_path, schedule, saved):
    class Listens(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            heard.append(global_step_value)
    heard = []
    config = learn.RunConfig(model_dir=str(tmp_path))
    learn.learn_runner.run(experiment(saving_listeners=[Listens()]), run_config=config, schedule=schedule)
    assert heard == saved


def test_a_runner_may_be_given_a_folder(tmp_path):
    made = learn.learn_runner.run(lambda output_dir: experiment()(tf.estimator.RunConfig(model_dir=output_dir), None), output_dir=str(tmp_path))
    assert made[0]["global_step"] == 5


def test_what_is_wrong_with_an_experiment_is_said(tmp_path):
    config = learn.RunConfig(model_dir=str(tmp_path))
    run = learn.learn_runner.run
    for arguments, error, words in [
            ((experiment(), "x", None, config), ValueError, "Cannot provide both `output_dir` and `run_config`"),
            ((experiment(),), ValueError, "Must set value for `output_dir` or `run_config`"),
            ((3, None, None, config), TypeError, 'Experiment builder "3" is not callable.'),
            ((lambda run_config, hparams: 3, None, None, config), TypeError, "did not return an Experiment instance, got <class 'int'>"),
            ((experiment(), "x", None, None, 3), ValueError, "Must set `hparams` as None for `experiment_fn` with `output_dir`."),
            ((experiment(), None, None, learn.RunConfig()), ValueError, "Must specify a model directory `model_dir` in `run_config`."),
            ((experiment(), None, None, tf.estimator.RunConfig(str(tmp_path))), ValueError, "`run_config` must be `tf.contrib.learn.RunConfig`"),
            ((experiment(), None, "nope", config), ValueError, "Schedule references non-existent task nope"),
            ((experiment(), None, "train_steps", config), TypeError, "Schedule references non-callable member train_steps"),
            ((experiment(eval_metrics={}), None, None, config), ValueError, "`eval_metrics` must be `None`"),
            ((experiment(export_strategies=[1]), None, None, config), NotImplementedError, "not implemented in Thalweg")]:
        with pytest.raises(error, match=words.replace("(", r"\(")):
            run(*arguments)
    with pytest.raises(ValueError, match="`estimator` must implement"):
        learn.Experiment(3, input_fn, input_fn)


@pytest.mark.parametrize(("task", "schedule"), [("master", "train_and_evaluate"), ("worker", "train"), ("ps", "run_std_server")])
def test_the_schedule_is_that_of_the_task(tmp_path, monkeypatch, task, schedule):
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"master": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}, "task": {"type": "%s", "index": 0}}' % task)

    class Told(learn.Experiment):
        def __init__(self):
            pass

        train = train_and_evaluate = run_std_server = None
    monkeypatch.setattr(Told, schedule, lambda self: "called")
    assert learn.learn_runner.run(lambda run_config, hparams: Told(), run_config=learn.RunConfig(model_dir=str(tmp_path))) == "called"


# ---- Examples in files ----
FEATURES = {"x": tf.FixedLenFeature([], tf.int64), "t": tf.VarLenFeature(tf.string), "y": tf.FixedLenFeature([1], tf.float32)}


@pytest.fixture(scope="module", name="examples")
def file_of_examples(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("examples") / "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for i in range(5):
            writer.write(tf.train.Example(features=tf.train.Features(feature={
                "x": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
                "t": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a"] * i)),
                "y": tf.train.Feature(float_list=tf.train.FloatList(value=[i * 0.5]))})).SerializeToString())
    return path


def all_of(following):
    found = []
    with tf.Session() as session, pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.append(session.run(following))
    return found


def read(dataset):
    return all_of(dataset.make_one_shot_iterator().get_next())


def test_batches_of_examples_are_parsed(examples):
    data = tf.contrib.data
    assert data.parse_example_dataset is tf.data.experimental.parse_example_dataset
    found = read(tf.data.TFRecordDataset(examples).batch(2).apply(data.parse_example_dataset(FEATURES)))
    assert [b["x"].tolist() for b in found] == [[0, 1], [2, 3], [4]] and found[1]["y"].tolist() == [[1.0], [1.5]]
    assert found[0]["t"].dense_shape.tolist() == [2, 1] and len(found[2]["t"].values) == 4
    for wrong in (tf.data.TFRecordDataset(examples), tf.data.Dataset.range(3)):
        with pytest.raises(TypeError, match="Input dataset should be a dataset of vectors of strings"):
            wrong.apply(data.parse_example_dataset(FEATURES))
    with pytest.raises(ValueError, match="Missing: features was None."):
        data.parse_example_dataset(None)


def test_batched_features_of_files(examples):
    make = tf.contrib.data.make_batched_features_dataset
    plain = {"num_epochs": 1, "shuffle": False}
    dataset = make(examples, 2, FEATURES, **plain)
    assert dataset.output_shapes["x"].as_list() == [None] and [b["x"].tolist() for b in read(dataset)] == [[0, 1], [2, 3], [4]]
    whole = make(examples, 2, FEATURES, drop_final_batch=True, **plain)
    assert whole.output_shapes["y"].as_list() == [2, 1] and len(read(whole)) == 2
    (features, label), *_ = read(make(examples, 2, FEATURES, label_key="y", **plain))
    assert sorted(features) == ["t", "x"] and label.tolist() == [[0.0], [0.5]]
    keyed = make(examples, 5, FEATURES, reader=lambda name, kind: tf.data.Dataset.zip((tf.data.Dataset.range(9), tf.data.TFRecordDataset(name, kind))),
                 reader_args=[""], **plain)
    assert read(keyed)[0]["x"].tolist() == [0, 1, 2, 3, 4]
    mixed = read(make(examples, 3, FEATURES, num_epochs=2, shuffle_seed=3))
    order = np.concatenate([b["x"] for b in mixed]).tolist()
    assert [len(b["x"]) for b in mixed] == [3, 3, 3, 1] and sorted(order) == sorted([*range(5)] * 2) and order != [*range(5)] * 2
    assert make(examples, 2, FEATURES).output_shapes["x"].as_list() == [2]  # without end all batches are whole
    assert [b["x"].tolist() for b in all_of(tf.contrib.data.read_batch_features(examples, 4, FEATURES, randomize_input=False, num_epochs=1))] \
        == [[0, 1, 2, 3], [4]]
    with pytest.raises(ValueError, match=r"The `label_key` provided \('z'\) must be one of the `features` keys."):
        make(examples, 2, FEATURES, label_key="z")
