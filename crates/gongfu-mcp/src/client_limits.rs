//! The limits of clients: of the texts of a server, each shows its model so much. Measured with the real programs
//! and a model on loopback.
//!
//! `just prove-clients --measure` measures it again: with a server whose texts are longer than any limit, it looks how
//! much of them is in the requests to the model. A client that isn't here gets the default of the settings.
//!
//! | client | version | measured | instructions | a tool's description | how tools are shown |
//! |---|---|---|---|---|---|
//! | Claude Code | 2.1.197 | 2026-11-24 | 2,048 | 2,048 | all at once |
//! | Claude Code | 2.1.330 | 2026-11-24 | 4,096 | 4,096; found by its search 16,384 | names alone, until the model looks for one |
//! | Codex | 0.169.0 | 2026-11-24 | 120,000 and more | 120,000 and more | all, of servers that answer within about a second |
//! | Gemini CLI | 0.61.0 | 2026-11-24 | 120,000 and more | 120,000 and more | all at once |
//! | opencode | 1.18.33 | 2026-11-24 | 120,000 and more | 120,000 and more | all at once |

use std::time::Duration;

use rmcp::model::Implementation;

/// The time that an answer waits for the library, unless a client has less patience.
const WAIT: Duration = Duration::from_secs(5);
/// The tools that a model needs at once to find any skill, or any tool of another server.
const FIRST: [&str; 4] = ["skill_load", "skill_search", "tool_call", "tool_search"];

/// The limits of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientLimits {
    /// The name by which the client introduces itself.
    name: &'static str,
    /// The version from which on this holds, as three numbers.
    since: [u32; 3],
    /// The characters of a server's instructions.
    pub(crate) instructions: usize,
    /// The time that it waits for an answer that needs the library, when that is still being read.
    pub(crate) wait: Duration,
    /// True if it shows only the names of tools, unless a tool says that it is needed at once.
    defers_tools: bool,
}

/// The clients that differ; of one name, the latest version last.
const CLIENTS: [ClientLimits; 3] = [
    // Its first turn has only the tools of servers that listed them within about a second; there are two answers
    // until then.
    ClientLimits {
        name: "codex-mcp-client",
        wait: Duration::from_millis(400),
        ..UNKNOWN
    },
    ClientLimits {
        name: "claude-code",
        since: [0, 0, 0],
        instructions: 2_048,
        wait: WAIT,
        defers_tools: false,
    },
    ClientLimits {
        name: "claude-code",
        since: [2, 1, 330],
        instructions: 4_096,
        wait: WAIT,
        defers_tools: true,
    },
];

/// Any other client.
const UNKNOWN: ClientLimits = ClientLimits {
    name: "",
    since: [0, 0, 0],
    instructions: usize::MAX,
    wait: WAIT,
    defers_tools: false,
};

impl ClientLimits {
    /// The limits of a client, by what it says of itself.
    pub(crate) fn of(client: Option<&Implementation>) -> Self {
        let Some(client) = client else {
            return UNKNOWN;
        };
        let version = version(&client.version);
        let mut known = CLIENTS.iter().rev();
        let known = known.find(|known| known.name == client.name && known.since <= version);
        known.copied().unwrap_or(UNKNOWN)
    }

    /// Returns true if the client is asked to show a tool at once.
    pub(crate) fn wants_at_once(self, tool: &str) -> bool {
        self.defers_tools && FIRST.contains(&tool)
    }
}

/// The first three numbers of a version; zero where it has none.
fn version(text: &str) -> [u32; 3] {
    let mut numbers = text.split(|c: char| !c.is_ascii_digit());
    std::array::from_fn(|_| {
        let number = numbers.next().and_then(|number| number.parse().ok());
        number.unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use rmcp::model::Implementation;

    use super::ClientLimits;

    fn instructions(name: &str, version: &str) -> usize {
        ClientLimits::of(Some(&Implementation::new(name, version))).instructions
    }

    #[test]
    fn limits_follow_the_version_of_a_client() {
        assert_eq!(instructions("claude-code", "2.1.197"), 2_048);
        assert_eq!(instructions("claude-code", "2.1.330"), 4_096);
        assert_eq!(instructions("claude-code", "3.0.0"), 4_096);
        for odd in ["", "v9", "99999999999.1", "2", "…", "-1.-2"] {
            assert_eq!(instructions("claude-code", odd), 2_048, "{odd}");
        }
        assert_eq!(instructions("Claude-Code", "2.1.330"), usize::MAX);
        assert_eq!(ClientLimits::of(None).instructions, usize::MAX);
    }

    #[test]
    fn only_a_client_that_defers_tools_is_asked_to_show_some() {
        let client = |version| Implementation::new("claude-code", version);
        let now = ClientLimits::of(Some(&client("2.1.330")));
        assert!(now.wants_at_once("skill_search") && now.wants_at_once("tool_search"));
        assert!(!now.wants_at_once("skill_run"));
        let before = ClientLimits::of(Some(&client("2.1.197")));
        assert!(!before.wants_at_once("skill_search"));
    }
}
