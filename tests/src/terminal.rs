//! A terminal without a window: a program runs in it, keys are pressed, and the screen is read.

use crate::program::Program;
use crate::waiting::wait_until;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use vt100::Parser;

/// A program in a terminal. One that is dropped is killed.
pub struct Terminal {
    child: Child,
    master: File,
    /// Held open, so that the terminal outlives the program and can be looked at.
    slave: File,
    parser: Arc<Mutex<Parser>>,
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn nonzero(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a window is not empty")
}

impl Terminal {
    /// Runs a program in a terminal of a size.
    #[must_use]
    pub fn run(program: Program, args: &[&str], columns: u16, rows: u16) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        tcsetwinsize(&master, size(columns, rows)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let no_control = i32::try_from(OpenptFlags::NOCTTY.bits()).unwrap();
        let slave = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(no_control)
            .open(Path::new(OsStr::from_bytes(name.to_bytes())))
            .unwrap();
        let end = || OwnedFd::from(slave.try_clone().unwrap());
        let mut command: Command = program.command();
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("RLBAYES_") {
                command.env_remove(name);
            }
        }
        let child = command
            .args(args)
            // Where none is named, programs take it for one that moves no cursor.
            .env("TERM", "xterm-256color")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        let master = File::from(master);
        let parser = Arc::new(Mutex::new(Parser::new(
            nonzero(rows),
            nonzero(columns),
            1000,
        )));
        let (mut output, seen) = (master.try_clone().unwrap(), Arc::clone(&parser));
        // It ends with the last end of the terminal.
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                seen.lock().unwrap().process(&buffer[..count]);
            }
        });
        Self {
            child,
            master,
            slave,
            parser,
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Gives the window another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        let mut parser = self.parser.lock().unwrap();
        parser
            .screen_mut()
            .set_size(nonzero(rows), nonzero(columns));
        tcsetwinsize(&self.master, size(columns, rows)).unwrap();
        drop(parser);
        // As the system tells the programs of a window; these have no window.
        let sent = Command::new("kill")
            .args(["-s", "WINCH", &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Returns what the screen shows, line by line.
    #[must_use]
    pub fn screen(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// Returns whether the program has taken the whole screen for itself.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.parser.lock().unwrap().screen().alternate_screen()
    }

    /// Returns whether the terminal is as it was before the program: the usual screen, a cursor, and
    /// keys that are echoed line by line.
    #[must_use]
    pub fn is_restored(&self) -> bool {
        use rustix::termios::{LocalModes, tcgetattr};
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        let parser = self.parser.lock().unwrap();
        let screen = parser.screen();
        !screen.alternate_screen()
            && !screen.hide_cursor()
            && modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
    }

    /// Waits until the screen shows a text, and returns all that it shows.
    ///
    /// # Panics
    /// If it does not within the deadline.
    pub fn wait_for(&self, text: &str, deadline: Duration) -> String {
        let begun = std::time::Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(
                begun.elapsed() < deadline,
                "after {deadline:?} still not: {text}; the screen is\n{screen}"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the program's end and returns its exit code.
    ///
    /// # Panics
    /// If it does not end within the deadline.
    pub fn wait(&mut self, deadline: Duration) -> Option<i32> {
        let mut code = None;
        wait_until("the program in the terminal has ended", deadline, || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        code.and_then(|status| status.code())
    }

    /// Returns the process's number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A process that has ended already is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
