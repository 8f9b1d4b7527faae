"""Batches of COPY text, decoded into rows and encoded again, column by column.

A value that is returned as the same object keeps its original text: nothing is encoded again, so nothing can be lost.
Lists and dicts may have been changed in place; they are encoded and compared with their text.
"""

import re
from operator import is_, itemgetter

from ._problems import Refused, named
from ._values import READERS, WRITERS, array_reader, array_writer, lenient

NoneType = type(None)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPED = re.compile(r"\\(.)", re.S)
_SPECIALS = "\\\t\n\r\b\f\v"
_TO_ESCAPE = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v"}
)
#: Kinds whose text never contains a character that COPY escapes.
_BARE = {"boolean", "int2", "int4", "int8", "numeric", "float4", "float8", "uuid", "date", "time", "timetz"}
_BARE |= {"timestamp", "timestamptz"}


def unescape(text):
    return None if text == "\\N" else _ESCAPED.sub(_unescaped, text)


def _unescaped(found):
    letter = found.group(1)
    return _ESCAPES.get(letter, letter)


def escape(text):
    """Few texts need escapes; checking is cheaper than translating."""
    for special in _SPECIALS:
        if special in text:
            return text.translate(_TO_ESCAPE)
    return text


class Column:
    """One column with the functions that read and write its values."""

    def __init__(self, name, kind):
        self.name = name
        self.kind = kind["kind"]
        self.type = kind
        self.get = itemgetter(name)
        self.reader = _reader(kind)
        self.lenient = None if self.reader is None else lenient(self.reader)
        self.writer = _writer(kind)
        self.is_mutable = self.kind in ("array", "json", "jsonb")
        self.is_bare = self.kind in _BARE

    def read(self, raw, has_escapes):
        """The texts without their escapes, and the values."""
        texts = [one if "\\" not in one else unescape(one) for one in raw] if has_escapes else raw
        if self.reader is None:
            return texts, texts
        try:
            if None in texts:
                reader = self.reader
                return texts, [None if one is None else reader(one) for one in texts]
            return texts, list(map(self.reader, texts))
        except Exception:
            reader = self.lenient
            return texts, [None if one is None else reader(one) for one in texts]

    def write(self, values, before):
        """The values as COPY text."""
        if before is not None and not self.is_mutable:
            if len(values) == len(before.values) and all(map(is_, values, before.values)):
                return before.raw
        quick = self._write_quickly(values)
        if quick is not None:
            return quick
        if before is None:
            return [self._write_one(value, place) for place, value in enumerate(values)]
        if self.is_mutable:
            return self._write_compared(values, before)
        texts = list(map(before.text_of(), map(id, values)))
        return [self._write_one(values[n], n) if text is None else text for n, text in enumerate(texts)]

    def _write_quickly(self, values):
        """All values have the column's type, and nothing needs an escape."""
        types = set(map(type, values))
        if self.kind == "text" and types == {str}:
            together = "".join(values)
            if "\0" not in together and not any(special in together for special in _SPECIALS):
                return values
        elif self.kind in ("int2", "int4", "int8") and types == {int}:
            return list(map(str, values))
        return None

    def _write_compared(self, values, before):
        """Lists and dicts: the original text, if the content is still the same."""
        place_of = before.places().get
        texts = []
        for place, value in enumerate(values):
            came = None if value is None else place_of(id(value))
            same = came is not None and self._says_the_same(value, before.texts[came])
            texts.append(before.raw[came] if same else self._write_one(value, place))
        return texts

    def _says_the_same(self, value, text):
        try:
            now = self.writer(value)
            return now == text or now == self.writer(self.lenient(text))
        except Refused:
            return False

    def _write_one(self, value, place):
        if value is None:
            return "\\N"
        try:
            text = self.writer(value)
            if self.is_bare:
                return text
            if "\0" in text:
                raise Refused("cannot contain the NUL character, got " + named(value))
            text.encode()
            return escape(text)
        except UnicodeEncodeError:
            raise Refused("cannot contain half of a surrogate pair, got " + named(value), place, self) from None
        except Refused as refused:
            refused.row, refused.column = place, self
            raise


class Before:
    """An input column: its COPY text, the same without escapes, and the decoded values."""

    def __init__(self, raw, texts, values):
        self.raw = raw
        self.texts = texts
        self.values = values

    def text_of(self):
        """The COPY text of a value by its id. While `values` holds them, no other object has the same id."""
        return dict(zip(map(id, self.values), self.raw)).get

    def places(self):
        return {id(value): place for place, value in enumerate(self.values)}


