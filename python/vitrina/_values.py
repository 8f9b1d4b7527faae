"""Converts values between PostgreSQL's text and Python, kind by kind.

A reader takes the text of a value; what Python's type cannot hold (infinity, years beyond 9999 or BC, 24:00) stays
text. A writer takes whatever a function returned and gives text in PostgreSQL's format, or raises Refused.
"""

import json
import os
import re
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from operator import index
from uuid import UUID, SafeUUID

from . import JsonNull
from ._problems import Refused, named

UTC = timezone.utc


# Reading


def _uuid_reader():
    """UUID() checks five kinds of arguments; setting its two fields takes a third of the time."""
    new, unknown = UUID.__new__, SafeUUID.unknown
    try:
        set_int, set_safe = UUID.int.__set__, UUID.is_safe.__set__
    except AttributeError:
        return UUID

    def read_uuid(text):
        value = new(UUID)
        set_int(value, int(text.replace("-", ""), 16))
        set_safe(value, unknown)
        return value

    probe = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    return read_uuid if read_uuid(probe) == UUID(probe) and str(read_uuid(probe)) == probe else UUID


_OLD_STAMP = re.compile(r"(\d{4}-\d\d-\d\d )?(\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([+-]\d\d)?(:\d\d)?(:\d\d)?\Z")


def _spelled_out(text):
    """Before 3.11, fromisoformat requires all six digits and minutes in the offset."""
    found = _OLD_STAMP.match(text)
    if found is None:
        raise ValueError(text)
    day, clock, fraction, hours, minutes, seconds = found.groups()
    offset = "" if hours is None else hours + (minutes or ":00") + (seconds or "")
    return (day or "") + clock + ("" if fraction is None else "." + fraction.ljust(6, "0")) + offset


if sys.version_info >= (3, 11):
    read_stamp, read_time = datetime.fromisoformat, time.fromisoformat
else:

    def read_stamp(text):
        return datetime.fromisoformat(_spelled_out(text))

    def read_time(text):
        return time.fromisoformat(_spelled_out(text))


def read_clock(text):
    # Newer Pythons would read 24:00 as the beginning of the day.
    if text.startswith("24"):
        raise ValueError(text)
    return read_time(text)


def read_bytes(text):
    return bytes.fromhex(text[2:])


_parse_json = json.JSONDecoder(parse_float=Decimal, strict=False).decode


def read_json(text):
    value = _parse_json(text)
    return JsonNull if value is None else value


def array_reader(element):
    plain = re.compile(r'[{}"\\]').search

    def read_array(text):
        inner = text[1:-1]
        if text[0] == "{" and plain(inner) is None:
            if inner == "":
                return []
            return [None if one == "NULL" else element(one) for one in inner.split(",")]
        return _ArrayText(text, element).read()

    return read_array


class _ArrayText:
    """`{a,"b,c",NULL,{…}}`, with bounds in front when they do not begin at 1."""

    _PLAIN = re.compile(r"(?:[^,}\\]|\\.)+", re.S)
    _QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
    _ESCAPE = re.compile(r"\\(.)", re.S)

    def __init__(self, text, element):
        self.text = text
        self.element = element
        self.at = text.index("=") + 1 if text[0] == "[" else 0

    def read(self):
        values = []
        self.at += 1
        while self.text[self.at] != "}":
            if self.text[self.at] == ",":
                self.at += 1
            values.append(self.one())
        self.at += 1
        return values

    def one(self):
        if self.text[self.at] == "{":
            return self.read()
        found = self._QUOTED.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
            return self.element(self._ESCAPE.sub(r"\1", found.group(1)))
        found = self._PLAIN.match(self.text, self.at)
        self.at = found.end()
        one = found.group()
        return None if one == "NULL" else self.element(self._ESCAPE.sub(r"\1", one))


READERS = {
    "boolean": "t".__eq__,
    "int2": int,
    "int4": int,
    "int8": int,
    "numeric": Decimal,
    "float4": float,
    "float8": float,
    "uuid": _uuid_reader(),
    "date": date.fromisoformat,
    "time": read_clock,
    "timetz": read_clock,
    "timestamp": read_stamp,
    "timestamptz": read_stamp,
    "bytea": read_bytes,
    "json": read_json,
    "jsonb": read_json,
}


