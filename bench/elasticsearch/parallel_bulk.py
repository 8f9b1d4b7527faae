"""elasticsearch-py as its manual shows it: documents from a server-side cursor into helpers.parallel_bulk.

Prints the seconds from the first query to the refresh; the start of Python is not counted.
"""

import sys
import time

import psycopg
from elasticsearch import Elasticsearch, helpers
from psycopg.rows import dict_row

database, address, index, query, threads, chunk, operation = sys.argv[1:]


def actions(cursor):
    for row in cursor:
        if operation == "index":
            yield {"_index": index, "_id": row["id"], "_source": row}
        else:
            yield {"_op_type": "update", "_index": index, "_id": row["id"], "doc": row, "doc_as_upsert": True}


client = Elasticsearch(address, request_timeout=120)
with psycopg.connect(database, row_factory=dict_row) as connection:
    began = time.perf_counter()
    with connection.cursor(name="rows") as cursor:
        cursor.itersize = 10_000
        cursor.execute(query)
        for ok, item in helpers.parallel_bulk(
            client, actions(cursor), thread_count=int(threads), chunk_size=int(chunk), queue_size=int(threads)
        ):
            if not ok:
                raise SystemExit(f"refused: {item}")
    client.indices.refresh(index=index)
    print(time.perf_counter() - began)
