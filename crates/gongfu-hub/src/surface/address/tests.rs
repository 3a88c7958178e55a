//! Every place has a URI that leads back to it, and nothing else leads anywhere.

use proptest::prelude::*;

use super::{AddressError, decode, encode, join};

#[test]
fn address_that_hides_or_climbs_is_refused() {
    for (uri, why) in [
        ("file:///etc/passwd", AddressError::Scheme),
        ("https://lib/pdf/SKILL.md", AddressError::Scheme),
        ("lib/pdf/SKILL.md", AddressError::Scheme),
        ("skill:/lib/pdf/SKILL.md", AddressError::Scheme),
        ("", AddressError::Scheme),
        ("skill://lib/pdf/SKILL.md?x=1", AddressError::Query),
        ("skill://lib/pdf/SKILL.md#top", AddressError::Fragment),
        ("skill://me@lib/pdf", AddressError::User),
        ("skill://lib:80/pdf", AddressError::Port),
        ("skill:///pdf", AddressError::NoSource),
        ("skill:////", AddressError::NoSource),
        ("skill://lib/", AddressError::TrailingSlash),
        ("skill://lib/pdf/", AddressError::TrailingSlash),
        ("skill://lib//pdf", AddressError::Empty),
        ("skill://lib/./pdf", AddressError::Dots),
        ("skill://lib/../pdf", AddressError::Dots),
        ("skill://lib/%2e%2E/pdf", AddressError::Dots),
        ("skill://lib/.%2e/pdf", AddressError::Dots),
        ("skill://%2e%2e/pdf", AddressError::Dots),
        ("skill://lib/a%2fb", AddressError::Slash),
        ("skill://lib/..%2f..%2fetc", AddressError::Slash),
        ("skill://lib/a\\b", AddressError::Backslash),
        ("skill://lib/a%5Cb", AddressError::Backslash),
        ("skill://lib/a%00b", AddressError::Control),
        ("skill://lib/a\0b", AddressError::Control),
        ("skill://lib/a%0d%0aX:%20y", AddressError::Control),
        ("skill://lib/a%C2%85", AddressError::Control),
        ("skill://lib/a b", AddressError::Character),
        ("skill://lib/日本", AddressError::Character),
        ("skill://lib/a<b>", AddressError::Character),
        ("skill://lib/a%", AddressError::Percent),
        ("skill://lib/a%4", AddressError::Percent),
        ("skill://lib/a%zz", AddressError::Percent),
        ("skill://lib/a%+1", AddressError::Percent),
        ("skill://lib/%ff", AddressError::NotText),
        ("skill://lib/%c0%af", AddressError::NotText),
    ] {
        assert_eq!(decode(uri), Err(why), "{uri:?}");
    }
    let long = format!("skill://lib/{}", "a/".repeat(40_000));
    assert_eq!(decode(&long), Err(AddressError::TooLong));
}

#[test]
fn other_spellings_of_a_place_are_read() {
    for uri in [
        "skill://lib/pdf/a(b)~c.md",
        "SKILL://LIB/pdf/a(b)~c.md",
        "skill://lib/pdf/a%28b%29%7Ec.md",
        "skill://%6cib/p%64f/a(b)%7ec.md",
    ] {
        let place = decode(uri).unwrap();
        assert_eq!(place.as_str(), "lib/pdf/a(b)~c.md", "{uri}");
        assert_eq!(encode(place.as_str()), "skill://lib/pdf/a(b)~c.md");
    }
    // Only scheme and source are: files differ by case.
    assert_eq!(decode("skill://lib/PDF").unwrap().as_str(), "lib/PDF");
    assert_eq!(decode("skill://").unwrap().as_str(), "");
}

#[test]
fn a_uri_is_of_plain_characters() {
    let uri = encode("lib/my skill/ä?#%41/[x].md");
    assert_eq!(uri, "skill://lib/my%20skill/%C3%A4%3F%23%2541/%5Bx%5D.md");
    assert_eq!(join("skill://lib/a", "b c"), "skill://lib/a/b%20c");
    assert_eq!(join("skill://lib/a", ""), "skill://lib/a");
}

/// A name that a file system takes, mostly one that means something to a URI.
fn name() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(vec![
        "%2e%2e",
        "%",
        "%2F",
        "a b",
        "?",
        "#",
        "@",
        ":",
        "~",
        "..a",
        "a..",
        "SKILL.md",
        "日本",
        "é",
        "e\u{301}",
        "..%2f",
        "&amp;",
        "[x]",
        "{y}",
        "|",
        "\"",
        "<",
        "a%00b",
        "\u{202e}x",
        "\u{feff}",
    ]);
    let any = "[^/\\\\\\p{Cc}]{1,12}".prop_filter("dots", |name| name != "." && name != "..");
    prop_oneof![odd.prop_map(str::to_owned), any]
}

proptest! {
    #[test]
    fn each_place_has_a_uri_that_leads_back(source in "[a-z0-9-]{1,12}", names in prop::collection::vec(name(), 0..6)) {
        let mut place = source;
        for name in &names {
            place.push('/');
            place.push_str(name);
        }
        let uri = encode(&place);
        prop_assert!(uri.is_ascii() && !uri.contains([' ', '\\', '?', '#', '"', '<']));
        let read = decode(&uri).unwrap();
        prop_assert_eq!(read.as_str(), &place);
    }

    #[test]
    fn decoded_address_stays_the_same_when_encoded(uri in "(skill://)?[a-zA-Z0-9%./:@?#\\\\ é-]{0,40}") {
        if let Ok(read) = decode(&uri) {
            let place = read.as_str();
            prop_assert!(place.is_empty() || place.split('/').all(|part| !matches!(part, "" | "." | "..")));
            prop_assert!(!place.contains('\\') && !place.chars().any(char::is_control));
            let again = decode(&encode(place)).unwrap();
            prop_assert_eq!(again.as_str(), place);
        }
    }
}