def lenient(reader):
    """What does not fit stays text, and is returned unchanged."""

    def read(text):
        try:
            return reader(text)
        except (ValueError, OverflowError, InvalidOperation, RecursionError):
            return text

    return read


# Writing


def write_boolean(value):
    if value is True:
        return "t"
    if value is False:
        return "f"
    if isinstance(value, str) and value in ("t", "f", "true", "false"):
        return value[0]
    raise Refused("requires True or False, got " + named(value))


def write_int(value):
    if isinstance(value, bool) or (isinstance(value, Decimal) and not value.is_finite()):
        raise Refused("requires an int, got " + named(value))
    if isinstance(value, (float, Decimal)) and value % 1 == 0:
        return str(int(value))
    try:
        return str(int(value)) if isinstance(value, str) else str(index(value))
    except (TypeError, ValueError):
        raise Refused("requires an int, got " + named(value)) from None


def write_numeric(value):
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, float):
        text = float_text(value)
        return _decimal_text(Decimal(text)) if "e" in text else text
    if isinstance(value, str):
        try:
            return _decimal_text(Decimal(value))
        except InvalidOperation:
            raise Refused("requires a Decimal, got " + named(value)) from None
    return _number(value, "a Decimal, int or float")


def _decimal_text(value):
    """Without an exponent, in PostgreSQL's format: not every target accepts one."""
    text = Decimal.__str__(value)
    if "E" in text and -20000 < value.adjusted() < 20000:
        return Decimal.__format__(value, "f")
    if "sNaN" in text:
        raise Refused("cannot store a signalling NaN")
    return "NaN" if "NaN" in text else text


def write_float(value):
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, Decimal):
        return _decimal_text(value)
    if isinstance(value, str):
        try:
            return float_text(float(value))
        except ValueError:
            raise Refused("requires a float, got " + named(value)) from None
    return _number(value, "a float, int or Decimal")


def float_text(value):
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return float.__repr__(value)


def _number(value, wanted):
    if not isinstance(value, bool):
        try:
            return str(index(value))
        except TypeError:
            pass
    raise Refused("requires %s, got %s" % (wanted, named(value)))


def write_text(value):
    if isinstance(value, str):
        return str.__str__(value)
    raise Refused("requires a str, got " + named(value), hint="Write str(value) in the function.")


def write_uuid(value):
    if isinstance(value, UUID):
        return str(value)
    try:
        return str(UUID(value)) if isinstance(value, str) else _refuse_uuid(value)
    except ValueError:
        return _refuse_uuid(value)


def _refuse_uuid(value):
    raise Refused("requires a UUID, got " + named(value))


def write_date(value):
    if isinstance(value, datetime):
        if datetime.time(value) != time(0) or value.tzinfo is not None:
            raise Refused("requires a date, got " + named(value), hint="Write value.date() in the function.")
        return date.isoformat(datetime.date(value))
    return _moment(value, date, date.isoformat, "a date")


def write_time(value):
    if isinstance(value, time) and value.tzinfo is not None:
        raise Refused("requires a time without time zone, got " + named(value))
    return _moment(value, time, time.isoformat, "a time")


def write_timetz(value):
    if isinstance(value, time) and value.tzinfo is None:
        raise Refused("requires a time with time zone, got " + named(value))
    return _moment(value, time, time.isoformat, "a time with time zone")


def write_timestamp(value):
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            raise Refused(
                "requires a datetime without time zone, got " + named(value),
                hint="Write value.astimezone(timezone.utc).replace(tzinfo=None), or declare the column as timestamptz.",
            )
        return _trimmed(datetime.isoformat(value, " "))
    return _moment(value, date, date.isoformat, "a datetime")


