//! Words and punctuation of a BIF text. Comments may stand anywhere, even right behind a word
//! (`yes//comment`), so `//` and `/*` always end a word.

use crate::io::error::ReadError;
use crate::io::text::excerpt;

/// One token and the line it starts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind<'a>,
    pub(super) line: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// A bare word: keyword, name or number.
    Word(&'a str),
    /// A name in quotes.
    Quoted(&'a str),
    /// One of `{ } ( ) [ ] | , ;`.
    Mark(u8),
    /// Nothing is left.
    End,
}

impl<'a> Token<'a> {
    /// Returns the name, bare or quoted.
    pub(super) fn name(self) -> Option<&'a str> {
        match self.kind {
            TokenKind::Word(text) | TokenKind::Quoted(text) => Some(text),
            TokenKind::Mark(_) | TokenKind::End => None,
        }
    }

    /// Returns whether this is a keyword, in any case and not quoted.
    pub(super) fn is_keyword(self, keyword: &str) -> bool {
        matches!(self.kind, TokenKind::Word(text) if text.eq_ignore_ascii_case(keyword))
    }

    /// Returns whether this is a punctuation mark.
    pub(super) fn is_mark(self, mark: u8) -> bool {
        self.kind == TokenKind::Mark(mark)
    }

    /// Says that something else was expected.
    pub(super) fn unexpected(self, expected: &'static str) -> ReadError {
        let found = match self.kind {
            TokenKind::Word(text) | TokenKind::Quoted(text) => excerpt(text),
            TokenKind::Mark(mark) => format!("'{}'", char::from(mark)),
            TokenKind::End => "the end of the file".to_owned(),
        };
        ReadError::Syntax {
            line: self.line,
            expected,
            found,
        }
    }
}

/// Reads tokens one by one, with one to look at in advance.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    line: usize,
    next: Option<Token<'a>>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            line: 1,
            next: None,
        }
    }

    /// Returns the next token and leaves it there.
    pub(super) fn peek(&mut self) -> Result<Token<'a>, ReadError> {
        match self.next {
            Some(token) => Ok(token),
            None => {
                let token = self.read()?;
                self.next = Some(token);
                Ok(token)
            }
        }
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Result<Token<'a>, ReadError> {
        let token = self.peek()?;
        self.next = None;
        Ok(token)
    }

    /// Takes a punctuation mark that has to be there.
    pub(super) fn expect(&mut self, mark: u8, expected: &'static str) -> Result<(), ReadError> {
        let token = self.take()?;
        if token.is_mark(mark) {
            Ok(())
        } else {
            Err(token.unexpected(expected))
        }
    }

    /// Takes the next token if it is this mark.
    pub(super) fn take_mark(&mut self, mark: u8) -> Result<bool, ReadError> {
        let there = self.peek()?.is_mark(mark);
        if there {
            self.next = None;
        }
        Ok(there)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.rest()[..bytes];
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.position += bytes;
    }

    fn read(&mut self) -> Result<Token<'a>, ReadError> {
        self.skip_blank()?;
        let (rest, line) = (self.rest(), self.line);
        let Some(&first) = rest.as_bytes().first() else {
            return Ok(Token {
                kind: TokenKind::End,
                line,
            });
        };
        if first == b'"' {
            let Some(end) = rest[1..].find('"') else {
                let found = "the end of the file".to_owned();
                let expected = "a closing quote";
                return Err(ReadError::Syntax {
                    line,
                    expected,
                    found,
                });
            };
            self.advance(end + 2);
            return Ok(Token {
                kind: TokenKind::Quoted(&rest[1..=end]),
                line,
            });
        }
        if is_mark(first) {
            self.advance(1);
            return Ok(Token {
                kind: TokenKind::Mark(first),
                line,
            });
        }
        let end = word_end(rest);
        self.advance(end);
        Ok(Token {
            kind: TokenKind::Word(&rest[..end]),
            line,
        })
    }

    /// Skips white space and comments.
    fn skip_blank(&mut self) -> Result<(), ReadError> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.advance(blank);
            let rest = self.rest();
            if rest.starts_with("//") {
                let end = rest.find('\n').unwrap_or(rest.len());
                self.advance(end);
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    let (line, expected) = (self.line, "the end of the comment, */");
                    let found = "the end of the file".to_owned();
                    return Err(ReadError::Syntax {
                        line,
                        expected,
                        found,
                    });
                };
                self.advance(end + 2);
            } else {
                return Ok(());
            }
        }
    }
}

/// Returns whether a byte is punctuation.
pub(super) fn is_mark(byte: u8) -> bool {
    b"{}()[]|,;".contains(&byte)
}

fn word_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    text.char_indices()
        .find(|&(at, letter)| {
            letter.is_whitespace()
                || letter == '"'
                || (letter.is_ascii() && is_mark(bytes[at]))
                || (letter == '/' && matches!(bytes.get(at + 1), Some(b'/' | b'*')))
        })
        .map_or(text.len(), |(at, _)| at)
}
