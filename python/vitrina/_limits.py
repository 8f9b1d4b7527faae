"""What keeps a function from harming more than itself."""

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
    # A crash is told by its signal; nobody looks for a core file of this size.
    _lower(resource, resource.RLIMIT_CORE, 0)


def _lower(resource, which, wanted):
    _soft, hard = resource.getrlimit(which)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(which, (limit, limit))
    except (ValueError, OSError):
        pass


def die_with(parent):
    """A host whose runner was killed has nobody to answer to, also when it is in the middle of a long function."""
    if sys.platform.startswith("linux"):
        try:
            import ctypes

            ctypes.CDLL(None).prctl(1, 9)
        except Exception:
            pass
    if os.getppid() != parent:
        os._exit(0)


def refuse_processes(getpid=os.getpid):
    """Their output, their memory and their end would be out of our hands."""
    me = getpid()

    def audit(event, args):
        if event in _PROCESSES:
            raise ProcessRefused("a transform may not start processes (%s)" % event)
        if event in ("os.kill", "os.killpg") and args[0] not in (me, 0):
            raise ProcessRefused("a transform may not send signals to other processes")

    sys.addaudithook(audit)
