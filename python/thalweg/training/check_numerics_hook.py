# SPDX-License-Identifier: Apache-2.0
"""CheckNumericsHook: training that stops at its first value that is not finite, and says where it came from."""
from thalweg.messages import RunOptions
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


def check_numerics_options() -> RunOptions:
    """Options of a run that ends at its first value that is not finite.

    The error is an InvalidArgumentError with the node, the range of what it was given, the iteration and the program's line. Such a run
    rewrites nothing, computes nothing in place and takes about twice the time.

    Examples
    --------
    >>> y = tw.log(tw.constant([1.0, -1.0]), name="y")
    >>> with tw.Session() as session:
    ...     try:
    ...         session.run(y, options=tw.train.check_numerics_options())
    ...     except tw.errors.InvalidArgumentError as error:
    ...         print(error.message.split("; given")[0])
    the first value that is not finite: output 0 has NaN (1 of 2 elements, the first at [1])
    """
    options = RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(node_name="*", debug_ops=["CheckNumerics"])
    return options


class CheckNumericsHook(SessionRunHook):
    """Runs every step with `check_numerics_options`.

    Parameters
    ----------
    first_step : int
        How many runs go unchecked before.

    Examples
    --------
    >>> loss = tw.log(tw.constant(-1.0), name="loss")
    >>> with tw.train.MonitoredSession(hooks=[tw.train.CheckNumericsHook(first_step=1)]) as session:
    ...     print(session.run(loss))
    ...     try:
    ...         session.run(loss)
    ...     except tw.errors.InvalidArgumentError as error:
    ...         print(error.message[:34])
    nan
    the first value that is not finite
    """

    def __init__(self, first_step: int = 0) -> None:
        self._left = first_step

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._left -= 1
        return SessionRunArgs(None, options=check_numerics_options()) if self._left < 0 else None
