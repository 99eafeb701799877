//! Keys from the terminal, read by a thread of their own: reading a terminal blocks.

use std::io::{self, Read};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// q, Esc, Ctrl-C or Ctrl-D.
    Quit,
    Up,
    Down,
    PageUp,
    PageDown,
    /// Nothing.
    Other,
}

/// How long the rest of an escape sequence may take; Esc alone has none.
const SEQUENCE: Duration = Duration::from_millis(60);

/// The keys that are pressed.
pub(super) struct Keys {
    bytes: Receiver<u8>,
}

impl Keys {
    /// Starts to read. The thread ends with the process.
    pub(super) fn read() -> io::Result<Self> {
        let (sender, bytes) = channel(64);
        std::thread::Builder::new()
            .name("keys".to_owned())
            .spawn(move || {
                let mut buffer = [0; 64];
                while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
                    for &byte in &buffer[..count] {
                        if sender.blocking_send(byte).is_err() {
                            return;
                        }
                    }
                }
            })?;
        Ok(Self { bytes })
    }

    /// Waits for a key; none: the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<Key> {
        const ESCAPE: u8 = 0x1b;
        let first = self.bytes.recv().await?;
        if first != ESCAPE {
            return Some(plain(first));
        }
        let mut sequence = Vec::new();
        while let Ok(Some(byte)) = tokio::time::timeout(SEQUENCE, self.bytes.recv()).await {
            sequence.push(byte);
            // A sequence ends with a letter or a tilde, behind its opening bracket.
            if sequence.len() > 1 && (byte.is_ascii_alphabetic() || byte == b'~') {
                break;
            }
            if sequence.len() >= 16 {
                break;
            }
        }
        Some(after_escape(&sequence))
    }
}

fn plain(byte: u8) -> Key {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    match byte {
        b'q' | b'Q' | CTRL_C | CTRL_D => Key::Quit,
        b'k' => Key::Up,
        b'j' => Key::Down,
        b' ' => Key::PageDown,
        _ => Key::Other,
    }
}

fn after_escape(sequence: &[u8]) -> Key {
    match sequence {
        [] | [0x1b, ..] => Key::Quit,
        b"[A" | b"OA" => Key::Up,
        b"[B" | b"OB" => Key::Down,
        b"[5~" => Key::PageUp,
        b"[6~" => Key::PageDown,
        _ => Key::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn escape_alone_quits_and_a_sequence_does_not() {
        let (sender, bytes) = channel(64);
        let mut keys = Keys { bytes };
        for byte in b"x\x1b[A\x1b[6~\x1b[1;5Cq" {
            sender.send(*byte).await.unwrap();
        }
        for expected in [Key::Other, Key::Up, Key::PageDown, Key::Other, Key::Quit] {
            assert_eq!(keys.next().await, Some(expected));
        }
        sender.send(0x1b).await.unwrap();
        assert_eq!(keys.next().await, Some(Key::Quit));
        drop(sender);
        assert_eq!(keys.next().await, None);
    }
}
