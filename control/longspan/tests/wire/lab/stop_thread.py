"""Stops one thread of another process until SIGTERM, and then continues it. A signal would stop all threads.

    stop_thread.py THREAD"""

import ctypes
import os
import signal
import sys

# linux/ptrace.h and linux/wait.h; Python has no names for them.
PTRACE_DETACH = 17
PTRACE_SEIZE = 0x4206
PTRACE_INTERRUPT = 0x4207
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def main(thread):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    ptrace(PTRACE_SEIZE, thread)
    ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    print("stopped", flush=True)
    signal.sigwait([signal.SIGTERM])
    ptrace(PTRACE_DETACH, thread)


main(int(sys.argv[1]))
