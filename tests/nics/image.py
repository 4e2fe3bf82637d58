"""The files that the guest has beside busybox: the gateway, its libraries and the drivers of the NICs."""

import glob
import os
import shutil

import initramfs
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


def make(longspan, kernel, scratch):
    """Makes the initramfs, and returns its path. `kernel` is the directory of the kernel in the cache."""
    root = os.path.join(scratch, "root")
    os.umask(0o022)
    # DPDK loads drivers only from where no one else may write, and the gateway goes on as another user.
    for directory in ("", "bin", "etc/longspan", "modules"):
        os.makedirs(os.path.join(root, directory), mode=0o755, exist_ok=True)
    found = glob.glob(DRIVERS_DIRECTORY)
    if len(found) != 1:
        raise Failure(f"one directory of DPDK's drivers was expected in {DRIVERS_DIRECTORY}: {found}")
    drivers = [path for driver in DRIVERS for path in glob.glob(f"{found[0]}/librte_{driver}.so.*.*")]
    if len(drivers) != len(DRIVERS):
        raise Failure(f"of DPDK's drivers {DRIVERS}, {found[0]} has {len(drivers)}")
    wanted = {path for program in (longspan, *drivers) for path in initramfs.libraries(program)}
    for path in sorted(wanted | set(drivers)):
        initramfs.put(path, root)
    shutil.copy(longspan, os.path.join(root, "bin/longspan"))
    shutil.copy(os.path.join(HERE, "gateway.toml"), os.path.join(root, "etc/longspan/original.toml"))
    for name, text in ACCOUNTS.items():
        with open(os.path.join(root, "etc", name), "w") as file:
            file.write(text)
    return initramfs.make(root, os.path.join(HERE, "init.sh"), MODULES, kernel, scratch)
