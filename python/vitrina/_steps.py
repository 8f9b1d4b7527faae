"""Consecutive functions over batches of COPY text, as the host and the executors of an engine run them."""

from ._codec import Codec, Column, checked


class Steps:
    """`name` and `rows` describe the function that is called, for the report of an error."""

    def __init__(self, functions, described):
        incoming = _columns(described["columns"])
        self.steps = [(one["name"], functions[one["name"]], _columns(one["columns"])) for one in described["steps"]]
        self.codec = Codec(incoming, self.steps[-1][2])
        self.name, self.rows = self.steps[0][0], []

    def run(self, payload, count, mark):
        """The resulting COPY text and its number of rows. `mark` is called before each function."""
        self.name, self.rows = self.steps[0][0], []
        self.rows, before = self.codec.decode(payload, count)
        values = []
        for name, function, columns in self.steps:
            self.name = name
            mark(name)
            self.rows, values = (
                checked(function(self.rows), columns) if self.rows else (self.rows, [[] for _ in columns])
            )
        return self.codec.encode(values, before), len(self.rows)


def _columns(described):
    return [Column(one["name"], one["type"]) for one in described]
