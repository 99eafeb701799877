//! Bytes as hexadecimal digits.

/// Returns two lower-case digits for each byte.
///
/// ```
/// assert_eq!(rlbayes_common::hex::encode(&[0, 171]), "00ab");
/// ```
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| DIGITS[usize::from(digit)]).collect()
}

/// Reads exactly `N` bytes from two digits each; none if the text is anything else.
///
/// ```
/// assert_eq!(rlbayes_common::hex::decode("00Ab"), Some([0, 171]));
/// assert_eq!(rlbayes_common::hex::decode::<2>("+0ab"), None);
/// ```
#[must_use]
pub fn decode<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = [0; N];
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = u8::try_from(16 * digit(high)? + digit(low)?).ok()?;
    }
    Some(bytes)
}