def write_timestamptz(value):
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            raise Refused(
                "requires a datetime with time zone, got " + named(value),
                hint="Write datetime.now(timezone.utc), or value.replace(tzinfo=timezone.utc) if it is UTC.",
            )
        try:
            value = value.astimezone(UTC)
        except OverflowError:
            return datetime.isoformat(value, " ")
        return _trimmed(datetime.isoformat(value, " ")[:-6]) + "+00"
    return _moment(value, datetime, None, "a datetime with time zone")


def _trimmed(text):
    return text.rstrip("0") if "." in text else text


def _moment(value, kind, write, wanted):
    """Text is accepted if the database may have written it itself: infinity, 0044-03-15 BC."""
    if isinstance(value, kind):
        return _trimmed(write(value)) if kind is time and value.tzinfo is None else write(value)
    if isinstance(value, str) and _MOMENT.match(value) is not None:
        return str.__str__(value)
    raise Refused("requires %s, got %s" % (wanted, named(value)))


_MOMENT = re.compile(r"-?infinity\Z|\d[\d:.T+ -]*(?:Z| ?BC)?\Z")


def write_interval(value):
    if isinstance(value, timedelta):
        clock = value.seconds + value.microseconds / 1_000_000
        return "%d days %.6f seconds" % (value.days, clock)
    if isinstance(value, str):
        return str.__str__(value)
    raise Refused("requires a str such as '1 day 02:00:00', or a timedelta, got " + named(value))


def write_bytes(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "\\x" + value.hex()
    raise Refused("requires bytes, got " + named(value), hint="Write value.encode() if it is text.")


# Decimals in JSON: the standard encoder does not support them, so each is replaced by a mark until the end.
_MARK = "\x01" + os.urandom(12).hex()
_MARKS = re.compile('"\\\\u0001' + _MARK[1:] + '"')


def write_json(value):
    if value is JsonNull:
        return "null"
    found = []

    def unknown(one):
        if isinstance(one, Decimal) and one.is_finite():
            found.append(Decimal.__str__(one))
            return _MARK
        if one is JsonNull:
            return None
        raise Refused("cannot contain %s: JSON has no such value" % named(one))

    try:
        text = _json_encoder(unknown).encode(value)
    except RecursionError:
        raise Refused("cannot be converted to JSON: it is nested too deep") from None
    except (TypeError, ValueError) as error:
        raise Refused("cannot be converted to JSON: %s" % str(error)[:200]) from None
    if found:
        rest = iter(found)
        text = _MARKS.sub(lambda _mark: next(rest), text)
    return text


def _json_encoder(unknown, encoder=json.JSONEncoder):
    return encoder(ensure_ascii=False, allow_nan=False, default=unknown)


_NEEDS_QUOTES = re.compile(r'[{}",\\\s]|\Anull\Z|\A\Z', re.I)
_SPECIAL = re.compile(r'(["\\])')


def array_writer(element):
    # In an array of JSON a list is a value, not another dimension.
    nests = element is not write_json

    def write_one(value):
        if value is None:
            return "NULL"
        if nests and isinstance(value, (list, tuple)):
            return write_array(value)
        text = element(value)
        return text if _NEEDS_QUOTES.search(text) is None else '"%s"' % _SPECIAL.sub(r"\\\1", text)

    def write_array(value):
        if isinstance(value, (list, tuple)):
            return "{" + ",".join(map(write_one, value)) + "}"
        raise Refused("requires a list, got " + named(value))

    def write(value):
        # An array whose text could not be parsed arrived as text, and may be returned as text.
        return str.__str__(value) if isinstance(value, str) and value[:1] in "{[" else write_array(value)

    return write


WRITERS = {
    "boolean": write_boolean,
    "int2": write_int,
    "int4": write_int,
    "int8": write_int,
    "numeric": write_numeric,
    "float4": write_float,
    "float8": write_float,
    "text": write_text,
    "uuid": write_uuid,
    "date": write_date,
    "time": write_time,
    "timetz": write_timetz,
    "timestamp": write_timestamp,
    "timestamptz": write_timestamptz,
    "interval": write_interval,
    "bytea": write_bytes,
    "json": write_json,
    "jsonb": write_json,
    "other": write_text,
}
