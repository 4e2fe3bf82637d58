//! The dashboard on its own terminal, and the state of that terminal once the dashboard has ended.

use crate::failure::Failure;
use crate::top::feed::Feed;
use crate::top::model::Model;
use crate::top::terminal::Screen;
use crate::top::views::DashboardView;
use crate::top::{live, tests::PLAIN};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::env;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use units::Interval;

/// The variable that makes a test play the dashboard for another run of itself, which watches.
const PLAYS: &str = "LONGSPAN_TEST_PLAYS_TOP";
/// Longer than a busy machine takes to end a process.
const PATIENCE: Duration = Duration::from_secs(60);
const CURSOR_OFF: &str = "\x1b[?25l";
const OTHER_SCREEN: &str = "\x1b[?1049h";
const RESTORED: &str = "\x1b[?1049l\x1b[?25h";

/// A test of this file that plays the dashboard in a process and its own session.
struct Player {
    terminal: File,
    child: Child,
    cooked: LocalModes,
    /// All that it has shown.
    shown: String,
}

impl Player {
    /// Starts `test` as a player and returns once the dashboard is drawn.
    fn start(test: &str) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let terminal = openpt(flags).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let cooked = tcgetattr(&terminal).unwrap().local_modes;
        let end = File::from(ioctl_tiocgptpeer(&terminal, flags).unwrap());
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(env::current_exe().unwrap());
        command.args(["--exact", &format!("top::tests::ending::{test}"), "--nocapture"]).env(PLAYS, "yes");
        command.stdin(end.try_clone().unwrap()).stdout(end.try_clone().unwrap()).stderr(end);
        let child = command.spawn().unwrap();
        // The command has the other end of the terminal, which is closed once the child alone has it and ends.
        drop(command);
        let mut player = Self { terminal: terminal.into(), child, cooked, shown: String::new() };
        player.read_until(|shown| shown.contains(CURSOR_OFF));
        let shown = &player.shown;
        assert!(shown.contains(OTHER_SCREEN) && shown.contains(CURSOR_OFF), "{shown:?}");
        player
    }

    /// Reads until all that was shown `is_enough`, or until the player has closed the terminal.
    fn read_until(&mut self, is_enough: impl Fn(&str) -> bool) {
        let mut part = [0; 4096];
        while !is_enough(&self.shown) {
            match self.terminal.read(&mut part) {
                Ok(read) if read > 0 => self.shown += &String::from_utf8_lossy(&part[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    }

    fn modes(&self) -> LocalModes {
        tcgetattr(&self.terminal).unwrap().local_modes
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until the player has ended, and returns the text before and after the terminal was restored.
    fn end(mut self) -> (String, String) {
        self.read_until(|_| false);
        assert_eq!(self.modes(), self.cooked);
        self.child.wait().unwrap();
        let shown = &self.shown;
        let parts = shown.split_once(RESTORED).unwrap_or_else(|| panic!("not restored: {shown:?}"));
        assert!(!parts.1.contains(CURSOR_OFF) && !parts.1.contains(OTHER_SCREEN), "{shown:?}");
        (parts.0.to_owned(), parts.1.to_owned())
    }

    /// Waits until the player has ended after its terminal is gone.
    fn hang_up(self) -> ExitStatus {
        let Self { terminal, mut child, .. } = self;
        let player = Pid::from_child(&child);
        drop(terminal);
        let (sender, ended) = channel();
        let waiting = thread::spawn(move || sender.send(child.wait().unwrap()).unwrap());
        let status = ended.recv_timeout(PATIENCE).unwrap_or_else(|_| {
            kill_process(player, Signal::KILL).unwrap();
            panic!("goes on without a terminal")
        });
        waiting.join().unwrap();
        status
    }
}

/// Runs `play` if this test is a player, and `watch` with the name of the test if it is not.
fn on_a_terminal(test: &str, play: impl FnOnce(), watch: impl FnOnce(&str)) {
    if env::var_os(PLAYS).is_some() { play() } else { watch(test) }
}

/// Plays the dashboard of a gateway that cannot be reached.
fn play() {
    show(|| Err(Failure::usage("no gateway"))).unwrap();
}

fn show(ask: impl FnMut() -> Result<telemetry::Snapshot, Failure> + Send + 'static) -> Result<(), Failure> {
    let interval = Interval::from_millis(125);
    live(&mut Feed::start(ask, interval), &mut Model::new(DashboardView::Ports, None, interval), PLAIN)
}

#[test]
fn every_signal_that_ends_it_leaves_the_terminal_as_it_was() {
    on_a_terminal("every_signal_that_ends_it_leaves_the_terminal_as_it_was", play, |test| {
        for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
            let player = Player::start(test);
            assert!(!player.modes().intersects(LocalModes::ICANON | LocalModes::ECHO));
            player.signal(signal);
            let (_, after) = player.end();
            assert!(after.contains("test result: ok"), "{signal:?}: {after:?}");
        }
    });
}

#[test]
fn a_terminal_that_is_closed_ends_it() {
    on_a_terminal("a_terminal_that_is_closed_ends_it", play, |test| {
        assert_eq!(Player::start(test).hang_up().signal(), None);
    });
}

#[test]
fn a_panic_while_it_draws_is_told_on_a_terminal_as_it_was() {
    let play = || {
        let mut screen = Screen::open().unwrap();
        screen.draw(|_| ()).unwrap();
        screen.draw(|_| panic!("a bug in the drawing")).unwrap();
    };
    on_a_terminal("a_panic_while_it_draws_is_told_on_a_terminal_as_it_was", play, |test| {
        let (before, after) = Player::start(test).end();
        assert!(!before.contains("a bug") && after.contains("a bug in the drawing"), "{before:?} {after:?}");
    });
}

#[test]
fn a_panic_of_the_thread_that_asks_ends_it_and_is_told_on_a_terminal_as_it_was() {
    let play = || {
        let mut questions = 0;
        let ask = move || {
            questions += 1;
            assert!(questions < 3, "a bug in the asking");
            Err(Failure::usage("no gateway"))
        };
        show(ask).unwrap();
    };
    let test = "a_panic_of_the_thread_that_asks_ends_it_and_is_told_on_a_terminal_as_it_was";
    on_a_terminal(test, play, |test| {
        let (before, after) = Player::start(test).end();
        assert!(!before.contains("a bug") && after.contains("a bug in the asking"), "{before:?} {after:?}");
        assert!(after.contains("test result: FAILED"), "the panic goes on: {after:?}");
    });
}
