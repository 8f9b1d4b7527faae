"""Started by a runner through spark-submit, never manually."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from vitrina._spark import main  # noqa: E402

main()
