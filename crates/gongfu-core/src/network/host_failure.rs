//! Output of programs that found no network, and the host that they wanted.

use super::{Destination, Endpoint, Rule};

/// The words of programs that reach no host, and whether the host follows.
const FAILURES: [(&str, bool); 19] = [
    // curl and git, ssh, wget, BusyBox, apt
    ("Could not resolve host: ", true),
    ("Could not resolve hostname ", true),
    ("unable to resolve host address ", true),
    ("wget: bad address ", true),
    ("Temporary failure resolving ", true),
    ("Failed to connect to ", true),
    // urllib3, Node.js, Go, Rust
    ("Failed to resolve ", true),
    ("getaddrinfo EAI_AGAIN ", true),
    ("getaddrinfo ENOTFOUND ", true),
    ("connect ENETUNREACH ", true),
    ("dial tcp: lookup ", true),
    ("failed to lookup address information", false),
    // the C library and the kernel
    ("Temporary failure in name resolution", false),
    ("Name or service not known", false),
    ("Network is unreachable", false),
    ("EAI_AGAIN", false),
    ("ENOTFOUND", false),
    ("getaddrinfo failed", false),
    ("socket.gaierror", false),
];
/// The schemes before the host in a URL.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// The words before the host in messages of urllib3.
const MEMBER: &str = "host='";

/// A host that a program wanted and didn't reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFailure {
    /// The rule that would allow it; `None` where no output names a host.
    pub host: Option<Rule>,
}

/// The host that a command didn't reach for want of a network, by what it printed; `None` if it says nothing of
/// the kind, or speaks of the machine itself.
pub fn host_failure(output: &str, command: &str) -> Option<HostFailure> {
    let (rest, follows) = output.lines().find_map(|line| {
        let of_line = |(phrase, follows): &(&str, bool)| {
            let (_, rest) = line.split_once(phrase)?;
            Some((rest, *follows))
        };
        FAILURES.iter().find_map(of_line)
    })?;
    let told = follows.then(|| name(rest));
    let told = told.or_else(|| output.split_once(MEMBER).map(|(_, rest)| name(rest)));
    let told = told.filter(|host| !host.is_empty());
    let url = || {
        let texts = [output, command].into_iter();
        texts
            .flat_map(urls)
            .find(|(host, _)| told.is_none_or(|told| told == *host))
    };
    let (host, port) = match (url(), told) {
        (Some((host, port)), _) => (host, port),
        (None, Some(host)) => (host, Rule::HTTPS),
        (None, None) => return Some(HostFailure { host: None }),
    };
    if host == "localhost" || host.starts_with("127.") || host == "0.0.0.0" {
        return None;
    }
    let host = match format!("{host}:{port}").parse() {
        Ok(Endpoint::Name(Destination { host, port })) => {
            Some(Rule::exactly(&Destination { host, port }))
        }
        // No address can be granted.
        _ => None,
    };
    Some(HostFailure { host })
}

/// The name of a host at the start of a text, in quotes or not.
fn name(text: &str) -> &str {
    let text = text.trim_start_matches(['\'', '"', '`', '‘', '“']);
    let is_part = |c: char| c.is_alphanumeric() || c == '.' || c == '-';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text.get(..end).unwrap_or_default().trim_end_matches('.')
}

/// The hosts and ports of URLs in a text.
fn urls(text: &str) -> impl Iterator<Item = (&str, u16)> {
    SCHEMES.iter().flat_map(move |scheme| {
        let after = text.split(scheme).skip(1);
        after.filter_map(move |rest| {
            // `user:password@host`
            let authority = rest.split(['/', '?', '#', '\'', '"', ' ', '\n']).next()?;
            let at = authority.rsplit('@').next()?;
            let host = name(at);
            let port = at.get(host.len()..)?.strip_prefix(':');
            let port = port.and_then(|port| {
                let end = port.find(|c: char| !c.is_ascii_digit());
                port.get(..end.unwrap_or(port.len()))?.parse().ok()
            });
            // Hosts are reached by TLS, whatever the URL says.
            (!host.is_empty()).then_some((host, port.unwrap_or(Rule::HTTPS)))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::host_failure;

    #[test]
    fn the_host_is_told_by_what_programs_print() {
        for (output, command, host) in [
            (
                "curl: (6) Could not resolve host: example.com",
                "curl https://example.com",
                "example.com",
            ),
            (
                "curl: (6) Could not resolve host: example.com",
                "curl http://example.com/x",
                "example.com",
            ),
            (
                "fatal: unable to access 'https://github.com/x/y/': Could not resolve host: github.com",
                "git clone https://github.com/x/y",
                "github.com",
            ),
            (
                "wget: unable to resolve host address ‘example.com’",
                "wget https://example.com:8443/",
                "example.com:8443",
            ),
            (
                "<urlopen error [Errno -3] Temporary failure in name resolution>",
                "python get.py https://u:p@api.example.com/v1?x=1",
                "api.example.com",
            ),
            (
                "HTTPSConnectionPool(host='example.org', port=443): Max retries exceeded\nsocket.gaierror: [Errno -2] Name or service not known",
                "python get.py",
                "example.org",
            ),
            (
                "Error: getaddrinfo EAI_AGAIN registry.example.com\n  code: 'EAI_AGAIN'",
                "node get.js",
                "registry.example.com",
            ),
            (
                "dial tcp: lookup example.com on 10.0.0.1:53: no such host",
                "./get",
                "example.com",
            ),
        ] {
            let found = host_failure(output, command).and_then(|found| found.host);
            let found = found.map(|found| found.to_string());
            assert_eq!(found.as_deref(), Some(host), "{output}");
        }
    }

    #[test]
    fn a_host_that_nobody_names_is_unknown() {
        for (output, command) in [
            (
                "OSError: [Errno 101] Network is unreachable",
                "python get.py",
            ),
            (
                "curl: (7) Failed to connect to 192.0.2.1 port 443",
                "curl https://192.0.2.1",
            ),
        ] {
            let found = host_failure(output, command);
            assert_eq!(found.map(|found| found.host), Some(None), "{output}");
        }
    }

    #[test]
    fn other_failures_are_no_lack_of_a_network() {
        for (output, command) in [
            ("", "curl https://example.com"),
            ("ls: cannot access 'x': No such file or directory", "ls x"),
            (
                "curl: (7) Failed to connect to localhost port 8080 after 0 ms",
                "curl http://localhost:8080",
            ),
            (
                "curl: (7) Failed to connect to 127.0.0.1 port 80",
                "curl http://127.0.0.1",
            ),
        ] {
            assert_eq!(host_failure(output, command), None, "{output}");
        }
    }
}
