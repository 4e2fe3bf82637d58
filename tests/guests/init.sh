# shellcheck shell=dash
# The part that the first processes of all guests share. They source it before anything else: it mounts what the kernel
# provides, and has two functions.

/bin/busybox mkdir -p /proc /sys /dev /run /tmp /var /sbin /usr/bin /usr/sbin
/bin/busybox --install -s
export PATH=/usr/bin:/usr/sbin:/bin:/sbin

mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp

# Loads the modules of the initramfs, in their order.
load_modules() {
    while read -r module; do
        insmod "/modules/$module"
    done </modules/order
}

# Runs the commands that arrive on the second serial port, one a line, and turns the guest off after the last. After the
# output of each comes a line with its exit status.
serve() {
    stty -F /dev/ttyS1 raw -echo
    # In its own shell, since orphans become children of the first process.
    (
        exec </dev/ttyS1 >/dev/ttyS1
        echo 'guest is ready'
        while read -r command; do
            eval "$command" 2>&1
            printf '\nended with %d\n' $?
        done
    )
    poweroff -f
}
