"""The process that runs registered functions for one chain.

Frames arrive on one private socket and leave on another: the lengths of a JSON header and of a payload, then both.
Output of functions is separate, so that it cannot be mistaken for an answer; marks between the lines name the function.
"""

import atexit
import fcntl
import gc
import json
import os
import struct
import sys

from ._limits import bound_memory, die_with, refuse_processes
from ._loader import Loader
from ._problems import Refused, shown
from ._report import failure_of
from ._steps import Steps

_LENGTHS = struct.Struct(">II")
#: Above the descriptors that careless code closes.
_HIGH = 200


class Wire:
    """Keeps references to everything it needs: user code may replace module attributes."""

    def __init__(self, questions, answers, nonce):
        self.questions, self.answers = _moved(questions), _moved(answers)
        self.outputs = [_copied(1), _copied(2)]
        self.mark_text = "\n\x01" + nonce + " "
        self.encode = json.JSONEncoder().encode
        self.decode = json.JSONDecoder().decode
        self.readv, self.write = os.readv, os.write
        self.quit, self.getpid, self.pid = os._exit, os.getpid, os.getpid()
        self.streams = [sys.stdout, sys.stderr]

    def receive(self):
        lengths = self._exactly(_LENGTHS.size)
        if lengths is None:
            return None, b""
        header, payload = _LENGTHS.unpack(lengths)
        return self.decode(str(self._exactly(header), "utf-8")), self._exactly(payload)

    def _exactly(self, length):
        """None if the other side closed before the first byte."""
        buffer = bytearray(length)
        view, at = memoryview(buffer), 0
        while at < length:
            got = self.readv(self.questions, [view[at:]])
            if got == 0:
                return None
            at += got
        return buffer

    def send(self, header, payload=b""):
        # A fork of this process must not answer in its place.
        if self.getpid() != self.pid:
            self.quit(0)
        text = self.encode(header).encode("utf-8", "backslashreplace")
        self._send_all(_LENGTHS.pack(len(text), len(payload)) + text)
        self._send_all(payload)

    def _send_all(self, data):
        view = memoryview(data)
        while len(view) > 0:
            view = view[self.write(self.answers, view) :]

    def mark(self, text):
        """Written between the lines that functions print, on both streams."""
        for stream in self.streams + [sys.stdout, sys.stderr]:
            try:
                stream.flush()
            except Exception:
                pass
        for output in self.outputs:
            try:
                self.write(output, (self.mark_text + text + "\n").encode())
            except OSError:
                pass


def _moved(number):
    moved = _copied(number)
    os.close(number)
    return moved


def _copied(number):
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _HIGH)


class Host:
    def __init__(self, wire):
        self.wire = wire
        self.loader = None
        self.steps = None

    def serve(self):
        while True:
            header, payload = self.wire.receive()
            if header is None:
                return
            getattr(self, "on_" + header["op"])(header, payload)

    def on_load(self, header, _payload):
        self.loader = Loader(header["folder"], header["describe"])
        for name in header["files"]:
            self.wire.send({"op": "loading", "file": name})
            loaded = self.loader.load(name)
            self.wire.send({"op": "loaded", **loaded})
        gc.collect()
        gc.freeze()
        self.wire.mark("end")
        self.wire.send({"op": "ready"})

    def on_open(self, header, _payload):
        self.steps = Steps(self.loader.functions, header)

    def on_batch(self, header, payload):
        answer, body = self._transformed(payload, header["rows"])
        self.wire.mark("end")
        self.wire.send(answer, body)

    def _transformed(self, payload, count):
        steps = self.steps
        try:
            body, rows = steps.run(payload, count, lambda name: self.wire.mark("step " + name))
            return {"op": "rows", "rows": rows}, body
        except Refused as refused:
            return _refusal(refused, steps.name, steps.rows), b""
        except BaseException as error:
            return _failure(error, steps.name, steps.rows), b""


def _failure(error, name, rows):
    try:
        return {"op": "failed", "transform": name, **failure_of(error, rows)}
    except MemoryError:
        # Its frames still reference what filled the memory.
        error.__traceback__ = None
        return {"op": "failed", "transform": name, "kind": "memory", "line": "MemoryError", "trace": ""}


def _refusal(refused, name, rows):
    """A rejected value refers to its row in the result by number; a rejected row is included itself."""
    column, sample = refused.column, refused.sample
    what = refused.what if column is None else 'column "%s" (%s) %s' % (column.name, column.type["name"], refused.what)
    if column is not None:
        sample = rows[refused.row]
    sample_text = None if sample is None else shown(sample, 1000)
    return {"op": "refused", "transform": name, "what": what, "row": refused.row, "sample": sample_text, "hint": refused.hint}


def main():
    options = json.loads(sys.argv[1])
    die_with(options["parent"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    # No compiled versions of user files in user folders.
    sys.dont_write_bytecode = True
    if hasattr(sys, "set_int_max_str_digits"):
        sys.set_int_max_str_digits(0)
    # Rows are created and dropped by the ten thousand; the collector finds no cycles among them.
    gc.set_threshold(200_000, 20, 50)
    wire = Wire(3, 4, options["nonce"])
    sys.argv = [""]
    bound_memory(options["memory_mb"])
    refuse_processes()
    try:
        Host(wire).serve()
        atexit._run_exitfuncs()
        wire.quit(0)
    except BaseException:
        # Threads of user code would keep the process alive.
        sys.excepthook(*sys.exc_info())
    finally:
        wire.quit(1)
