//! Values of arguments, each refused with what it should be.

use gongfu_core::network::Rule;
use gongfu_server::{Address, AddressError};

/// An address to listen on. A port and a URL are common mistakes, so the answer has their address.
pub(super) fn address(text: &str) -> Result<Address, String> {
    let wrong = match text.parse() {
        Ok(address) => return Ok(address),
        Err(wrong) => wrong,
    };
    let wrong: AddressError = wrong;
    let host = text.split_once("://").map_or(text, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or_default();
    let meant = match text.parse::<u16>() {
        Ok(port) => format!("127.0.0.1:{port}"),
        Err(_) => host.to_owned(),
    };
    if meant != text && meant.parse::<Address>().is_ok() {
        return Err(format!("write it as an address: --listen {meant}"));
    }
    Err(wrong.to_string())
}

/// A number of seconds for a run.
pub(super) fn timeout(text: &str) -> Result<u32, String> {
    whole(text, 1..=3600, "seconds", "60")
}

/// The time for which a decision holds, in hours: `30d`, `12h`, or a number of hours.
pub(super) fn hours(text: &str) -> Result<u32, String> {
    let (number, factor) = match text.strip_suffix('d') {
        Some(days) => (days, 24),
        None => (text.strip_suffix('h').unwrap_or(text), 1),
    };
    let hours = number.parse::<u32>().ok();
    let hours = hours.and_then(|number| number.checked_mul(factor));
    let hours = hours.filter(|hours| (1..=87_600).contains(hours));
    hours.ok_or_else(|| "use days or hours, such as 30d or 12h, up to 3650d".to_owned())
}

/// A number of days.
pub(super) fn days(text: &str) -> Result<u32, String> {
    whole(text, 0..=36_500, "days", "30")
}

/// A number of skills.
pub(super) fn limit(text: &str) -> Result<u32, String> {
    whole(text, 1..=100, "skills", "10")
}

/// A number of calls.
pub(super) fn calls(text: &str) -> Result<u32, String> {
    whole(text, 1..=u32::MAX, "calls", "20")
}

/// A number of characters.
pub(super) fn budget(text: &str) -> Result<u32, String> {
    whole(text, 1..=65_536, "characters", "8000")
}

fn whole(
    text: &str,
    range: std::ops::RangeInclusive<u32>,
    unit: &str,
    example: &str,
) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = range.into_inner();
        let most = match most {
            u32::MAX => String::new(),
            most => format!(" to {most}"),
        };
        format!("use a whole number of {unit} from {least}{most}, such as {example}")
    })
}

/// A host that scripts may reach. A URL is a common mistake, so the answer has its host.
pub(super) fn host(text: &str) -> Result<Rule, String> {
    if ["*", "all", "any"].contains(&text) {
        return Err(
            "hosts are granted by name, such as api.example.com or *.example.com".to_owned(),
        );
    }
    let Some((scheme, rest)) = text.split_once("://") else {
        return match text.parse() {
            Err(_) if text.contains(['/', '@']) => Err(url(text)),
            rule => rule.map_err(|error: gongfu_core::network::RuleError| error.to_string()),
        };
    };
    if scheme.eq_ignore_ascii_case("http") && !rest.contains(':') {
        return Err(format!(
            "{}; scripts reach it over TLS, so http:// can't be used",
            url(rest)
        ));
    }
    Err(url(rest))
}

fn url(rest: &str) -> String {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    match host.parse::<Rule>() {
        Ok(rule) => format!("use the host name, not a URL: {rule}"),
        Err(_) => "use the host name, not a URL, such as api.example.com".to_owned(),
    }
}
