"""The initial synchronisation of pgsync. Its triggers, its view and its replication slot are made before and not counted.

Prints the seconds of that; the start of Python is not counted.
"""

import sys
import time

from pgsync.sync import Sync
from pgsync.utils import config_loader

config, step = sys.argv[1:]
[document] = list(config_loader(config=config))
if step == "teardown":
    Sync(document, validate=False, repl_slots=False).teardown()
else:
    Sync(document, validate=True, repl_slots=False).setup()
    sync = Sync(document)
    began = time.perf_counter()
    sync.pull()
    sync.search_client.refresh([sync.index])
    print()
    print(time.perf_counter() - began)
