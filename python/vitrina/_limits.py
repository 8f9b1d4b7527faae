"""Limits what a function can affect outside itself."""

import os
import sys

from ._report import ProcessRefused

_PROCESSES = frozenset(
    ["os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "subprocess.Popen"]
)


def bound_memory(megabytes):
    try:
        import resource
    except ImportError:
        return
    _lower(resource, resource.RLIMIT_AS, megabytes * 1024 * 1024)
    # The signal already reports a crash; a core file of this size has no use.
    _lower(resource, resource.RLIMIT_CORE, 0)


def _lower(resource, which, wanted):
    _soft, hard = resource.getrlimit(which)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (limit, limit))
    except (ValueError, OSError):
        pass


def die_with(parent):
    """Ends a host whose runner was killed, even in the middle of a long function."""
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(1, 9)
        except Exception:
            pass
    if os.getppid() != parent:
        os._exit(0)


def refuse_processes(getpid=os.getpid):
    """Their output, their memory and their end would be beyond our control."""
    me = getpid()

    def audit(event, args):
        if event in _PROCESSES:
            raise ProcessRefused("a transform must not start processes (%s)" % event)
        if event in ("os.kill", "os.killpg") and args[0] not in (me, 0):
            raise ProcessRefused("a transform must not send signals to other processes")

    sys.addaudithook(audit)
