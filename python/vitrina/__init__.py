"""Register functions that Vitrina runs over rows.

    from vitrina import task

    @task("demo_film_dim")
    def demo_film_dim(rows):
        return [{**row, "title": row["title"].strip()} for row in rows]

Put a file with such functions into the folder VITRINA_PYTHON_TASKS.
"""

__all__ = ["task", "JsonNull"]


class _JsonNull:
    """The JSON value null, as opposed to SQL NULL (None): a jsonb column can hold either."""

    __slots__ = ()

    def __bool__(self):
        return False

    def __repr__(self):
        return "JsonNull"

    def __copy__(self):
        return self

    def __deepcopy__(self, _memo):
        return self


JsonNull = _JsonNull()

# Registered tasks, in order; the host reads them after each file.
_registered = []


def task(name=None, *, adds=None, drops=()):
    """Registers a function rows -> rows under a name.

    adds: columns that the function adds, or whose type it changes, with their PostgreSQL types: {"segment": "text"}.
    drops: columns that it drops.
    """
    if callable(name):
        return _register(name, None, {}, ())
    return lambda function: _register(function, name, adds, drops)


def _register(function, name, adds, drops):
    if not callable(function):
        raise TypeError("@task must be applied to a function, got %s" % type(function).__name__)
    own = getattr(function, "__name__", type(function).__name__)
    name = own if name is None else name
    if not isinstance(name, str):
        raise TypeError('@task requires a name, as in @task("clean_titles"), got %s' % type(name).__name__)
    code = getattr(function, "__code__", None)
    # 0x80 coroutine, 0x200 asynchronous generator: batches are processed one after another.
    if code is not None and code.co_flags & 0x280:
        raise TypeError("%s is async; a task must be a plain function" % own)
    _registered.append(
        {"name": name, "function": function, "adds": _columns(adds, name), "drops": _names(drops, name)}
    )
    return function


def _columns(adds, name):
    adds = {} if adds is None else adds
    if not isinstance(adds, dict) or not all(isinstance(text, str) for pair in adds.items() for text in pair):
        raise TypeError('adds of task "%s" must be a dict of column: type, as {"segment": "text"}' % name)
    return dict(adds)


def _names(drops, name):
    drops = () if drops is None else drops
    if isinstance(drops, str) or not all(isinstance(column, str) for column in drops):
        raise TypeError('drops of task "%s" must be a list of columns, as ["raw"]' % name)
    return list(drops)
