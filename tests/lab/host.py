"""A host: a guest with soft-RoCE on its NIC, and perftest."""

import os
import shutil

import initramfs
from machine import Machine

HERE = os.path.dirname(os.path.abspath(__file__))
# In the order in which they are loaded.
MODULES = (
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "failover", "net_failover", "virtio_net", "crc32_generic", "udp_tunnel", "ip6_udp_tunnel", "configfs",
    "ib_core", "ib_uverbs", "ib_cm", "iw_cm", "rdma_cm", "rdma_ucm", "rdma_rxe",
)  # fmt: skip
PROGRAMS = (
    "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat", "rping", "rdma",
)  # fmt: skip
# The library of verbs asks these files for the drivers that there are, and loads them from this directory.
DRIVERS = "etc/libibverbs.d"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
# Of rdma_rxe.
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
# Loaded at run time: the driver of soft-RoCE, and what ends the threads of rping.
LOADED = (f"{LIBRARIES}/libibverbs/librxe-rdmav34.so", f"{LIBRARIES}/libgcc_s.so.1")
OFFLOADS = (
    "csum", "gso", "guest_csum", "guest_tso4", "guest_tso6", "guest_ecn", "guest_ufo",
    "host_tso4", "host_tso6", "host_ecn", "host_ufo",
)  # fmt: skip
MEMORY_MIB = 512


def make_image(kernel, scratch):
    """Makes the hosts' initramfs, and returns its path. `kernel` is the directory of the kernel in the cache."""
    root = os.path.join(scratch, "root")
    for directory in ("bin", DRIVERS):
        os.makedirs(os.path.join(root, directory), exist_ok=True)
    programs = [shutil.which(program) for program in PROGRAMS]
    needed = {path for program in (*programs, *LOADED) for path in initramfs.libraries(program)}
    for path in sorted(needed.union(LOADED)):
        initramfs.put(path, root)
    for program in programs:
        shutil.copy(program, os.path.join(root, "bin"))
    shutil.copy(f"/{DRIVERS}/rxe.driver", os.path.join(root, DRIVERS))
    return initramfs.make(root, os.path.join(HERE, "init.sh"), MODULES, kernel, scratch)


class Host(Machine):
    """A host that boots, at one side of the pair of gateways."""

    def __init__(self, side, number, kernel, image, accelerator, scratch, stack):
        self.address, self.scratch = f"10.88.0.{number}", scratch
        off = ",".join(f"{offload}=off" for offload in OFFLOADS)
        chipset = ["-accel", "kvm", "-cpu", "host"] if accelerator == "kvm" else ["-accel", "tcg", "-cpu", "max"]
        arguments = [*chipset, "-M", "q35", "-smp", "1", "-m", str(MEMORY_MIB)]
        arguments += ["-netdev", f"tap,id=tap,fd={side.taps[0]}"]
        arguments += ["-device", f"virtio-net-pci,netdev=tap,mac=02:00:00:00:88:{number:02x},{off}"]
        options = f"address={self.address}"
        super().__init__(side.name, kernel, image, arguments, options, accelerator, scratch, stack, side.taps)

    def counters(self):
        """What its soft-RoCE device has counted, by name."""
        lines = self.run(f"grep . {COUNTERS}/*").split()
        return {os.path.basename(path): int(count) for path, count in (line.split(":") for line in lines)}

    def capture(self, name):
        """Begins to write what the NIC sends and receives to a file, and returns its path."""
        path = os.path.join(self.scratch, f"{name}.pcap")
        self.ask("object-add", **{"qom-type": "filter-dump", "id": "dump", "netdev": "tap", "file": path})
        return path

    def end_capture(self):
        self.ask("object-del", id="dump")
