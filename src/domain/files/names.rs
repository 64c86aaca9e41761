//! Names of files, as text that is shown and saved: no paths, and nothing that hides or turns what stands beside it.

use crate::domain::text::{format_characters::without_format_characters, printable};

/// Bytes of a name, as file systems take them.
const LONGEST: usize = 255;
/// Bytes of an ending that stays when a name is cut.
const LONGEST_ENDING: usize = 16;
/// The name of a file whose own has nothing to show.
const NAMELESS: &str = "file";

/// Letters that show nothing, and separators of lines.
const BLANK: [char; 6] = ['\u{115f}', '\u{1160}', '\u{3164}', '\u{ffa0}', '\u{2028}', '\u{2029}'];

/// The name without paths, control and format characters, cut to 255 bytes before its ending.
pub fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown = without_format_characters(&printable(last)).replace('\n', " ").replace(BLANK, "");
    match shown.trim() {
        "" | "." | ".." => NAMELESS.to_owned(),
        name => cut(name),
    }
}

fn cut(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let ending = name.rfind('.').map(|dot| &name[dot..]).filter(|ending| ending.len() <= LONGEST_ENDING).unwrap_or_default();
    let end = name.floor_char_boundary(LONGEST - ending.len());
    format!("{}{ending}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_path_and_hides_nothing() {
        for (sent, kept) in [
            ("photo.png", "photo.png"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\ada\\plan.docx", "plan.docx"),
            ("invoice\u{202e}gpj.exe", "invoicegpj.exe"),
            ("a\0b\r\nc\u{7f}.txt", "ab c.txt"),
            ("zero\u{200b}width.txt", "zerowidth.txt"),
            ("  spaces around.txt ", "spaces around.txt"),
            ("..", NAMELESS),
            ("\u{3164}\u{115f}", NAMELESS),
            ("a\u{2028}b.txt", "ab.txt"),
            ("", NAMELESS),
            ("a/", NAMELESS),
            ("日本語 (1).pdf", "日本語 (1).pdf"),
        ] {
            assert_eq!(clean_name(sent), kept, "{sent:?}");
        }
    }

    #[test]
    fn a_long_name_keeps_its_ending() {
        let long = format!("{}.tar", "ü".repeat(5000));
        let kept = clean_name(&long);
        assert!(kept.len() <= LONGEST && kept.len() > LONGEST - 2 && kept.ends_with("ü.tar"), "{kept}");
        assert_eq!(clean_name(&"x".repeat(255)).len(), 255);
        assert_eq!(clean_name(&"x".repeat(256)).len(), 255);
        assert_eq!(clean_name(&format!("a.{}", "b".repeat(300))).len(), 255);
    }
}