def _reader(kind):
    if kind["kind"] == "array":
        element = _reader(kind["of"])
        return array_reader(str if element is None else lenient(element))
    return READERS.get(kind["kind"])


def _writer(kind):
    if kind["kind"] == "array":
        return array_writer(_writer(kind["of"]))
    return WRITERS[kind["kind"]]


def row_maker(columns):
    """A function values -> rows, generated for these columns: twice as fast as dict(zip(names, values))."""
    names = ["v%d" % place for place in range(len(columns))]
    pairs = ", ".join("%r: %s" % (column.name, name) for column, name in zip(columns, names))
    return eval("lambda rows: [{%s} for %s, in rows]" % (pairs, ", ".join(names)), {"__builtins__": {}})


class Codec:
    """Input and output columns of one chain."""

    def __init__(self, incoming, outgoing):
        self.incoming = incoming
        self.outgoing = outgoing
        self.make_rows = row_maker(incoming)
        places = {column.name: place for place, column in enumerate(incoming)}
        #: For each output column, the input column; None for a new one or one with another type.
        self.origins = [
            places.get(one.name) if one.name in places and incoming[places[one.name]].type == one.type else None
            for one in outgoing
        ]

    def decode(self, payload, count):
        text = str(payload, "utf-8")
        cells = text.replace("\n", "\t").split("\t")
        cells.pop()
        width = len(self.incoming)
        if len(cells) != width * count:
            raise ValueError("%d cells for %d rows of %d columns" % (len(cells), count, width))
        has_escapes = "\\" in text
        before = []
        for place, column in enumerate(self.incoming):
            raw = cells[place::width]
            before.append(Before(raw, *column.read(raw, has_escapes)))
        return self.make_rows(zip(*[one.values for one in before])), before

    def encode(self, values, before):
        texts = [
            column.write(values[place], None if origin is None else before[origin])
            for place, (column, origin) in enumerate(zip(self.outgoing, self.origins))
        ]
        try:
            return "".join([line + "\n" for line in map("\t".join, zip(*texts))]).encode()
        except UnicodeEncodeError:
            raise self._half_character(texts) from None

    def _half_character(self, texts):
        for column, cells in zip(self.outgoing, texts):
            for place, text in enumerate(cells):
                if any("\ud800" <= one <= "\udfff" for one in text):
                    return Refused("cannot contain half of a surrogate pair, got " + named(text), place, column)
        return Refused("half of a surrogate pair")


def checked(result, columns):
    """The result as rows with exactly these columns, and their values column by column."""
    rows = _as_list(result)
    if not (set(map(type, rows)) <= {dict} and set(map(len, rows)) <= {len(columns)}):
        rows = [_checked_row(row, place, columns) for place, row in enumerate(rows)]
    try:
        return rows, [list(map(column.get, rows)) for column in columns]
    except KeyError:
        rows = [_checked_row(row, place, columns) for place, row in enumerate(rows)]
        return rows, [list(map(column.get, rows)) for column in columns]


def _as_list(result):
    if isinstance(result, list):
        return result
    if result is None:
        raise Refused("it returned None, not rows", hint='End the function with "return rows".')
    if isinstance(result, (dict, str, bytes)) or not hasattr(result, "__iter__"):
        raise Refused("it returned %s, not a list of rows" % named(result), hint="Return a list of dicts.")
    return list(result)


def _checked_row(row, place, columns):
    if not isinstance(row, dict):
        row = _as_dict(row, place)
    missing = next((column.name for column in columns if column.name not in row), None)
    if missing is not None:
        raise Refused(
            'a row has no column "%s"' % missing,
            place,
            hint='Include it in every row, or declare that it is dropped: @task(…, drops=["%s"]).' % missing,
            sample=row,
        )
    if len(row) > len(columns):
        known = {column.name for column in columns}
        extra = next(name for name in row if name not in known)
        raise Refused(
            "a row has the column %s, which is not declared" % shown_name(extra),
            place,
            hint='Declare it with its PostgreSQL type: @task(…, adds={"%s": "text"}).' % extra,
            sample=row,
        )
    return row


def _as_dict(row, place):
    """Also accepts objects that behave like a dict, such as sqlite3.Row."""
    try:
        return {key: row[key] for key in row.keys()}
    except Exception:
        raise Refused("a row is %s, not a dict" % named(row), place, hint="Return a list of dicts.") from None


def shown_name(name):
    return '"%s"' % name[:100] if isinstance(name, str) else named(name)
