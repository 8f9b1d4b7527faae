"""Runs each task file once and reports what it registered."""

import importlib
import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader

from . import _registered
from ._report import problem_of


class _FreshLoader(SourceFileLoader):
    """Never from __pycache__: two versions of a file within one second look the same there."""

    def path_stats(self, path):
        raise OSError("not cached")


class Loader:
    def __init__(self, folder, describe):
        self.folder = folder
        self.describe = describe
        self.functions = {}
        # After everything else: a task file called random.py must not replace Python's own.
        sys.path.append(folder)

    def load(self, name):
        """The tasks that the file registered, or why it could not be loaded."""
        del _registered[:]
        problem = None
        try:
            self._run(name)
        except BaseException as error:
            problem = problem_of(error)
        return {"file": name, "tasks": [self._described(one, name) for one in _registered], "problem": problem}

    def _run(self, name):
        path = os.path.join(self.folder, *name.split("/"))
        module_name = self._module_name(name, path)
        if module_name is None:
            return
        spec = importlib.util.spec_from_file_location(module_name, path, loader=_FreshLoader(module_name, path))
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(module_name, None)
            raise

    def _module_name(self, name, path):
        """The module name that another task file would import; None if it has been imported already."""
        natural = name[: -len(".py")].replace("/", ".")
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == path:
                return None
        own = "vitrina_task_" + natural.replace(".", "_")
        if natural in sys.modules:
            return own
        try:
            spec = importlib.util.find_spec(natural)
        except Exception:
            return own
        return natural if spec is not None and spec.origin == path else own

    def _described(self, registered, loading):
        function, name = registered["function"], registered["name"]
        file, line = self._place(function, loading)
        self.functions[name] = function
        described = {"name": name, "file": file, "line": line}
        described.update(adds=registered["adds"], drops=registered["drops"], signature="", doc="")
        if self.describe:
            described.update(_description(function))
        return described

    def _place(self, function, loading):
        while hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        code = getattr(function, "__code__", None)
        if code is None:
            return loading, 1
        relative = os.path.relpath(code.co_filename, self.folder)
        inside = not relative.startswith("..")
        return (relative.replace(os.sep, "/") if inside else loading), code.co_firstlineno


def _description(function):
    import inspect

    name = getattr(function, "__name__", type(function).__name__)
    try:
        signature = name + str(inspect.signature(function))
    except (TypeError, ValueError):
        signature = name + "(…)"
    doc = inspect.getdoc(function) if getattr(function, "__doc__", None) else ""
    return {"signature": signature[:500], "doc": (doc or "")[:4000]}
