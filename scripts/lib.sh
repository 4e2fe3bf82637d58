# shellcheck shell=bash
# Shared set-up of the scripts beside this file. Source it, do not run it.
#
# With `--help` as the first argument it prints the comment at the top of the script and ends. Otherwise
# it leaves the caller in the root of the repository, and where the caller stood in `caller`. It offers:
#   die MESSAGE                 one line on stderr, exit status 1
#   heading TEXT                a line that stands out
#   from_caller PATH            the absolute path of what the caller calls so
#   need_packages WHY PKG...    Debian packages, installed where they are missing
#   need_command CMD PKG WHY    a command, and the Debian package that brings it
#   need_rust                   cargo, at least the rust-version of Cargo.toml, and a linker
#   need_dpdk                   DPDK and what its bindings are made with
#   need_test_tools             the programs that tests call
#   need_longspan [OPTION...]   sets `longspan` to the program that LONGSPAN names, or builds it with these options of cargo
#   need_kernel MODULE...       sets `kernel`, a directory with Debian's kernel for guests and these of its modules
#   need_rust_component CMD...  cargo's own subcommands that rustup installs apart: fmt, clippy
#   need_cargo_tool CRATE VERSION [OPTION...]   a Rust program at one version, built once per user
#   debian_base DIRECTORY       a minimal Debian, for root
#   debian_for_building DIR     the same, with this repository, the network and its authorities
#   bring_rust ROOT             the Rust of this machine, in such a Debian
#   keep_services_off ROOT      installing packages in such a Debian starts none of their services
#   inside ROOT COMMAND...      runs a command in such a Debian, as root; what it started ends with it
#   other_commit NAME           sets `commit`, and checks it out in the directory `$against/tree`, to compare with

# A script's help is the comment at its top, unless its own parser has more to say: then it sets `has_help` before.
if [ "${1:-}" = --help ] && [ -z "${has_help:-}" ]; then
    sed -n '2,/^[^#]/ s/^# \{0,1\}//p' "$0"
    exit
fi

caller=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

die() {
    printf '%s: %s\n' "scripts/$(basename "$0")" "$*" >&2
    exit 1
}

heading() {
    printf '\n=== %s\n' "$*"
}

from_caller() {
    (cd "$caller" && realpath -m "$1")
}

# The directory into which cargo builds.
target_directory() {
    printf '%s\n' "${CARGO_TARGET_DIR:-target}"
}

# Runs a command as root, or says that it cannot. Asks for a password only where someone sits at a
# terminal.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 2 ]; }; then
        sudo "$@"
    else
        return 1
    fi
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

