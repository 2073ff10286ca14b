# SPDX-License-Identifier: Apache-2.0
"""Sessions and hooks that ask a person before and after each run: LocalCLIDebugWrapperSession, LocalCLIDebugHook."""
from __future__ import annotations

import cmd
import functools
import shlex
import shutil
import sys
import tempfile
from typing import TYPE_CHECKING

from thalweg import errors
from thalweg.debugger import dump_dir
from thalweg.debugger.analyzer import Analyzer, CommandError, Parser
from thalweg.debugger.dumping import Watcher, WrappedSession, is_of_other_thread
from thalweg.debugger.watches import WatchOptions, after_failure
from thalweg.training.session_run_hook import SessionRunArgs, SessionRunHook

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from thalweg.base.typing import FeedDict, Fetches
    from thalweg.control.coordinator import Coordinator
    from thalweg.graph.session import Session
    from thalweg.graph.tensor import Operation
    from thalweg.messages import RunMetadata, RunOptions
    from thalweg.training.session_run_hook import SessionRunContext, SessionRunValues

_HELP = """run, r [-n] [-t TIMES] [-f FILTER]   goes on: -n without looking, -t so many times, -f until a value passes a filter
run_info, ri                         what the run fetches and is fed
lt [-f FILTER] [-n NAME] [-t TYPE]   lists the values of the run; -s timestamp|dump_size|op_type|tensor_name, -r backwards
pt NODE:SLOT[SLICE] [-n NUMBER]      prints a value; -s with a summary, -a as a whole
ni [-a] [-d] [-t] NODE               says what is known of a node; its attributes, values, lines of the program
li, lo [-r] [-d DEPTH] [-c] NODE     lists its inputs, and who reads it
exit                                 ends the program"""


class _Prompt(cmd.Cmd):
    """Asks until a person goes on."""

    prompt = "tfdbg> "

    def __init__(self, intro: str, info: str, analyzer: Analyzer | None, filters: dict[str, Any]) -> None:
        super().__init__()
        self.use_rawinput = sys.stdin is not None and sys.stdin.isatty()
        self.intro, self._info, self._analyzer, self._filters = intro, info, analyzer, filters
        self.wish: Any = None

    def emptyline(self) -> None:
        """Nothing, where cmd.Cmd would do the last command again."""

    def onecmd(self, line: str) -> bool:
        try:
            words = shlex.split(line)
        except ValueError as error:
            return self._say(f"{line}: {error}")
        if line == "EOF" or words[:1] in (["exit"], ["quit"], ["q"]):
            raise SystemExit(0)
        if not words:
            return False
        try:
            return self._follow(words[0], words[1:])
        except CommandError as error:
            return self._say(f"ERROR: {error}")

    def _follow(self, verb, words):
        if verb in ("run", "r"):
            return self._run(words)
        names = {"list_tensors": "lt", "print_tensor": "pt", "node_info": "ni", "list_inputs": "li", "list_outputs": "lo"}
        verb = names.get(verb, verb)
        if verb in names.values():
            if self._analyzer is None:
                raise CommandError(f"{verb}: nothing has run yet: run goes on")
            return self._say(getattr(self._analyzer, verb)(words))
        if verb in ("run_info", "ri"):
            return self._say(self._info)
        if verb in ("help", "h"):
            return self._say(_HELP)
        raise CommandError(f"there is no command {verb!r}: help lists them")

    def _run(self, words):
        parser = Parser("run", "goes on")
        parser.add_argument("-n", "--no_debug", action="store_true")
        parser.add_argument("-t", "--times", type=int, default=1)
        parser.add_argument("-f", "--till_filter_pass")
        parser.add_argument("--node_name_filter")
        parser.add_argument("--op_type_filter")
        parser.add_argument("--tensor_dtype_filter")
        self.wish = parser.parse_args(words)
        if self.wish.till_filter_pass is not None and self.wish.till_filter_pass not in self._filters:
            raise CommandError(f"run: there is no tensor filter {self.wish.till_filter_pass!r}; there are {', '.join(sorted(self._filters))}")
        return True

    def _say(self, text):
        self.stdout.write(text + "\n")
        return False


