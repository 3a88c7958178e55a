//! Lengths of time as people write them: `30m`, `12h`, `30d`.

/// The milliseconds of a length of time; `None` for any other text.
pub(crate) fn milliseconds(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds: i64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    let number = number.parse::<u32>().ok()?;
    Some(i64::from(number) * seconds * 1_000)
}
