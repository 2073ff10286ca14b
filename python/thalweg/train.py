# SPDX-License-Identifier: Apache-2.0
"""Training: tw.train. Optimizers are the core's; the global step and averages are made here."""
from thalweg import array_ops, dtypes, graph, math_ops, names, ops, variables
from thalweg import graph as graph_module
from thalweg import logging as tw_logging
from thalweg.graph import GraphKeys, name_scope
from thalweg.ops import apply, convert_to_tensor
from thalweg.optimizer import Optimizer

_LATER = {"learning_rates": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay linear_cosine_decay "
                            "natural_exp_decay noisy_linear_cosine_decay piecewise_constant piecewise_constant_decay "
                            "polynomial_decay",
          "checkpoint_utils": "NewCheckpointReader init_from_checkpoint list_variables load_checkpoint load_variable",
          "checkpoint_files": "checkpoints_iterator generate_checkpoint_state_proto get_checkpoint_mtimes remove_checkpoint "
                              "replica_device_setter update_checkpoint_state",
          "saver": "Saver checkpoint_exists get_checkpoint_state latest_checkpoint",
          "meta_graph": "export_meta_graph import_meta_graph",
          "basic_session_run_hooks": "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
                                     "GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError NanTensorHook "
                                     "SecondOrStepTimer StepCounterHook StopAtStepHook SummarySaverHook",
          "bounded_staleness": "BoundedStalenessOptimizer",
          "coordinator": "Coordinator LooperThread",
          "queue_runner": "QueueRunner add_queue_runner start_queue_runners",
          "event_files": "summary_iterator",
          "input": "batch batch_join input_producer limit_epochs maybe_batch maybe_batch_join maybe_shuffle_batch "
                   "maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join slice_input_producer "
                   "string_input_producer",
          "monitored_session": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold SessionCreator "
                               "SingularMonitoredSession WorkerSessionCreator",
          "server": "ClusterSpec Server",
          "session_manager": "SessionManager",
          "session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
          "supervisor": "Supervisor basic_train_loop",
          "sync_replicas": "SyncReplicasOptimizer"}


def __getattr__(name):
    import importlib
    for module, listed in _LATER.items():
        if name in listed.split():
            return getattr(importlib.import_module("thalweg." + module), name)
    if name in ("Example", "Features", "Feature", "Int64List", "FloatList", "BytesList", "SequenceExample", "FeatureList",
                "FeatureLists", "SaverDef", "ClusterDef", "JobDef", "ServerDef"):
        from thalweg import messages
        return getattr(messages, name)
    raise AttributeError(f"module 'thalweg.train' has no attribute '{name}'")


class GradientDescentOptimizer(Optimizer):
    """v -= learning_rate * g."""
    _kind = "GradientDescent"

    def __init__(self, learning_rate, use_locking=False, name="GradientDescent"):
        self._set_up(use_locking, name, learning_rate=learning_rate)


class MomentumOptimizer(Optimizer):
    """Gradients with momentum, plain or Nesterov's."""
    _kind = "Momentum"

    def __init__(self, learning_rate, momentum, use_locking=False, name="Momentum", use_nesterov=False):
        self._set_up(use_locking, name, use_nesterov, learning_rate=learning_rate, momentum=momentum)


class AdagradOptimizer(Optimizer):
    """Rates that fall with the sum of squared gradients."""
    _kind = "Adagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking=False, name="Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value)


class AdadeltaOptimizer(Optimizer):
    """Rates from moving averages of squared gradients and steps."""
    _kind = "Adadelta"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking=False, name="Adadelta"):
        self._set_up(use_locking, name, learning_rate=learning_rate, rho=rho, epsilon=epsilon)


class RMSPropOptimizer(Optimizer):
    """Rates from a moving average of squared gradients."""
    _kind = "RMSProp"

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False,
                 name="RMSProp"):
        self._kind = "CenteredRMSProp" if centered else "RMSProp"
        self._set_up(use_locking, name, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon)


class AdamOptimizer(Optimizer):
    """Moving averages of gradients and their squares, corrected for their start."""
    _kind = "Adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking=False, name="Adam"):
        self._set_up(use_locking, name, learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)


