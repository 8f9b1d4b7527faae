"""Reports how a function failed, for its author."""

import os
import traceback

from ._problems import shown

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_MOST_TRACE = 12_000
_MOST_SAMPLE = 1_000


class ProcessRefused(RuntimeError):
    """A transform tried to start a process or to end another one."""


def problem_of(error):
    """For a file that could not be loaded."""
    return {"line": last_line(error), "trace": trace_of(error), "kind": kind_of(error)}


def kind_of(error):
    """raised: an error in the function, the host continues. The others end the host."""
    seen = error
    while seen is not None:
        if isinstance(seen, ProcessRefused):
            return "process"
        seen = seen.__cause__ or seen.__context__
    if isinstance(error, MemoryError):
        return "memory"
    return "exit" if isinstance(error, SystemExit) else "raised"


def failure_of(error, rows):
    place, row = known_row(error, rows)
    sample = None if row is None else shown(row, _MOST_SAMPLE)
    return {**problem_of(error), "where": where(error), "row": place, "sample": sample, "key": missing_key(error)}


def last_line(error):
    try:
        text = "".join(traceback.format_exception_only(type(error), error)).strip()
    except Exception:
        text = type(error).__name__
    line = text.splitlines()[-1] if isinstance(error, SyntaxError) else text
    return line if len(line) <= 500 else line[:499] + "…"


def trace_of(error):
    try:
        text = "".join(traceback.format_exception(type(error), error, _user_part(error.__traceback__)))
    except Exception as broken:
        text = "no traceback: %s" % type(broken).__name__
    if len(text) <= _MOST_TRACE:
        return text
    return text[: _MOST_TRACE // 3] + "\n  […]\n" + text[-2 * _MOST_TRACE // 3 :]


def _user_part(trace):
    """Without the frames of this package, which do not help the author of the function."""
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def _is_ours(file):
    return file.startswith(_OURS) or file.startswith("<frozen importlib")


def where(error):
    """The innermost line of the user's own code."""
    found = None
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if not _is_ours(code.co_filename) and _is_near(code.co_filename):
            found = "%s:%d" % (os.path.basename(code.co_filename), trace.tb_lineno)
        trace = trace.tb_next
    return found


_LIBRARY = os.path.dirname(os.__file__)


def _is_near(file):
    return not file.startswith(_LIBRARY) and not file.startswith("<")


def known_row(error, rows):
    """The row that some frame was processing, or the first of the batch."""
    places = {id(row): place for place, row in enumerate(rows)}
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    for frame in reversed(frames):
        if _is_ours(frame.f_code.co_filename):
            continue
        for value in list(frame.f_locals.values()):
            place = places.get(id(value))
            if place is not None:
                return place, value
    return None, rows[0] if rows else None


def missing_key(error):
    if isinstance(error, KeyError) and error.args and isinstance(error.args[0], str):
        return error.args[0][:200]
    return None
