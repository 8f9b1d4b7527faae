"""Executes a part of a run by the plan that the runner stored with it.

Rows and the line of the part are committed in one transaction, as by a runner; the statements are the runner's own. A
part whose rows are rejected, or whose function fails, is handed to a runner, which reports or quarantines it.
"""

import json
import os
import sys
import tempfile
import threading
import time

import psycopg

from ._failpoints import failpoint
from ._loader import Loader
from ._problems import Refused
from ._report import last_line
from ._sessions import Session, is_lost, is_temporary
from ._steps import Steps

_LOOK_EVERY_S = 0.5
_NO_ROWS = {"read": 0, "inserted": 0, "updated": 0, "unchanged": 0, "deleted": 0, "quarantined": 0, "duplicates": 0}
_COLUMNS = {
    "rows_read": "read",
    "rows_inserted": "inserted",
    "rows_updated": "updated",
    "rows_unchanged": "unchanged",
    "rows_deleted": "deleted",
    "rows_quarantined": "quarantined",
    "rows_duplicate": "duplicates",
}


class Lost(Exception):
    """The part, or its run, is no longer ours."""


class HandedOver(Exception):
    """A runner must execute the part."""


class Job:
    """What all parts of a run have in common."""

    def __init__(self, plan, access, files):
        job = plan["job"]
        self.plan, self.access = plan, access
        self.read, self.write, self.settings = job["read"], job["write"], job["settings"]
        self.ledger, self.parts = job["ledger"], job["parts"]
        self.is_main, self.snapshot = job["isMain"], job["snapshot"]
        self.portion_rows, self.portion_bytes = job["portionRows"], job["portionBytes"]
        self.chain = _chain(job["transforms"], files)

    def session(self, side, name):
        return Session(self.access[side], name, self.settings)

    def query(self, part):
        return self.read["from"] + self.read["conditions"][part - 1] + self.read["order"]


