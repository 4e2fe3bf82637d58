#!/bin/busybox sh
# shellcheck shell=dash
# The guest's first process: it gives both NICs to vfio-pci, and then serves commands.

# shellcheck source=../guests/init.sh
. /init.sh
mkdir -p /dev/hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages
mount -t tmpfs -o mode=0755 tmpfs /run
ln -s /run /var/run
ip link set lo up
echo 256 >/proc/sys/vm/nr_hugepages

load_modules
for address in 0000:00:02.0 0000:00:03.0; do
    echo vfio-pci >"/sys/bus/pci/devices/$address/driver_override"
    echo "$address" >/sys/bus/pci/drivers_probe
done

serve
