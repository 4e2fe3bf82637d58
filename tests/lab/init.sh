#!/bin/busybox sh
# shellcheck shell=dash
# A host's first process: it makes a soft-RoCE device on its NIC, and then runs the commands that arrive on the second
# serial port, one a line. After the output of each comes a line with its exit status. The kernel's command line sets
# `address`, the host's own on that NIC.

/bin/busybox mkdir -p /proc /sys /dev /run /tmp /var /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
export PATH=/usr/bin:/usr/sbin:/bin:/sbin

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
ulimit -l unlimited

while read -r module; do
    insmod "/modules/$module"
done </modules/order
mount -t configfs configfs /sys/kernel/config

# Nothing on the link but what a test sends.
echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link set lo up
# A queue that never drops for being slow.
echo pfifo_fast >/proc/sys/net/core/default_qdisc
# shellcheck disable=SC2154
ip address add "$address/24" dev eth0
ifconfig eth0 txqueuelen 10000 up
rdma link add rxe0 type rxe netdev eth0

# Connections that the connection manager opens have DSCP 26 and ECT(0) too.
mkdir -p /sys/kernel/config/rdma_cm/rxe0
echo 106 >/sys/kernel/config/rdma_cm/rxe0/ports/1/default_roce_tos

stty -F /dev/ttyS1 raw -echo
# In a shell of its own, since orphans become children of the first process.
(
    exec </dev/ttyS1 >/dev/ttyS1
    echo 'guest is ready'
    while read -r command; do
        eval "$command" 2>&1
        printf '\nended with %d\n' $?
    done
)
poweroff -f
