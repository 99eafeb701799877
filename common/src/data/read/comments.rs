//! Text without its comments: each begins with a mark outside quotes and runs to the end of its
//! line. Line ends stay, so that rows keep their numbers.

use std::io::{self, Read};

/// A stream without comments.
pub(crate) struct WithoutComments<R> {
    input: R,
    mark: u8,
    quoted: bool,
    in_comment: bool,
}

impl<R: Read> WithoutComments<R> {
    pub(crate) fn new(input: R, mark: u8) -> Self {
        Self {
            input,
            mark,
            quoted: false,
            in_comment: false,
        }
    }
}

impl<R: Read> Read for WithoutComments<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.input.read(buffer)?;
            let mut kept = 0;
            for at in 0..count {
                let byte = buffer[at];
                if matches!(byte, b'\n' | b'\r') {
                    self.in_comment = false;
                } else if byte == self.mark && !self.quoted {
                    self.in_comment = true;
                }
                if !self.in_comment {
                    self.quoted ^= byte == b'"';
                    buffer[kept] = byte;
                    kept += 1;
                }
            }
            // Nothing read would mean the end.
            if kept > 0 || count == 0 || buffer.is_empty() {
                return Ok(kept);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_go_and_line_ends_stay() {
        let text = "# made by hand\na,b\n1,\"#2\" # two\n#\r\n3,4#";
        let mut left = String::new();
        WithoutComments::new(text.as_bytes(), b'#')
            .read_to_string(&mut left)
            .unwrap();
        assert_eq!(left, "\na,b\n1,\"#2\" \n\r\n3,4");
    }
}
