#!/bin/busybox sh
# shellcheck shell=dash
# A host's first process: it makes a soft-RoCE device on its NIC, and then serves commands. The kernel's command line sets
# `address`, the host's own on that NIC.

# shellcheck source=../guests/init.sh
. /init.sh
ulimit -l unlimited
load_modules
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

serve
