"""The driver of a Spark job: one task for each open part of a run. Spark only schedules; a part is executed by _parts.

Started by a runner. What it needs arrives in one environment variable, with secrets; nothing is in its arguments. The
tasks get the secrets inside their serialized function, which is neither in the configuration nor in the UI of Spark.
"""

import functools
import io
import json
import os
import re
import socket
import sys
import threading
import time
import zipfile

_PROBLEM = "vitrina-problem "
_WATCH_EVERY_S = 2
_PSYCOPG = (
    "Install psycopg 3.2 or newer for the Python of the driver and of the executors (pip install 'psycopg[binary]'), or "
    "set spark.pyspark.python in the profile to a Python that has it."
)

#: Read by run id: whether the run is still held, and by which plan.
_PLAN = """
  SELECT r.parts_plan, r.pipeline_id::text, p.fence, p.status, p.lease_until >= clock_timestamp() AS alive, r.status AS run
    FROM etl.etl_runs r JOIN etl.etl_pipelines p ON p.id = r.pipeline_id AND p.current_run_id = r.id WHERE r.id = $1"""
_OPEN = "SELECT part FROM etl.etl_run_parts WHERE run_id = $1 AND status <> 'DONE' AND NOT by_runner ORDER BY part"


def main():
    access = json.loads(os.environ.pop("VITRINA_SPARK_JOB"))
    try:
        from ._sessions import Session
    except ImportError as error:
        _end("The driver cannot connect to PostgreSQL: %s (Python %s)." % (error, sys.executable), _PSYCOPG)
    meta = Session(access["meta"], "vitrina-spark", "SET search_path = ''")
    run = {"run": access["run"]}
    found = meta.rows({"text": _PLAN, "values": ["run"]}, run)
    if not found:
        _end("The run is no longer held.", "No action needed: the current holder of the run continues.")
    plan = found[0]["parts_plan"]
    access["pipeline"] = found[0]["pipeline_id"]
    parts = [row["part"] for row in meta.rows({"text": _OPEN, "values": ["run"]}, run)]
    context = _context(access)
    _watch(meta, run, plan)
    files = [_files_of(segment["folder"]) for segment in plan["job"]["transforms"]]
    # Without secrets: Spark stores broadcast values in files.
    shared = context.broadcast({"plan": plan, "files": files})
    task = functools.partial(run_part, access, shared)
    try:
        context.parallelize(parts, max(len(parts), 1)).map(task).collect()
    except Exception as error:
        _report_failure(error)
    context.stop()


def _context(access):
    from pyspark import SparkConf, SparkContext

    conf = SparkConf()
    for name, value in access.pop("conf").items():
        conf.set(name, value)
    context = SparkContext(conf=conf)
    context.setLogLevel("WARN")
    context.addPyFile(_package(context._temp_dir))
    return context


def _package(folder):
    """This package as a file that executors import from, in the folder of the job: Java removes it, also when the runner
    ends the driver."""
    here = os.path.dirname(os.path.abspath(__file__))
    path = os.path.join(folder, "vitrina.zip")
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(os.listdir(here)):
            if name.endswith(".py"):
                archive.write(os.path.join(here, name), "vitrina/" + name)
    return path


def _files_of(folder):
    """The Python files of a folder with tasks: they may import each other."""
    files = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith((".", "__"))]
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(place, name)
                with io.open(path, "rb") as file:
                    files[os.path.relpath(path, folder).replace(os.sep, "/")] = file.read()
    return files


def _watch(meta, run, plan):
    """Ends the driver when its run is lost: the runner that started it may be dead."""

    def is_ours():
        found = meta.rows({"text": _PLAN, "values": ["run"]}, run)
        if not found or found[0]["fence"] != plan["fence"] or found[0]["run"] != "RUNNING":
            return False
        return (found[0]["parts_plan"] or {}).get("snapshot") == plan["snapshot"]

    def work():
        import psycopg

        failures = 0
        while True:
            time.sleep(_WATCH_EVERY_S)
            try:
                failures = 0 if is_ours() else 3
            except psycopg.Error:
                failures += 1
            if failures >= 3:
                # Java ends when this process does.
                os._exit(3)

    threading.Thread(target=work, daemon=True).start()


_jobs = {}


def run_part(access, shared, part):
    """In an executor. Functions are loaded once for each of its processes."""
    try:
        from . import _parts
    except ImportError as error:
        raise _problem("An executor cannot connect to PostgreSQL: %s (Python %s)." % (error, sys.executable), _PSYCOPG)
    job = _jobs.get(access["run"])
    if job is None:
        try:
            job = _parts.Job(shared.value["plan"], access, shared.value["files"])
        except RuntimeError as error:
            raise _problem(str(error), "Install what the file imports for the Python of the executors.")
        _jobs[access["run"]] = job
    from pyspark import TaskContext

    owner = "spark:%s:%d:%d" % (socket.gethostname(), os.getpid(), TaskContext.get().taskAttemptId())
    return _parts.execute(job, part, owner)


def _problem(message, hint):
    return RuntimeError(_PROBLEM + json.dumps({"message": message, "hint": hint}))


def _report_failure(error):
    """The line that says what is wrong, in the report of Spark; otherwise its last line."""
    text = str(error)
    found = re.search(re.escape(_PROBLEM) + r"\{[^\n]*\}", text)
    if found is not None:
        print(found.group(), flush=True)
    else:
        print(text, file=sys.stderr, flush=True)
    sys.exit(1)


def _end(message, hint):
    print(_PROBLEM + json.dumps({"message": message, "hint": hint}), flush=True)
    sys.exit(1)
