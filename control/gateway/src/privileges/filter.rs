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

/// A list of system calls.
macro_rules! calls {
    ($($call:ident)*) => { &[$(libc::$call),*] };
}

/// Memory, threads and time.
const SELF: &[i64] = calls! {
    SYS_brk SYS_capget SYS_capset SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_exit
    SYS_exit_group SYS_futex SYS_get_mempolicy SYS_getcpu SYS_getegid SYS_geteuid SYS_getgid SYS_getpid
    SYS_getrandom SYS_getrusage SYS_gettid SYS_gettimeofday SYS_getuid SYS_madvise SYS_mbind SYS_membarrier
    SYS_mlock SYS_mmap SYS_mprotect SYS_mremap SYS_munlock SYS_munmap SYS_nanosleep SYS_prctl SYS_prlimit64
    SYS_restart_syscall SYS_rseq SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn
    SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_getaffinity SYS_sched_getparam
    SYS_sched_getscheduler SYS_sched_setaffinity SYS_sched_setscheduler SYS_sched_yield SYS_set_mempolicy
    SYS_set_robust_list SYS_sigaltstack SYS_sysinfo SYS_tgkill SYS_uname
};

/// Files and open descriptors, including devices. A memif client calls `memfd_create` when it looks for its server
/// again.
const FILES: &[i64] = calls! {
    SYS_close SYS_dup SYS_dup3 SYS_faccessat SYS_fallocate SYS_fcntl SYS_flock SYS_fstat SYS_fstatfs SYS_fsync
    SYS_ftruncate SYS_getcwd SYS_getdents64 SYS_ioctl SYS_lseek SYS_memfd_create SYS_newfstatat SYS_openat
    SYS_pread64 SYS_pwrite64 SYS_read SYS_readlinkat SYS_readv SYS_statfs SYS_statx SYS_unlinkat SYS_write
    SYS_writev
};

/// Sockets, and waiting for them.
const SOCKETS: &[i64] = calls! {
    SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_eventfd2
    SYS_getpeername SYS_getsockname SYS_getsockopt SYS_listen SYS_pipe2 SYS_ppoll SYS_recvfrom SYS_recvmsg
    SYS_sendmmsg SYS_sendmsg SYS_sendto SYS_setsockopt SYS_shutdown SYS_socketpair SYS_timerfd_create
    SYS_timerfd_gettime SYS_timerfd_settime
};

/// Older variants of the same calls, which exist only on some architectures. DPDK's interrupt thread calls
/// `epoll_create` whenever its sources change.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = calls! {
    SYS_access SYS_arch_prctl SYS_dup2 SYS_epoll_create SYS_epoll_wait SYS_lstat SYS_open SYS_pipe SYS_poll
    SYS_readlink SYS_rmdir SYS_select SYS_stat SYS_time SYS_unlink
};
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
