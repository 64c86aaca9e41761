//! What a program sends to the feed address of a webhook, as the history keeps it.

/// Bytes of a body that the history keeps.
const KEPT: usize = 8 << 10;

/// A body that was received.
pub struct Received {
    /// The beginning of the body; `None` for a feed without one, which is in the address.
    pub(super) body: Option<String>,
    /// What the body was read as.
    pub(super) read_as: String,
}

impl Received {
    pub fn new(body: &[u8], read_as: String) -> Received {
        Received { body: Some(kept(body)), read_as }
    }

    /// A feed in the query of its address.
    pub fn from_query() -> Received {
        Received { body: None, read_as: OWN.into() }
    }
}

/// What a body of this server's own form is read as.
pub const OWN: &str = "Tidings";

/// The beginning of a body as text, with a mark where it is cut.
fn kept(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(KEPT)]).replace('\0', "\u{fffd}");
    let end = text.floor_char_boundary(KEPT);
    let is_cut = body.len() > KEPT || text.len() > end;
    if is_cut { format!("{}\u{2026} ({} bytes)", &text[..end], body.len()) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_up_to_its_bound() {
        assert_eq!(kept(b"{}"), "{}");
        assert_eq!(kept("x".repeat(KEPT).as_bytes()).len(), KEPT);
        assert_eq!(kept("x".repeat(KEPT + 1).as_bytes()), format!("{}\u{2026} (8193 bytes)", "x".repeat(KEPT)));
        assert_eq!(kept("\u{e9}".repeat(KEPT).as_bytes()), format!("{}\u{2026} (16384 bytes)", "\u{e9}".repeat(KEPT / 2)));
        assert_eq!(kept(b"\xff\0"), "\u{fffd}\u{fffd}");
        assert!(kept(&[0xff; 300_000]).len() < KEPT + 40);
    }
}
