//! Tokens of programs: `tdg_`, 36 random characters, and 6 of a checksum, by which a scanner of leaked secrets knows one from
//! other texts.

/// The beginning of each token.
pub const PREFIX: &str = "tdg_";

/// Letters and digits, which a double click selects together.
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM: usize = 36;
const CHECKSUM: usize = 6;

/// A new token of 214 random bits.
pub fn new() -> String {
    let mut random = String::with_capacity(RANDOM);
    while random.len() < RANDOM {
        // The bytes from 248 on would make the first letters more likely.
        let bytes = super::random::<RANDOM>().into_iter().filter(|byte| *byte < 248);
        random.extend(bytes.take(RANDOM - random.len()).map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])));
    }
    format!("{PREFIX}{random}{}", checksum(&random))
}

/// Whether the text has the form of a token, and its checksum.
pub fn is_well_formed(text: &str) -> bool {
    let random = text.strip_prefix(PREFIX).filter(|rest| rest.is_ascii() && rest.len() == RANDOM + CHECKSUM);
    random.map(|rest| rest.split_at(RANDOM)).is_some_and(|(random, found)| checksum(random) == found)
}

/// The CRC-32 of a text, in digits of [`ALPHABET`].
fn checksum(text: &str) -> String {
    let mut left = crc32fast::hash(text.as_bytes());
    let mut digits = [ALPHABET[0]; CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[left as usize % ALPHABET.len()];
        left /= ALPHABET.len() as u32;
    }
    digits.map(char::from).iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_checksum() {
        let (one, other) = (new(), new());
        assert!(one != other && one.len() == 46 && is_well_formed(&one));
        let mut changed = one.clone().into_bytes();
        changed[20] = if changed[20] == b'a' { b'b' } else { b'a' };
        for no_token in [&one[4..], &one[..45], &format!("{one}0"), std::str::from_utf8(&changed).unwrap(), "tdg_", "tdg_ä"] {
            assert!(!is_well_formed(no_token), "{no_token}");
        }
        assert_eq!(checksum("0123456789abcdefghijABCDEFGHIJ012345"), "0vkQt8", "as another program computes it");
    }
}