need_packages() {
    local why=$1 package missing=()
    shift
    if ! command -v dpkg-query >/dev/null; then
        printf 'not a Debian system: taking it that %s is there (%s)\n' "$*" "$why" >&2
        return
    fi
    for package in "$@"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    printf 'installing %s: %s\n' "${missing[*]}" "$why"
    local log
    log=$(mktemp)
    if ! { apt_get update && apt_get install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        die "cannot install ${missing[*]} ($why): run 'apt-get install ${missing[*]}' as root, then try again"
    fi
    rm -f "$log"
}

need_command() {
    command -v "$1" >/dev/null || need_packages "$3" "$2"
    command -v "$1" >/dev/null || die "$1 is not on the PATH ($3)"
}

# Whether version $1 is at least version $2.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

need_rust() {
    local wanted have
    wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
    command -v cargo >/dev/null ||
        die "cargo is not on the PATH: install Rust $wanted or later with rustup (https://rustup.rs)"
    have=$(cargo --version | cut -d ' ' -f 2)
    at_least "$have" "$wanted" ||
        die "cargo is $have, Longspan needs $wanted or later: run 'rustup update stable'"
    need_command cc build-essential "the linker, and crates that build C"
}

need_dpdk() {
    need_packages 'DPDK, and what its bindings are made with (or build with --no-default-features)' \
        libdpdk-dev libclang-dev pkg-config
}

need_test_tools() {
    # DPDK's client of its telemetry is in dpdk-dev in Debian 12, and in dpdk since.
    need_packages 'oracles of the tests: other dissectors, another replayer, and clients' \
        tshark python3-scapy tcpreplay tmux dpdk dpdk-dev
    need_packages 'hosts in network namespaces, for the tests on the wire' \
        iproute2 ethtool procps iputils-ping iperf3 linuxptp
    # Debian starts the daemon when it installs it, which would speak on every interface of this machine from then on.
    command -v dpkg-query >/dev/null || return 0
    local daemon
    for daemon in lldpd frr; do
        ! is_installed "$daemon" || continue
        need_packages 'a neighbour that speaks LLDP, and one that speaks BGP' "$daemon"
        as_root systemctl disable --now "$daemon" >/dev/null 2>&1 || true
    done
}

need_longspan() {
    if [ -n "${LONGSPAN:-}" ]; then
        longspan=$(cd "$caller" && command -v "$LONGSPAN") || die "there is no program $LONGSPAN (LONGSPAN)"
        longspan=$(from_caller "$longspan")
        return
    fi
    local profile=debug
    [[ " $* " != *' --release '* ]] || profile=release
    need_rust
    [[ " $* " == *' --no-default-features '* ]] || need_dpdk
    longspan=$(target_directory)/$profile/longspan
    [ -x "$longspan" ] || echo 'Building Longspan: some minutes the first time.' >&2
    # Cargo names hundreds of libraries.
    cargo build --locked --quiet --package longspan "$@"
    longspan=$(realpath "$longspan")
}

# The package of Debian's newest kernel, if the lists of packages name one.
kernel_package() {
    apt-cache depends linux-image-amd64 2>/dev/null | awk '/Depends:/ { print $2; exit }'
}

# Puts Debian's kernel and those of its modules into the cache, and their directory into `kernel`.
need_kernel() {
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/longspan package fresh
    mkdir -p "$cache"
    package=$(kernel_package)
    if [ -z "$package" ]; then
        apt_get update >/dev/null 2>&1 || true
        package=$(kernel_package)
    fi
    [ -n "$package" ] || die "no package list names a kernel for the guest (linux-image-amd64): this runs on Debian"
    kernel=$cache/$package
    ! has_kernel_and "$@" || return 0
    printf 'downloading %s, the kernel of the guest, once, into %s\n' "$package" "$cache"
    fresh=$(mktemp -d "$cache/kernel-XXXXXX")
    extract_kernel "$package" "$fresh" "$@" || {
        rm -rf "$fresh"
        die "cannot download and unpack $package: run 'apt-get update' as root, then try again"
    }
    # Others may have taken other modules of it.
    mkdir -p "$kernel"
    mv -f "$fresh"/* "$kernel"
    rmdir "$fresh"
}

# Whether the kernel and these of its modules are in the cache: what moved them there may have been interrupted.
has_kernel_and() {
    local module
    for module in vmlinuz "$@"; do
        [ -f "$kernel/$(basename "$module")" ] || return 1
    done
}

extract_kernel() {
    local release=${1#linux-image-} directory=$2 module wanted=()
    for module in "${@:3}"; do
        wanted+=("./lib/modules/$release/kernel/$module")
    done
    (cd "$directory" && apt-get -q download "$1" >/dev/null 2>&1) || return 1
    dpkg-deb --fsys-tarfile "$directory"/*.deb |
        tar -x -C "$directory" --transform 's|.*/||' "./boot/vmlinuz-$release" "${wanted[@]}" || return 1
    rm "$directory"/*.deb
    mv "$directory/vmlinuz-$release" "$directory/vmlinuz"
}

need_rust_component() {
    local component
    for component in "$@"; do
        cargo "$component" --version >/dev/null 2>&1 ||
            die "cargo $component is missing: run 'rustup component add ${component/fmt/rustfmt}'"
    done
}

# Puts the program NAME at VERSION on the PATH. A version other than the one asked for is left alone and
# not used: the tools are pinned like every library. Optimising a checker takes longer than it
# saves, so it is built without. Options are those of `cargo install`.
need_cargo_tool() {
    local name=$1 version=$2 root
    shift 2
    if [ "$("$name" --version 2>/dev/null | awk '{ sub(/^v/, "", $NF); print $NF }')" = "$version" ]; then
        return
    fi
    root=${XDG_CACHE_HOME:-$HOME/.cache}/longspan/$name-$version
    export PATH=$root/bin:$PATH
    [ ! -x "$root/bin/$name" ] || return 0
    printf 'building %s %s, once, into %s\n' "$name" "$version" "$root"
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=1 \
        CARGO_TARGET_DIR="$(target_directory)/tools" \
        cargo install --quiet --locked --root "$root" --version "$version" "$@" "$name" ||
        die "cannot build $name $version"
    rm -rf "$(target_directory)/tools"
}

# Puts a minimal Debian into the directory $1, which must not exist. It is fetched once per user. DEBIAN names the
# release: 12, 13 or testing. Without it, it is that of this machine, or 12 where this machine is no Debian.
debian_base() {
    local release kept
    # shellcheck source=/dev/null
    release=${DEBIAN:-$(. /etc/os-release && [ "$ID" = debian ] && printf '%s' "${VERSION_ID:-testing}" || printf 12)}
    local -A suites=([12]=bookworm [13]=trixie [testing]=testing)
    local suite=${suites[$release]:-}
    [ -n "$suite" ] || die "DEBIAN is 12, 13 or testing, not $release"
    kept=${XDG_CACHE_HOME:-$HOME/.cache}/longspan/debian-$release-$(dpkg --print-architecture).tar
    if [ ! -s "$kept" ]; then
        need_packages 'a minimal Debian, to install into' debootstrap
        printf 'fetching a minimal Debian %s, once, into %s\n' "$release" "$kept"
        mkdir -p "$(dirname "$kept")"
        debootstrap --variant=minbase "$suite" "$1" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$1.log" ||
            { tail "$1.log" >&2; die "cannot fetch a minimal Debian $release"; }
        rm -rf "$1.log" "$1"/var/cache/apt/archives/*.deb
        tar --numeric-owner -C "$1" -cf "$kept.new" .
        mv "$kept.new" "$kept"
        return
    fi
    mkdir -p "$1"
    tar --numeric-owner -C "$1" -xpf "$kept"
}

# Makes a minimal Debian in directory $1 one in which this repository can be built: the last commit is in
# /srv/longspan.git, and the network and its authorities are those of this machine.
debian_for_building() {
    debian_base "$1"
    keep_services_off "$1"
    # This machine may stand behind its own authorities.
    mkdir -p "$1/usr/local/share/ca-certificates"
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp {} "$1/usr/local/share/ca-certificates" \;
    cp /etc/resolv.conf /etc/hosts "$1/etc"
    # The lists of a mirror that lags, and those of a snapshot, have expired.
    printf 'Acquire::Check-Valid-Until "false";\n' >"$1/etc/apt/apt.conf.d/any-age"
    git clone --quiet --bare . "$1/srv/longspan.git"
}

# Puts the Rust of this machine into the Debian in directory $1, as rustup would leave it.
bring_rust() {
    mkdir -p "$1/opt" "$1/tmp/.cargo"
    cp -a "$(rustc --print sysroot)" "$1/opt/rust"
    # shellcheck disable=SC2016
    printf 'PATH=/opt/rust/bin:$PATH\n' >"$1/tmp/.cargo/env"
}

keep_services_off() {
    printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
    chmod 755 "$1/usr/sbin/policy-rc.d"
}

# Runs a command in the Debian in directory $1, with terminals, and with /proc and /sys, where DPDK looks for cores. No
# process that it leaves behind survives it. Its root is its own mount, as `ip netns exec` demands.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child --propagation private sh -ec '
        mount --bind "$1" "$1"
        mount -t proc proc "$1/proc"
        mount -t sysfs sysfs "$1/sys"
        mount -t devpts devpts "$1/dev/pts"
        exec chroot "$@"' sh "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "${@:2}"
}

# To compare with another commit: its tree is checked out in target/against/tree, where one of a run before may be left.
other_commit() {
    commit=$(git rev-parse --verify --quiet "$1^{commit}") || die "there is no commit $1"
    mkdir -p "$(target_directory)/against"
    against=$(realpath "$(target_directory)/against")
    if [ -e "$against/tree/.git" ]; then
        git -C "$against/tree" checkout --quiet --detach "$commit"
    else
        git worktree prune
        git worktree add --quiet --detach "$against/tree" "$commit"
    fi
}
