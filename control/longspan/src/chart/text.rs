//! Text in charts and pages.

/// Escapes `text` for elements and attributes of HTML and SVG.
pub fn escaped(text: &str) -> String {
    let characters = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    characters.into_iter().fold(text.to_owned(), |text, (character, safe)| text.replace(character, safe))
}

/// The last `room` characters of a name that is too long, because names differ mostly at their ends.
pub fn shortened(name: &str, room: usize) -> String {
    let count = name.chars().count();
    if count <= room {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(count - (room - 2)).collect();
    format!("..{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_scenario_says_becomes_markup() {
        assert_eq!(escaped("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
        assert_eq!(escaped("80 km, 400 us"), "80 km, 400 us");
    }

    #[test]
    fn of_a_long_name_the_end_is_shown() {
        assert_eq!(shortened("bifrost", 25), "bifrost");
        let long = shortened("bifrost long_haul.bifrost.slot=100us", 25);
        assert_eq!(long, "..haul.bifrost.slot=100us");
        assert_eq!(long.len(), 25);
    }
}
