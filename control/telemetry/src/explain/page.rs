//! `explain`, for people.

use super::effect::{Effect, Explanation};
use crate::health::write_cause;
use units::human::duration;

/// The page: the cause, the chains in a sentence each, then what happens with its causes, each level indented.
pub fn render(explanation: &Explanation) -> String {
    let mut page = String::new();
    if let Some(cause) = &explanation.cause {
        write_cause(&mut page, cause);
        page.push('\n');
    }
    for sentence in &explanation.because {
        page.push_str(sentence);
        page.push('\n');
    }
    if explanation.effects.is_empty() {
        page.push_str(&format!(
            "{} has paused no one, was not paused, marked and dropped nothing over {}, and holds no frame.\n",
            explanation.port,
            duration(explanation.over_ns)
        ));
    } else {
        if !explanation.because.is_empty() {
            page.push('\n');
        }
        page.push_str(&format!("{}, over {}:\n", explanation.port, duration(explanation.over_ns)));
        for effect in &explanation.effects {
            write_effect(&mut page, effect, &explanation.port, 1);
        }
    }
    page
}

fn write_effect(page: &mut String, effect: &Effect, above: &str, depth: usize) {
    let place = match (effect.priority, effect.port == above) {
        (Some(priority), true) if depth == 1 => format!("priority {priority}: "),
        _ => String::new(),
    };
    page.push_str(&format!("{}{place}{}\n", "  ".repeat(depth), effect.text));
    for cause in &effect.causes {
        write_effect(page, cause, &effect.port, depth + 1);
    }
}
