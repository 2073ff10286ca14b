# SPDX-License-Identifier: Apache-2.0
"""Training: tw.train."""
from thalweg.base import names

__all__ = ["BoundedStalenessOptimizer", "CaptureHook", "CheckNumericsHook", "CheckpointDifferences", "LBFGSOptimizer", "TraceHook",  # noqa: F822  (found by the table below) beyond TensorFlow's names
           "best_checkpoint", "check_numerics_options"]  # noqa: F822
names.complete(globals(), {
    "cluster.server": "ClusterSpec Server",
    "control.coordinator": "Coordinator LooperThread",
    "control.queue_runner": "QueueRunner add_queue_runner start_queue_runners",
    "debugger.capture_hook": "CaptureHook",
    "messages": "BytesList ClusterDef Example Feature FeatureList FeatureLists Features FloatList Int64List JobDef "
                "SaverDef SequenceExample ServerDef",
    "saving.checkpoint_differences": "CheckpointDifferences",
    "saving.checkpoint_files": "best_checkpoint checkpoint_exists checkpoints_iterator generate_checkpoint_state_proto "
                               "get_checkpoint_mtimes get_checkpoint_state latest_checkpoint remove_checkpoint "
                               "update_checkpoint_state",
    "saving.checkpoint_utils": "NewCheckpointReader init_from_checkpoint list_variables load_checkpoint "
                               "load_variable warm_start",
    "saving.meta_graph": "export_meta_graph write_graph",
    "saving.meta_graph_import": "import_meta_graph",
    "saving.saver": "Saver",
    "saving.vocabulary_remapping": "VocabInfo",
    "summary.event_files": "summary_iterator",
    "training.basic_session_run_hooks": "CheckpointSaverHook CheckpointSaverListener FeedFnHook FinalOpsHook "
                                        "GlobalStepWaiterHook LoggingTensorHook NanLossDuringTrainingError "
                                        "NanTensorHook SecondOrStepTimer StepCounterHook StopAtStepHook "
                                        "SummarySaverHook",
    "training.bounded_staleness": "BoundedStalenessOptimizer",
    "training.check_numerics_hook": "CheckNumericsHook check_numerics_options",
    "training.external_optimizer": "LBFGSOptimizer",
    "training.global_steps": "assert_global_step create_global_step get_global_step get_or_create_global_step "
                             "global_step",
    "training.input": "batch batch_join input_producer limit_epochs match_filenames_once maybe_batch maybe_batch_join "
                      "maybe_shuffle_batch maybe_shuffle_batch_join range_input_producer shuffle_batch shuffle_batch_join "
                      "slice_input_producer string_input_producer",
    "training.learning_rates": "cosine_decay cosine_decay_restarts exponential_decay inverse_time_decay "
                               "linear_cosine_decay natural_exp_decay noisy_linear_cosine_decay piecewise_constant "
                               "piecewise_constant_decay polynomial_decay",
    "training.object_checkpoints": "Checkpoint CheckpointManager",
    "training.monitored_session": "ChiefSessionCreator MonitoredSession MonitoredTrainingSession Scaffold "
                                  "SessionCreator SingularMonitoredSession WorkerSessionCreator",
    "training.moving_averages": "ExponentialMovingAverage",
    "training.optimizer": "Optimizer",
    "training.optimizers": "AdadeltaOptimizer AdagradOptimizer AdamOptimizer FtrlOptimizer GradientDescentOptimizer "
                           "MomentumOptimizer ProximalAdagradOptimizer ProximalGradientDescentOptimizer "
                           "RMSPropOptimizer",
    "training.replica_devices": "replica_device_setter",
    "training.session_manager": "SessionManager",
    "training.session_run_hook": "SessionRunArgs SessionRunContext SessionRunHook SessionRunValues",
    "training.supervisor": "Supervisor basic_train_loop",
    "training.sync_replicas": "SyncReplicasOptimizer",
    "training.trace_hook": "TraceHook"})
