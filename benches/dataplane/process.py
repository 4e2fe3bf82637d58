"""Children of the benchmark: each has a log, is waited for with a limit, and is ended by us alone."""

import contextlib
import subprocess
import time

START_SECONDS = 60
STOP_SECONDS = 15


class Failed(Exception):
    """A contender did not do what it should; the message says which and why."""


@contextlib.contextmanager
def child(name, command, log_path, stop=None, **options):
    """Runs `command` until the block is left, its output in `log_path`. `stop` asks it to end in its own
    way; otherwise it gets SIGTERM, and SIGKILL where that does not help."""
    with open(log_path, "wb") as log:
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, **options
        )
    process.name, process.log_path = name, log_path
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            (stop or subprocess.Popen.terminate)(process)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def log_of(process):
    with open(process.log_path, encoding="utf-8", errors="replace") as log:
        return log.read()


def wait_until(process, condition, what, seconds=START_SECONDS):
    """Waits until `condition()` holds, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        ended = process.poll()
        if ended is not None or time.monotonic() > deadline:
            why = f"ended with status {ended}" if ended is not None else f"not within {seconds} s"
            tail = "\n  ".join(log_of(process).splitlines()[-12:])
            raise Failed(f"{process.name}: {what}: {why}; its last lines:\n  {tail}")
        time.sleep(0.01)


def output_of(*command, **options):
    """The output of a short command."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=START_SECONDS, check=False, **options
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(command)}: not within {START_SECONDS} s") from late
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
