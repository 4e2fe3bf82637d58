"""The file system of a guest: an initramfs of programs of this machine and modules of the kernel."""

import os
import re
import shutil
import subprocess

from process import run

HERE = os.path.dirname(os.path.abspath(__file__))


def libraries(program):
    """The paths of the libraries that a program is linked to."""
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def put(path, root):
    """Copies a file to the same place below `root`. One file here is one file there: of a library that is two
    files, DPDK would load both."""
    real = os.path.realpath(path)
    for place in (path, real):
        os.makedirs(os.path.dirname(root + place), exist_ok=True)
    if not os.path.exists(root + real):
        shutil.copy(real, root + real)
    if path != real:
        os.symlink(real, root + path)


def make(root, init, modules, kernel, scratch):
    """Makes the initramfs of the files below `root`, and returns its path.

    busybox and `init`, the first process, join them, with what the first processes of all guests share, and so do the
    modules, in the order in which `init` loads them. `kernel` is the directory of the kernel in the cache.
    """
    for directory in ("bin", "modules"):
        os.makedirs(os.path.join(root, directory), mode=0o755, exist_ok=True)
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    shutil.copy(init, os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    shutil.copy(os.path.join(HERE, "init.sh"), os.path.join(root, "init.sh"))
    with open(os.path.join(root, "modules/order"), "w") as order:
        for module in modules:
            shutil.copy(os.path.join(kernel, f"{module}.ko"), os.path.join(root, "modules"))
            order.write(f"{module}.ko\n")
    image = os.path.join(scratch, "initramfs")
    names = run("find", root, "-printf", "%P\\n").lstrip("\n")
    with open(image, "wb") as file:
        command = ["cpio", "--quiet", "--create", "--format", "newc", "--owner", "0:0", "--directory", root]
        subprocess.run(command, input=f".\n{names}", text=True, stdout=file, check=True)
    return image
