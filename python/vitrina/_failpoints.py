"""Named places where tests kill or freeze an executor; the same as in the runner."""

import os
import re
import signal

_ARMED = re.compile(r"([a-z.]+)(?:@(\d+))?=(kill|freeze)\Z").match(os.environ.get("VITRINA_FAILPOINT", ""))
_passed = 0


def failpoint(name):
    global _passed
    if _ARMED is None or _ARMED.group(1) != name:
        return
    _passed += 1
    if _passed == int(_ARMED.group(2) or 1):
        os.kill(os.getpid(), signal.SIGKILL if _ARMED.group(3) == "kill" else signal.SIGSTOP)
