#!/bin/busybox sh
# shellcheck shell=dash
# The guest's first process: it gives both NICs to vfio-pci, and then runs the commands that arrive on the second
# serial port, one a line. After the output of each comes a line with its exit status.

/bin/busybox mkdir -p /proc /sys /dev /run /tmp /var /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
export PATH=/usr/bin:/usr/sbin:/bin:/sbin

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/hugepages
mount -t hugetlbfs hugetlbfs /dev/hugepages
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t tmpfs tmpfs /tmp
ln -s /run /var/run
ip link set lo up
echo 256 >/proc/sys/vm/nr_hugepages

while read -r module; do
    insmod "/modules/$module"
done </modules/order
for address in 0000:00:02.0 0000:00:03.0; do
    echo vfio-pci >"/sys/bus/pci/devices/$address/driver_override"
    echo "$address" >/sys/bus/pci/drivers_probe
done

stty -F /dev/ttyS1 raw -echo
exec </dev/ttyS1 >/dev/ttyS1
echo 'guest is ready'
while read -r command; do
    eval "$command" 2>&1
    printf '\nended with %d\n' $?
done
poweroff -f