class _Conversation:
    """What session and hook share: who is asked when."""

    def __init__(self, dump_root: str | None) -> None:
        self.filters: dict[str, Callable[[Any, Any], object]] = {"has_inf_or_nan": dump_dir.has_inf_or_nan}
        self._root, self._is_own = dump_root, dump_root is None
        self._watcher: Watcher | None = None
        self._unasked = 0  # runs that are to go on without a question
        self._till: str | None = None
        self._count = 0
        self._is_looked_at = False

    def before(self, session: Session, fetches: Fetches, feed_dict: FeedDict | None) -> list[Operation]:
        """Asks; gives the taps that the run is to have."""
        self._count += 1
        self._info = f"run {self._count}\nfetches: {fetches!r}\nfeeds: {sorted(str(getattr(key, 'name', key)) for key in feed_dict or {})}"
        if self._till is None and self._unasked == 0:
            wish = self._ask(f"--- run-start: run {self._count}, {_brief(fetches)} ---", None)
            self._wish, self._unasked, self._till = wish, wish.times, wish.till_filter_pass
        self._unasked -= self._unasked > 0
        self._is_looked_at = self._till is not None or (self._unasked == 0 and not self._wish.no_debug)
        if not self._is_looked_at:
            return []
        if self._root is None:
            self._root = tempfile.mkdtemp(prefix="tfdbg_")
        if self._watcher is None or self._watcher._session is not session:
            self._watcher = Watcher(session, self._root)
        return self._watcher.begin(fetches, feed_dict, WatchOptions(
            node_name_regex_whitelist=self._wish.node_name_filter, op_type_regex_whitelist=self._wish.op_type_filter,
            tensor_dtype_regex_whitelist=self._wish.tensor_dtype_filter))

    def after(self, session: Session, error: BaseException | None = None) -> None:
        """Asks where the person wished so, or the run has failed."""
        if not self._is_looked_at:
            return
        self._is_looked_at = False
        folder = self._watcher.end()
        try:
            dump = dump_dir.DebugDumpDir(folder, validate=False)
            dump.set_python_graph(session.graph)
            analyzer = Analyzer(dump, self.filters)
            passed = self._till is not None and dump.find(self.filters[self._till], first_n=1)
            if error is None and self._till is not None and not passed:
                return
            words = ["-f", self._till] if passed else []
            intro = f"--- run-end: run {self._count} ---\n" + (f"{type(error).__name__}: {error}\n" if error is not None else "")
            self._till, self._unasked = None, 0
            wish = self._ask(intro + analyzer.lt(words), analyzer)
            if error is None:  # of the next run
                self._wish, self._unasked, self._till = wish, wish.times, wish.till_filter_pass
        finally:
            if self._is_own:
                shutil.rmtree(folder, ignore_errors=True)

    def _ask(self, intro, analyzer):
        prompt = _Prompt(intro, self._info, analyzer, self.filters)
        prompt.cmdloop()
        return prompt.wish

    def end(self) -> None:
        """Takes the folder away, where it is its own."""
        if self._is_own and self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)


def _brief(fetches):
    text = str(getattr(fetches, "name", fetches))
    return text if len(text) < 60 else text[:57] + "..."


def _check_ui(ui_type):
    if ui_type not in ("curses", "readline"):
        raise ValueError(f"ui_type must be curses or readline, which are the same here, got {ui_type!r}")


class LocalCLIDebugWrapperSession(WrappedSession):
    """A session that asks a person at the terminal before and after each run, who can look at all that it has computed.

    Parameters
    ----------
    sess : Session
    dump_root : str, optional
        Where the values of runs are kept; without it they go when the next run begins.
    log_usage, config_file_path : object
        Of no effect.
    ui_type : str
        "curses" and "readline" are both lines of text here.
    thread_name_filter : str, optional
        A regular expression: for runs of threads of other names nobody is asked.
    """

    def __init__(self, sess: Session, dump_root: str | None = None, log_usage: object = True, ui_type: str = "curses",
                 thread_name_filter: str | None = None, config_file_path: object = False) -> None:
        super().__init__(sess, thread_name_filter)
        _check_ui(ui_type)
        self._conversation = _Conversation(dump_root)

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], object]) -> None:
        """Adds a filter for `lt -f` and `run -f`: a function of a DebugTensorDatum and the value."""
        self._conversation.filters[_checked_filter(filter_name, tensor_filter)] = tensor_filter

    def run(self, fetches: Fetches, feed_dict: FeedDict | None = None, options: RunOptions | None = None, run_metadata: RunMetadata | None = None,
            **others: object) -> Any:
        """Session.run, with questions around it."""
        self.increment_run_call_count()
        if self._is_of_other_thread():
            return self._sess.run(fetches, feed_dict, options, run_metadata)
        taps = self._conversation.before(self._sess, fetches, feed_dict)
        try:
            values = self._sess.run([fetches, taps], feed_dict, options, run_metadata)[0]
        except errors.OpError as error:
            after_failure(functools.partial(self._conversation.after, self._sess, error))
            raise
        self._conversation.after(self._sess)
        return values

    def close(self) -> None:
        """Closes the session beneath."""
        self._conversation.end()
        self._sess.close()


def _checked_filter(name, tensor_filter):
    if not name or not isinstance(name, str):
        raise TypeError(f"a tensor filter must have a name, got {name!r}")
    if not callable(tensor_filter):
        raise TypeError(f"tensor filter {name!r} is not callable: {tensor_filter!r}")
    return name


class LocalCLIDebugHook(SessionRunHook):
    """LocalCLIDebugWrapperSession as a hook of a training."""

    def __init__(self, ui_type: str = "curses", dump_root: str | None = None, thread_name_filter: str | None = None,
                 config_file_path: object = None) -> None:
        _check_ui(ui_type)
        self._conversation, self._session, self._thread_name_filter = _Conversation(dump_root), None, thread_name_filter

    def add_tensor_filter(self, filter_name: str, tensor_filter: Callable[[Any, Any], object]) -> None:
        """Adds a filter for `lt -f` and `run -f`."""
        self._conversation.filters[_checked_filter(filter_name, tensor_filter)] = tensor_filter

    def after_create_session(self, session: Session, coord: Coordinator) -> None:
        self._session = session

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        if is_of_other_thread(self._thread_name_filter):
            return None
        asked = run_context.original_args
        return SessionRunArgs(self._conversation.before(self._session, asked.fetches, asked.feed_dict))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        self._conversation.after(self._session)

    def _run_failed(self) -> None:
        after_failure(functools.partial(self._conversation.after, self._session, sys.exc_info()[1]))

    def end(self, session: Session) -> None:
        self._conversation.end()
