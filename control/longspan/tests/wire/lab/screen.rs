//! Its own terminal for a program: tmux.

use super::Lab;
use super::wait::wait_for;
use std::path::PathBuf;
use std::process::Command;

/// A terminal of 80 columns and 24 lines. Dropping it ends what runs in it.
pub struct Screen {
    socket: PathBuf,
}

impl Screen {
    /// Runs `script` in a shell on a new terminal.
    pub fn start(lab: &Lab, name: &str, script: &str) -> Self {
        let screen = Self { socket: lab.path(name) };
        screen.tmux(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", script]);
        screen
    }

    /// Its contents.
    pub fn text(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Presses keys, by tmux's names.
    pub fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Changes its size.
    pub fn resize(&self, columns: u16, lines: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    /// Waits until it shows all of `texts`, and returns everything that it shows.
    pub fn wait_for(&self, texts: &[&str]) -> String {
        wait_for(&format!("a screen with {texts:?}"), || {
            let shown = self.text();
            texts.iter().all(|text| shown.contains(text)).then_some(shown)
        })
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(arguments).env("TERM", "xterm-256color").env_remove("TMUX");
        let output = command.env("LC_ALL", "C.UTF-8").output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}
