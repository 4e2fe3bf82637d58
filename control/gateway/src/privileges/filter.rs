//! The system call filter of a running gateway.
//!
//! Unlisted calls fail with ENOSYS, as on a kernel without them. The C library then falls back to an older
//! call that is listed (`clone` instead of `clone3`, whose arguments a filter cannot see). A driver's rare
//! path that needs another call gets an error; killing the process instead would lose all queued frames.

use std::collections::BTreeMap;
use std::env::consts::ARCH;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter_all_threads,
};

/// Why there is no filter.
pub type FilterError = seccompiler::Error;

/// Memory, threads and time.
const SELF: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_get_mempolicy,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_membarrier,
    libc::SYS_mlock,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munlock,
    libc::SYS_munmap,
    libc::SYS_nanosleep,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield,
    libc::SYS_set_mempolicy,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_sysinfo,
    libc::SYS_tgkill,
    libc::SYS_uname,
];

/// Files and open descriptors, including devices.
const FILES: &[i64] = &[
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_faccessat,
    libc::SYS_fallocate,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_ioctl,
    libc::SYS_lseek,
    // A memif client creates its shared memory when it looks for its server again.
    libc::SYS_memfd_create,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_read,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Sockets, and waiting for them.
const SOCKETS: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_listen,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_socketpair,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
];

/// Older variants of the same calls, which exist only on some architectures.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_access,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    // DPDK's interrupt thread recreates its epoll instance whenever its sources change.
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// New sockets: local ones, kernel notifications about interfaces, and queries of interfaces.
const FAMILIES: [i32; 3] = [libc::AF_UNIX, libc::AF_NETLINK, libc::AF_INET];

/// Limits all current and future threads of this process to the system calls of a running gateway and to
/// `more`.
///
/// # Errors
/// The kernel has no filters, or the processor is one for which there are none.
pub fn install(more: &[i64]) -> Result<(), FilterError> {
    apply_filter_all_threads(&program(more)?)
}

fn program(more: &[i64]) -> Result<BpfProgram, FilterError> {
    let listed = [SELF, FILES, SOCKETS, OLDER, more].concat();
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        listed.into_iter().map(|call| (call, Vec::new())).collect();
    let families = FAMILIES.map(|family| rule(SeccompCmpOp::Eq, family as u64));
    rules.insert(libc::SYS_socket, families.into_iter().collect::<Result<_, _>>()?);
    // Allow threads but not processes.
    let threads = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![rule(SeccompCmpOp::MaskedEq(threads), threads)?]);
    let (other, listed) = (SeccompAction::Errno(libc::ENOSYS as u32), SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, other, listed, ARCH.try_into()?)?;
    Ok(filter.try_into()?)
}

/// A condition on a call's first argument.
fn rule(operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, FilterError> {
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{ErrorKind, Write};
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    /// Runs `work` on a thread with the filter, without affecting other test threads.
    fn filtered<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let program = program(&[]).unwrap();
        let thread = thread::spawn(move || {
            seccompiler::apply_filter(&program).unwrap();
            work()
        });
        thread.join().unwrap()
    }

    #[test]
    fn the_system_calls_of_a_gateway_are_allowed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gw.toml");
        fs::write(&path, "[gateway]").unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        filtered(move || {
            assert_eq!(fs::read_to_string(&path).unwrap(), "[gateway]");
            fs::remove_file(&path).unwrap();
            assert_eq!(thread::spawn(|| 7).join().unwrap(), 7);
            let (mut one, _other) = UnixStream::pair().unwrap();
            one.write_all(b"x").unwrap();
            assert!(listener.local_addr().is_ok());
            assert!(UdpSocket::bind("127.0.0.1:0").is_ok());
        });
    }

    #[test]
    fn programs_processes_and_other_sockets_are_refused_as_by_a_kernel_without_them() {
        let refused = filtered(|| {
            let program = Command::new("/bin/true").spawn().map(drop);
            let socket = UdpSocket::bind("[::1]:0").map(drop);
            [program, socket].map(|result| result.unwrap_err().raw_os_error())
        });
        assert_eq!(refused, [Some(libc::ENOSYS); 2]);
        assert_eq!(std::io::Error::from_raw_os_error(libc::ENOSYS).kind(), ErrorKind::Unsupported);
    }
}
