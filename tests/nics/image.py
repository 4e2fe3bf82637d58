"""The guest's file system: busybox, the gateway, its libraries, the drivers of the NICs, and modules of the kernel."""

import glob
import os
import re
import shutil
import subprocess

from process import run
from wait import Failure

HERE = os.path.dirname(os.path.abspath(__file__))
# In the order in which they are loaded.
MODULES = ("irqbypass", "vfio", "vfio_virqfd", "vfio_iommu_type1", "vfio-pci-core", "vfio-pci")
DRIVERS = ("bus_pci", "bus_vdev", "mempool_ring", "net_virtio", "net_e1000", "net_vmxnet3")
DRIVERS_DIRECTORY = "/usr/lib/*/dpdk/pmds-*"
ACCOUNTS = {
    "passwd": "root:x:0:0::/:/bin/sh\nlongspan:x:999:999::/:/bin/false\n",
    "group": "root:x:0:\nlongspan:x:999:\n",
}


def libraries(program):
    """The paths of the libraries that a program is linked to."""
    return re.findall(r"(/\S+) \(0x", run("ldd", program))


def put(path, root):
    """Copies a file to the same place below `root`. What is one file here is one there: of a library that is two
    files, DPDK would load both."""
    real = os.path.realpath(path)
    for place in (path, real):
        os.makedirs(os.path.dirname(root + place), exist_ok=True)
    if not os.path.exists(root + real):
        shutil.copy(real, root + real)
    if path != real:
        os.symlink(real, root + path)


def make(longspan, kernel, scratch):
    """Makes the initramfs, and returns its path. `kernel` is the directory of scripts/test-nics in the cache."""
    root = os.path.join(scratch, "root")
    os.umask(0o022)
    # DPDK loads drivers only from where nobody else may write, and the gateway goes on as another user.
    for directory in ("", "bin", "etc/longspan", "modules"):
        os.makedirs(os.path.join(root, directory), mode=0o755, exist_ok=True)
    found = glob.glob(DRIVERS_DIRECTORY)
    if len(found) != 1:
        raise Failure(f"one directory of DPDK's drivers was expected in {DRIVERS_DIRECTORY}: {found}")
    drivers = [path for driver in DRIVERS for path in glob.glob(f"{found[0]}/librte_{driver}.so.*.*")]
    if len(drivers) != len(DRIVERS):
        raise Failure(f"of DPDK's drivers {DRIVERS}, {found[0]} has {len(drivers)}")
    wanted = {path for program in (longspan, *drivers) for path in libraries(program)}
    for path in sorted(wanted | set(drivers)):
        put(path, root)
    shutil.copy(longspan, os.path.join(root, "bin/longspan"))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, "gateway.toml"), os.path.join(root, "etc/longspan/original.toml"))
    shutil.copy(os.path.join(HERE, "init.sh"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    for name, text in ACCOUNTS.items():
        with open(os.path.join(root, "etc", name), "w") as file:
            file.write(text)
    with open(os.path.join(root, "modules/order"), "w") as order:
        for module in MODULES:
            shutil.copy(os.path.join(kernel, f"{module}.ko"), os.path.join(root, "modules"))
            order.write(f"{module}.ko\n")
    image = os.path.join(scratch, "initramfs")
    names = run("find", root, "-printf", "%P\\n").lstrip("\n")
    with open(image, "wb") as file:
        command = ["cpio", "--quiet", "--create", "--format", "newc", "--owner", "0:0", "--directory", root]
        subprocess.run(command, input=f".\n{names}", text=True, stdout=file, check=True)
    return image