def _chain(segments, files):
    """Functions, from the files that the driver has sent."""
    if sys.version_info >= (3, 11):
        sys.set_int_max_str_digits(0)
    chain = []
    for number, segment in enumerate(segments):
        folder = tempfile.mkdtemp(prefix="vitrina-tasks-")
        for name, text in files[number].items():
            path = os.path.join(folder, *name.split("/"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(text)
        loader = Loader(folder, False)
        for name in segment["files"]:
            problem = loader.load(name)["problem"]
            if problem is not None:
                raise RuntimeError("%s cannot be loaded by an executor: %s" % (name, problem["line"]))
        chain.append(Steps(loader.functions, segment))
    return chain


def execute(job, part, owner):
    """Returns when the part is committed, handed over, or not ours to execute. Raises if a connection was lost."""
    named = {"run": job.access["run"], "part": part, "lease": job.access["lease"], "owner": owner, "tags": None}
    named.update(snapshot=job.snapshot, fence=job.plan["fence"], pipeline=job.access["pipeline"])
    meta = job.session("meta", "vitrina-spark")
    try:
        while True:
            if _claim(job, meta, named):
                outcome = _execute_claimed(job, meta, named)
                if outcome is not None:
                    return outcome
            state = meta.rows(job.parts["state"], named)
            if not state:
                return "left"
            if state[0]["status"] in ("DONE", "FAILED", "LEFT") or state[0]["by_runner"]:
                return state[0]["status"].lower()
            time.sleep(_LOOK_EVERY_S)
    finally:
        meta.close()


def _claim(job, meta, named):
    meta.run("BEGIN")
    try:
        meta.rows(job.parts["lock"], named)
        meta.count(job.parts["fail_deadly"], named)
        found = meta.rows(job.parts["claim"], named)
        meta.run("COMMIT")
    except BaseException:
        _roll_back(meta)
        raise
    if found:
        named.update(found[0], session_prefix="vitrina-run %s/%s/%s." % (named["pipeline"], named["fence"], named["part"]))
        # Sessions of a frozen process are found by their name, and ended.
        meta.run("SET application_name = '%s'" % session_name(named))
    return bool(found)


def session_name(named):
    return named["session_prefix"] + str(named["claim"])


def _execute_claimed(job, meta, named):
    """None: another process has claimed the part meanwhile."""
    failpoint("part.claimed")
    lease = _Lease(job, named)
    part = _Part(job, meta, named)
    try:
        lease.start(part)
        part.run()
        return "done"
    except HandedOver as error:
        lease.end()
        meta.count(job.parts["hand_over"], {**named, "error": json.dumps({"message": str(error)[:2000]})})
        return "handed over"
    except Lost:
        lease.end()
        meta.count(job.parts["release"], named)
        return None
    except BaseException:
        lease.end()
        if lease.is_lost:
            return None
        _quietly(lambda: meta.count(job.parts["release"], named))
        raise
    finally:
        lease.end()
        part.close()


class _Lease:
    """Renews the lease of a part while it is executed, and stops it if that fails."""

    def __init__(self, job, named):
        self.job, self.named = job, dict(named)
        self.is_lost = False
        self.over = threading.Event()
        self.part = None
        self.thread = threading.Thread(target=self._work, daemon=True)

    def start(self, part):
        self.part = part
        self.thread.start()

    def end(self):
        self.over.set()
        if self.thread.is_alive():
            self.thread.join()

    def _work(self):
        seconds, session = self.job.access["lease"], None
        renewed = time.monotonic()
        while not self.over.wait(seconds / 3):
            asked = time.monotonic()
            try:
                session = session or self.job.session("meta", "vitrina-spark")
                held = bool(session.rows(self.job.parts["renew"], self.named))
                if held and time.monotonic() - asked < seconds:
                    renewed = asked
            except psycopg.Error:
                held, session = True, None
            if not held or time.monotonic() - renewed > seconds:
                self.is_lost = True
                self.part.cancel()
                break
        if session is not None:
            session.close()


class _Part:
    def __init__(self, job, meta, named):
        self.job, self.meta, self.named = job, meta, named
        self.source = self.target = None
        self.is_cancelled = False
        self.mode = job.write.get("mode")
        self.spent = {"read": 0.0, "transform": 0.0, "write": 0.0}

    def run(self):
        job, named = self.job, self.named
        started = time.monotonic()
        self.target = job.session("target", session_name(named))
        self.source = job.session("source", session_name(named))
        for session in (self.source, self.target):
            session.rows(job.ledger["end_earlier"], named)
        earlier = self._take()
        if earlier is not None:
            # Committed by an executor that died before it could report it.
            return self._report(earlier, {"duration_ms": 0, "write_ms": 0, "checkpoint_ms": 0})
        self._begin_reading()
        failpoint("part.read")
        if job.write["gather"] is None:
            self.target.run(job.write["stage"])
        self.target.run("BEGIN; SET CONSTRAINTS ALL IMMEDIATE")
        counts = self._copy()
        return self._commit(counts, started)

    def cancel(self):
        self.is_cancelled = True
        for session in (self.source, self.target):
            if session is not None:
                session.cancel()

    def close(self):
        for session in (self.source, self.target):
            if session is not None:
                session.close()

    def _take(self):
        job, named = self.job, self.named
        if job.is_main:
            return None
        self.target.count(job.ledger["take"], named)
        row = self.target.rows(job.ledger["taken"], named)[0]
        if row["status"] != "DONE":
            return None
        return dict(_NO_ROWS) if row["counts"] is None else json.loads(row["counts"])

    def _begin_reading(self):
        self.source.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            self.source.run("SET TRANSACTION SNAPSHOT '%s'" % self.job.snapshot.replace("'", "''"))
        except psycopg.Error as error:
            if is_lost(error):
                raise
            raise Lost("The snapshot that the parts of this run read has ended.") from error

    def _copy(self):
        counts = dict(_NO_ROWS)
        portions = self._portions()
        while True:
            payload, read = self._timed("read", lambda: next(portions, (None, 0)))
            if payload is None:
                return counts
            payload, rows = self._timed("transform", lambda: self._transform(payload, read))
            written = self._timed("write", lambda: self._write(payload)) if rows > 0 else dict(_NO_ROWS)
            written["read"] = read
            counts = {name: counts[name] + written[name] for name in counts}
            if self.is_cancelled:
                raise Lost("The lease could not be renewed.")

    def _timed(self, phase, work):
        since = time.monotonic()
        try:
            return work()
        except psycopg.Error as error:
            if self.is_cancelled:
                raise Lost("The lease could not be renewed.") from error
            if is_temporary(error):
                raise
            raise HandedOver("%s: %s" % (phase, error)) from error
        finally:
            self.spent[phase] += time.monotonic() - since

    def _portions(self):
        """COPY text of some rows. A newline inside a value is escaped, so that each one ends a row."""
        pieces, rows, size = [], 0, 0
        with self.source.copy("COPY (%s) TO STDOUT" % self.job.query(self.named["part"])) as copy:
            for piece in copy:
                pieces.append(bytes(piece))
                rows += pieces[-1].count(b"\n")
                size += len(pieces[-1])
                if rows >= self.job.portion_rows or size >= self.job.portion_bytes:
                    yield b"".join(pieces), rows
                    pieces, rows, size = [], 0, 0
        if rows > 0:
            yield b"".join(pieces), rows

    def _transform(self, payload, rows):
        for steps in self.job.chain:
            if rows == 0:
                break
            try:
                payload, rows = steps.run(payload, rows, lambda _name: None)
            except Refused as refused:
                raise HandedOver("%s: %s" % (steps.name, refused.what)) from refused
            except (Exception, SystemExit) as error:
                raise HandedOver("%s: %s" % (steps.name, last_line(error))) from error
        return payload, rows

    def _write(self, payload):
        write = self.job.write
        if write["gather"] is not None:
            self.target.copy_in(write["gather"], payload)
            return dict(_NO_ROWS)
        while True:
            # Never released: history follows with the same transaction id as the rows.
            self.target.run("SAVEPOINT write")
            try:
                return self._merge(payload)
            except psycopg.Error as error:
                after = {("fill", "23505"): "upsert", ("upsert", "21000"): "newest"}.get((self.mode, error.sqlstate))
                if after is None:
                    raise
                self.target.run("ROLLBACK TO write")
                self.mode = after

    def _merge(self, payload):
        write = self.job.write
        self.target.run(write["clear"])
        self.target.copy_in(write["copy"], payload)
        if self.mode == "fill":
            inserted = self.target.count({"text": write["fill"], "values": []}, {})
            return {**_NO_ROWS, "inserted": inserted}
        merged = _merged(self.target.select(write[self.mode])[0])
        duplicates = 0
        if self.mode == "newest":
            rows, keys = self.target.select(write["count"])
            duplicates = int(rows) - int(keys)
        return {**_NO_ROWS, **merged, "duplicates": duplicates}

    def _commit(self, counts, started):
        job, named = self.job, self.named
        written = time.monotonic()
        named["counts"] = json.dumps(counts)
        if len(self.target.rows(job.ledger["hold"], named)) != 1:
            raise Lost("The pipeline has another fence.")
        times = self._times(started, written)
        if job.is_main:
            self._record(self.target, counts, times)
        else:
            if self.target.count(job.ledger["complete"], named) != 1:
                raise Lost("The part was claimed again.")
            if not self.meta.rows(job.parts["renew"], named):
                raise Lost("The part was claimed again.")
        failpoint("part.written")
        self.target.run("COMMIT")
        failpoint("part.committed")
        if not job.is_main:
            self._report(counts, times)

    def _times(self, started, written):
        now = time.monotonic()
        has_functions = bool(self.job.chain)
        return {
            "duration_ms": (now - started) * 1000,
            "read_ms": self.spent["read"] * 1000,
            "transform_ms": self.spent["transform"] * 1000 if has_functions else None,
            "write_ms": self.spent["write"] * 1000,
            "checkpoint_ms": (now - written) * 1000,
        }

    def _report(self, counts, times):
        """After the commit in another database than the main one."""
        self.meta.run("BEGIN")
        try:
            self._record(self.meta, counts, times)
            self.meta.run("COMMIT")
        except BaseException:
            _roll_back(self.meta)
            raise

    def _record(self, session, counts, times):
        """History and the line of the part."""
        plan, parts = self.job.plan, self.job.parts
        values = {**self.named, "read_ms": None, "transform_ms": None, **times}
        values.update({column: counts[name] for column, name in _COLUMNS.items()})
        values.update(rows_written=counts["inserted"] + counts["updated"], counts=json.dumps(counts))
        values.update(batch=plan["batchBefore"] + self.named["part"], step=plan["step"])
        for statement in (parts["count_rows"], parts["complete"]):
            if not session.rows(statement, values):
                raise Lost("The part was claimed again.")
        session.count(parts["record"], values)


def _merged(explained):
    """What a merge did, from EXPLAIN ANALYZE."""
    node = (json.loads(explained) if isinstance(explained, str) else explained)[0]["Plan"]
    inserted, conflicting = node.get("Tuples Inserted", 0), node.get("Conflicting Tuples", 0)
    is_update = node.get("Conflict Resolution") == "UPDATE"
    unchanged = node.get("Rows Removed by Conflict Filter", 0) if is_update else conflicting
    return {"inserted": int(inserted), "updated": int(conflicting - unchanged), "unchanged": int(unchanged)}


def _roll_back(session):
    _quietly(lambda: session.run("ROLLBACK"))


def _quietly(work):
    try:
        work()
    except psycopg.Error:
        pass
