"""Sessions of PostgreSQL for an executor. Needs psycopg 3.2 or newer."""

import re

import psycopg

#: The administrator, a crash or a time-out ended the session, or it never began.
_LOST = re.compile(r"08|57P0[1-5]|25P0[34]")
#: A deadlock, a lock that was not granted in time: it may succeed the next time.
_TEMPORARY = re.compile(r"40|55P03|53")


def is_lost(error):
    return error.sqlstate is None or _LOST.match(error.sqlstate) is not None


def is_temporary(error):
    return is_lost(error) or _TEMPORARY.match(error.sqlstate) is not None


class Session:
    """One connection. Statements are those of the runner, with $1, $2; values are sent as text, as it does."""

    def __init__(self, url, name, settings):
        self.connection = psycopg.connect(
            url,
            autocommit=True,
            application_name=name,
            connect_timeout=10,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=3,
            cursor_factory=psycopg.RawCursor,
        )
        # A pooler may give the next statement to another session.
        self.connection.prepare_threshold = None
        self.run(settings)

    def run(self, text):
        """Statements without values; one text may contain several."""
        self.connection.execute(text)

    def rows(self, statement, named):
        cursor = self._execute(statement, named)
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    def count(self, statement, named):
        return self._execute(statement, named).rowcount

    def select(self, text):
        """The first row."""
        return self.connection.execute(text).fetchone()

    def copy(self, text):
        return self.connection.cursor().copy(text)

    def copy_in(self, text, payload):
        with self.copy(text) as copy:
            copy.write(payload)

    def cancel(self):
        """From another thread."""
        try:
            self.connection.cancel()
        except psycopg.Error:
            pass

    def close(self):
        try:
            self.connection.close()
        except psycopg.Error:
            pass

    def _execute(self, statement, named):
        values = [_text(named[name]) for name in statement["values"]]
        return self.connection.execute(statement["text"], values)


def _text(value):
    return value if value is None or isinstance(value, str) else str(value)
