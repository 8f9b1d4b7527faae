"""Problems with the result of a function."""


class Refused(Exception):
    """The result cannot be rows of the mart. `row` and `column` give the place, if known; `sample` shows the row."""

    def __init__(self, what, row=None, column=None, hint=None, sample=None):
        super().__init__(what)
        self.what = what
        self.row = row
        self.column = column
        self.hint = hint
        self.sample = sample


_DEEPEST = 4


def shown(value, limit=120, depth=0):
    """A readable value: bounded, and without running user code."""
    kind = type(value)
    if depth > _DEEPEST and kind in (dict, list, tuple, set):
        return "…"
    if kind.__module__ not in ("builtins", "decimal", "datetime", "uuid"):
        return "<%s>" % kind.__name__
    if kind is dict:
        return _joined(("%s: %s" % (shown(k, 60, depth + 1), shown(v, 80, depth + 1)) for k, v in value.items()), "{%s}", limit)
    if kind in (list, tuple, set):
        return _joined((shown(v, 60, depth + 1) for v in value), "[%s]", limit)
    if kind in (str, bytes, bytearray) and len(value) > limit:
        value = value[:limit]
    text = repr(value) if kind is not int or value.bit_length() < 2000 else "<a very large int>"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _joined(texts, around, limit):
    parts, length = [], 0
    for text in texts:
        parts.append(text)
        length += len(text) + 2
        if length > limit:
            parts.append("…")
            break
    return around % ", ".join(parts)


def named(value):
    return "None" if value is None else "%s %s" % (type(value).__name__, shown(value))