class FtrlOptimizer(Optimizer):
    """Follow the regularised leader."""
    _kind = "Ftrl"

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1,
                 l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name="Ftrl",
                 accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0):
        more = {}
        if l2_shrinkage_regularization_strength > 0:
            self._kind = "FtrlV2"
            more["l2_shrinkage_regularization_strength"] = l2_shrinkage_regularization_strength
        self._set_up(use_locking, name, learning_rate=learning_rate, learning_rate_power=learning_rate_power,
                     initial_accumulator_value=initial_accumulator_value,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength, **more)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with L1 and L2 penalties."""
    _kind = "ProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False,
                 name="ProximalGradientDescent"):
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)


class ProximalAdagradOptimizer(Optimizer):
    """Adagrad with L1 and L2 penalties."""
    _kind = "ProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking=False, name="ProximalAdagrad"):
        self._set_up(use_locking, name, learning_rate=learning_rate,
                     initial_accumulator_value=initial_accumulator_value,
                     l1_regularization_strength=l1_regularization_strength,
                     l2_regularization_strength=l2_regularization_strength)


# ---- the global step ----
def get_global_step(graph=None):
    """The variable that counts steps, or None."""
    target = graph or graph_module.get_default_graph()
    found = target.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        tw_logging.error("Multiple tensors in global_step collection.")
        return None
    if not found:
        try:
            found = [target.get_tensor_by_name("global_step:0")]
        except KeyError:
            return None
    assert_global_step(found[0])
    return found[0]


def assert_global_step(global_step_tensor):
    """TypeError unless it is a variable or a tensor that counts: an integer scalar."""
    dtype = global_step_tensor.dtype.base_dtype
    if not dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {dtype}')
    if global_step_tensor.shape.ndims not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {global_step_tensor.shape}')


def create_global_step(graph=None):
    """Makes the variable that counts steps."""
    from thalweg.variable_scopes import get_variable
    target = graph or graph_module.get_default_graph()
    if get_global_step(target) is not None:
        raise ValueError('"global_step" already exists.')
    with target.as_default(), target.name_scope(None):
        from thalweg.init_ops import zeros_initializer
        return get_variable("global_step", shape=[], dtype=dtypes.int64, initializer=zeros_initializer(), trainable=False,
                            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph=None):
    """The variable that counts steps, made when there is none."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def global_step(sess, global_step_tensor):
    return int(sess.run(global_step_tensor))


class ExponentialMovingAverage:
    """Averages of variables in which older values count less."""

    def __init__(self, decay, num_updates=None, zero_debias=False, name="ExponentialMovingAverage"):
        self._decay, self._num_updates, self.name, self._averages = decay, num_updates, name, {}

    def apply(self, var_list=None):
        """An operation that updates the averages."""
        var_list = variables.trainable_variables() if var_list is None else var_list
        decay = ops.constant(float(self._decay))
        if self._num_updates is not None:
            count = math_ops.cast(self._num_updates, dtypes.float32)
            decay = apply("Minimum", [decay, (1.0 + count) / (10.0 + count)])
        updates = []
        for v in var_list:
            if not v.dtype.base_dtype.is_floating:
                raise TypeError(f"The variables must be half, float, or double: {v.name}")
            if v not in self._averages:
                with name_scope(None):
                    first = v.initialized_value() if hasattr(v, "initialized_value") else array_ops.zeros(
                        v.shape.as_list(), v.dtype.base_dtype)
                    self._averages[v] = variables.Variable(first, trainable=False, name=f"{v.op.name}/{self.name}")
                if hasattr(v, "initialized_value"):
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
            average = self._averages[v]
            # A read of its own: what runs before apply() has changed the variable.
            now = v.read_value() if hasattr(v, "read_value") else convert_to_tensor(v)
            difference = average._as_tensor() - now
            updates.append(average.assign_sub(difference * math_ops.cast(1.0 - decay, average._dtype)))
        return ops.group(*updates, name=self.name)

    def average(self, var):
        return self._averages.get(var)

    def average_name(self, var):
        made = self._averages.get(var)
        return f"{var.op.name}/{self.name}" if made is None else made.op.name

    def variables_to_restore(self, moving_avg_variables=None):
        """{name in a checkpoint: variable}: the averages for these variables, and all others by their own names."""
        if moving_avg_variables is None:
            moving_avg_variables = variables.trainable_variables() + variables.moving_average_variables()
        averaged = list(dict.fromkeys(moving_avg_variables))
        named = {self.average_name(v): v for v in averaged}
        for v in variables.global_variables():
            if v not in averaged and v.op.name not in named:
                named[v.op.name] = v
        return named


def write_graph(graph_or_graph_def, logdir, name, as_text=True):
    """Writes the graph's GraphDef to a file."""
    import os
    os.makedirs(logdir, exist_ok=True)
    path = os.path.join(logdir, name)
    if isinstance(graph_or_graph_def, graph.Graph):
        data = graph_or_graph_def._export(as_text)
    else:
        data = str(graph_or_graph_def).encode() if as_text else graph_or_graph_def.SerializeToString()
    with open(path, "wb") as f:
        f.write(data)
    return path


names.complete(globals())
