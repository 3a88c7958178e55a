//! The paths of the routes.

/// The path of MCP.
pub const MCP_PATH: &str = "/mcp";
/// The path that tells anybody that the server lives.
pub(crate) const HEALTH_PATH: &str = "/health";

/// The folder of what the operator publishes to anybody.
pub(crate) const PUBLISHED_PATH: &str = "/.well-known/agent-skills/";

/// The label of a path; all unknown ones share one.
pub(crate) fn label(path: &str) -> &'static str {
    const PATHS: [&str; 5] = [MCP_PATH, HEALTH_PATH, "/health/ready", "/metrics", "/sse"];
    if path.starts_with(PUBLISHED_PATH) {
        return PUBLISHED_PATH;
    }
    let known = PATHS.into_iter().find(|known| *known == path);
    known.unwrap_or("other")
}
