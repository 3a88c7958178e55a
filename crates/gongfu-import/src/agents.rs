//! The agents that read skills, and their folders.
//!
//! A table, one line an agent, as `npx skills` 1.7.4 has it: both put a skill into the same folders. Where the folders of
//! an agent are not `.agents/skills`, an installed skill gets a link there.

use std::path::{Path, PathBuf};

use gongfu_files::disk;

/// The folder of a project or a home that many agents read.
pub const SHARED: &str = ".agents/skills";

/// An agent, and where it looks for skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// Its name on the command line.
    pub id: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Its folder in a project.
    pub project: &'static str,
    /// Its folder in a home; empty where it has none.
    user: &'static str,
    /// Paths that exist where it is installed, one at least.
    signs: &'static [&'static str],
}

/// The variables that move an agent's own folder, and the folder without them.
const VARIABLES: [(&str, &str); 8] = [
    ("XDG_CONFIG_HOME", ".config"),
    ("AUTOHAND_HOME", ".autohand"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("GROK_HOME", ".grok"),
    ("HERMES_HOME", ".hermes"),
    ("SARVAM_HOME", ".sarvam"),
    ("VIBE_HOME", ".vibe"),
];

/// All agents. `~` is the home, `$NAME` the folder of a variable, `.` the project.
#[rustfmt::skip]
pub const AGENTS: [Agent; 78] = [
    agent("aider-desk", "AiderDesk", ".aider-desk/skills", "~/.aider-desk/skills", &["~/.aider-desk"]),
    agent("amp", "Amp", ".agents/skills", "$XDG_CONFIG_HOME/agents/skills", &["$XDG_CONFIG_HOME/amp"]),
    agent("antigravity", "Antigravity", ".agents/skills", "~/.gemini/antigravity/skills", &["~/.gemini/antigravity"]),
    agent("antigravity-cli", "Antigravity CLI", ".agents/skills", "~/.gemini/antigravity-cli/skills", &["~/.gemini/antigravity-cli"]),
    agent("astrbot", "AstrBot", "data/skills", "~/.astrbot/data/skills", &["./data/skills", "~/.astrbot"]),
    agent("autohand-code", "Autohand Code CLI", ".autohand/skills", "$AUTOHAND_HOME/skills", &["$AUTOHAND_HOME"]),
    agent("augment", "Augment", ".augment/skills", "~/.augment/skills", &["~/.augment"]),
    agent("bob", "IBM Bob", ".bob/skills", "~/.bob/skills", &["~/.bob"]),
    agent("claude-code", "Claude Code", ".claude/skills", "$CLAUDE_CONFIG_DIR/skills", &["$CLAUDE_CONFIG_DIR"]),
    agent("openclaw", "OpenClaw", "skills", "~/.openclaw/skills", &["~/.openclaw", "~/.clawdbot", "~/.moltbot"]),
    agent("cline", "Cline", ".agents/skills", "~/.agents/skills", &["~/.cline"]),
    agent("codearts-agent", "CodeArts Agent", ".codeartsdoer/skills", "~/.codeartsdoer/skills", &["~/.codeartsdoer"]),
    agent("codebuddy", "CodeBuddy", ".codebuddy/skills", "~/.codebuddy/skills", &["./.codebuddy", "~/.codebuddy"]),
    agent("codemaker", "Codemaker", ".codemaker/skills", "~/.codemaker/skills", &["~/.codemaker"]),
    agent("codestudio", "Code Studio", ".codestudio/skills", "~/.codestudio/skills", &["~/.codestudio"]),
    agent("codex", "Codex", ".agents/skills", "~/.agents/skills", &["$CODEX_HOME", "/etc/codex"]),
    agent("command-code", "Command Code", ".commandcode/skills", "~/.commandcode/skills", &["~/.commandcode"]),
    agent("continue", "Continue", ".continue/skills", "~/.continue/skills", &["./.continue", "~/.continue"]),
    agent("cortex", "Cortex Code", ".cortex/skills", "~/.snowflake/cortex/skills", &["~/.snowflake/cortex"]),
    agent("crush", "Crush", ".crush/skills", "~/.config/crush/skills", &["~/.config/crush"]),
    agent("cursor", "Cursor", ".agents/skills", "~/.cursor/skills", &["~/.cursor"]),
    agent("deepagents", "Deep Agents", ".agents/skills", "~/.deepagents/agent/skills", &["~/.deepagents"]),
    agent("devin", "Devin for Terminal", ".devin/skills", "$XDG_CONFIG_HOME/devin/skills", &["$XDG_CONFIG_HOME/devin"]),
    agent("dexto", "Dexto", ".agents/skills", "~/.agents/skills", &["~/.dexto"]),
    agent("droid", "Droid", ".agents/skills", "~/.factory/skills", &["~/.factory"]),
    agent("firebender", "Firebender", ".agents/skills", "~/.firebender/skills", &["~/.firebender"]),
    agent("forgecode", "ForgeCode", ".forge/skills", "~/.forge/skills", &["~/.forge"]),
    agent("fx", "fx", ".agents/skills", "~/.agents/skills", &["~/.fx"]),
    agent("gemini-cli", "Gemini CLI", ".agents/skills", "~/.gemini/skills", &["~/.gemini"]),
    agent("github-copilot", "GitHub Copilot", ".agents/skills", "~/.copilot/skills", &["~/.copilot"]),
    agent("goose", "Goose", ".goose/skills", "$XDG_CONFIG_HOME/goose/skills", &["$XDG_CONFIG_HOME/goose"]),
    agent("grok", "Grok Build", ".grok/skills", "$GROK_HOME/skills", &["$GROK_HOME"]),
    agent("hermes-agent", "Hermes Agent", ".hermes/skills", "$HERMES_HOME/skills", &["$HERMES_HOME"]),
    agent("inference-sh", "inference.sh", ".inferencesh/skills", "~/.inferencesh/skills", &["~/.inferencesh"]),
    agent("jazz", "Jazz", ".jazz/skills", "~/.jazz/skills", &["~/.jazz", "./.jazz"]),
    agent("junie", "Junie", ".junie/skills", "~/.junie/skills", &["~/.junie"]),
    agent("iflow-cli", "iFlow CLI", ".iflow/skills", "~/.iflow/skills", &["~/.iflow"]),
    agent("kilo", "Kilo Code", ".agents/skills", "~/.kilo/skills", &["~/.kilo", "~/.kilocode"]),
    agent("kimchi", "Kimchi", ".kimchi/skills", "~/.config/kimchi/harness/skills", &["~/.config/kimchi"]),
    agent("kimi-code-cli", "Kimi Code CLI", ".agents/skills", "~/.agents/skills", &["~/.kimi-code", "~/.kimi"]),
    agent("kiro-cli", "Kiro CLI", ".kiro/skills", "~/.kiro/skills", &["~/.kiro"]),
    agent("kode", "Kode", ".kode/skills", "~/.kode/skills", &["~/.kode"]),
    agent("lingma", "Lingma", ".lingma/skills", "~/.lingma/skills", &["~/.lingma"]),
    agent("loaf", "Loaf", ".agents/skills", "~/.agents/skills", &["~/.loaf"]),
    agent("mcpjam", "MCPJam", ".mcpjam/skills", "~/.mcpjam/skills", &["~/.mcpjam"]),
    agent("minimax-code", "MiniMax Code", ".minimax/skills", "~/.minimax/skills", &["~/.minimax", "/Applications/MiniMax Code.app"]),
    agent("mistral-vibe", "Mistral Vibe", ".vibe/skills", "$VIBE_HOME/skills", &["$VIBE_HOME"]),
    agent("moxby", "Moxby", ".moxby/skills", "~/.moxby/skills", &["~/.moxby"]),
    agent("mux", "Mux", ".mux/skills", "~/.mux/skills", &["~/.mux"]),
    agent("opencode", "OpenCode", ".agents/skills", "$XDG_CONFIG_HOME/opencode/skills", &["$XDG_CONFIG_HOME/opencode"]),
    agent("openhands", "OpenHands", ".openhands/skills", "~/.openhands/skills", &["~/.openhands"]),
    agent("ona", "Ona", ".ona/skills", "~/.ona/skills", &["~/.ona"]),
    agent("pi", "Pi", ".agents/skills", "~/.agents/skills", &["~/.pi/agent"]),
    agent("posit-assistant", "Posit Assistant", ".posit/assistant/skills", "~/.posit/assistant/skills", &["~/.posit/assistant", "~/.positai"]),
    agent("qoder", "Qoder", ".qoder/skills", "~/.qoder/skills", &["~/.qoder"]),
    agent("qoder-cn", "Qoder CN", ".qoder/skills", "~/.qoder-cn/skills", &["~/.qoder-cn"]),
    agent("qwen-code", "Qwen Code", ".qwen/skills", "~/.qwen/skills", &["~/.qwen"]),
    agent("replit", "Replit", ".agents/skills", "$XDG_CONFIG_HOME/agents/skills", &["./.replit"]),
    agent("reasonix", "Reasonix", ".reasonix/skills", "~/.reasonix/skills", &["~/.reasonix"]),
    agent("rovodev", "Rovo Dev", ".rovodev/skills", "~/.rovodev/skills", &["~/.rovodev"]),
    agent("roo", "Roo Code", ".roo/skills", "~/.roo/skills", &["~/.roo"]),
    agent("sarvam-code", "Sarvam Code", ".agents/skills", "~/.agents/skills", &["$SARVAM_HOME"]),
    agent("tabnine-cli", "Tabnine CLI", ".tabnine/agent/skills", "~/.tabnine/agent/skills", &["~/.tabnine"]),
    agent("terramind", "Terramind", ".terramind/skills", "~/.terramind/skills", &["~/.terramind"]),
    agent("tinycloud", "Tinycloud", ".tinycloud/skills", "~/.tinycloud/skills", &["~/.tinycloud"]),
    agent("trae", "Trae", ".trae/skills", "~/.trae/skills", &["~/.trae"]),
    agent("trae-cn", "Trae CN", ".trae/skills", "~/.trae-cn/skills", &["~/.trae-cn"]),
    agent("warp", "Warp", ".agents/skills", "~/.agents/skills", &["~/.warp"]),
    agent("windsurf", "Windsurf", ".windsurf/skills", "~/.codeium/windsurf/skills", &["~/.codeium/windsurf"]),
    agent("zed", "Zed", ".agents/skills", "~/.agents/skills", &["$XDG_CONFIG_HOME/zed"]),
    agent("zcode", "ZCode", ".zcode/skills", "~/.zcode/skills", &["~/.zcode", "/Applications/ZCode.app"]),
    agent("zencoder", "Zencoder", ".zencoder/skills", "~/.zencoder/skills", &["~/.zencoder"]),
    agent("zenflow", "Zenflow", ".zencoder/skills", "~/.zencoder/skills", &["~/.zencoder"]),
    agent("neovate", "Neovate", ".neovate/skills", "~/.neovate/skills", &["~/.neovate"]),
    agent("pochi", "Pochi", ".pochi/skills", "~/.pochi/skills", &["~/.pochi"]),
    agent("promptscript", "PromptScript", ".agents/skills", "", &["./.promptscript", "./promptscript.yaml"]),
    agent("adal", "AdaL", ".adal/skills", "~/.adal/skills", &["~/.adal"]),
    agent("universal", "Universal", ".agents/skills", "$XDG_CONFIG_HOME/agents/skills", &[]),
];

const fn agent(
    id: &'static str,
    title: &'static str,
    project: &'static str,
    user: &'static str,
    signs: &'static [&'static str],
) -> Agent {
    Agent {
        id,
        title,
        project,
        user,
        signs,
    }
}

/// A person's machine, as far as the folders of agents depend on it.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The home folder.
    pub home: &'a Path,
    /// The value of a variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<PathBuf>,
}

impl Agent {
    /// The agent of a name.
    pub fn by_id(id: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.id == id)
    }

    /// Returns true if it reads the shared folder of a project.
    pub fn is_shared(&self) -> bool {
        self.project == SHARED
    }

    /// Its folder in the home of a person, where it has one.
    pub fn user_folder(&self, machine: Machine<'_>) -> Option<PathBuf> {
        (!self.user.is_empty()).then(|| expanded(self.user, machine, Path::new("")))
    }

    /// Returns true if it seems to be installed.
    pub fn is_installed(&self, machine: Machine<'_>, project: &Path) -> bool {
        let mut signs = self.signs.iter();
        signs.any(|sign| disk::kind_outside(&expanded(sign, machine, project)).is_some())
    }

    /// Returns true if a project has a folder of its own for it.
    pub fn is_used_in(&self, project: &Path) -> bool {
        let top = self.project.split('/').next().unwrap_or_default();
        disk::kind_outside(&project.join(top)).is_some()
    }
}

pub(crate) fn expanded(text: &str, machine: Machine<'_>, project: &Path) -> PathBuf {
    let (first, rest) = text.split_once('/').unwrap_or((text, ""));
    let folder = match first.strip_prefix('$') {
        Some(name) => {
            let default = VARIABLES.iter().find(|(variable, _)| *variable == name);
            let default = default.map_or("", |(_, folder)| *folder);
            (machine.variable)(name).unwrap_or_else(|| machine.home.join(default))
        }
        None => match first {
            "~" => machine.home.to_owned(),
            "." => project.to_owned(),
            _ => PathBuf::from("/"),
        },
    };
    folder.join(rest).components().collect()
}

/// The names of the variables that move the folders of agents.
pub fn variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::{AGENTS, Agent, Machine};

    #[test]
    fn folders_follow_the_home_and_the_variables() {
        let none = |_: &str| None;
        let plain = Machine {
            home: Path::new("/h"),
            variable: &none,
        };
        let folder = |id: &str, machine| Agent::by_id(id).unwrap().user_folder(machine).unwrap();
        assert_eq!(folder("claude-code", plain), Path::new("/h/.claude/skills"));
        assert_eq!(folder("goose", plain), Path::new("/h/.config/goose/skills"));
        let moved = |name: &str| (name == "CLAUDE_CONFIG_DIR").then(|| PathBuf::from("/c"));
        let machine = Machine {
            variable: &moved,
            ..plain
        };
        assert_eq!(folder("claude-code", machine), Path::new("/c/skills"));
        assert_eq!(
            Agent::by_id("promptscript").unwrap().user_folder(plain),
            None
        );
    }

    #[test]
    fn table_is_whole() {
        let ids: BTreeSet<&str> = AGENTS.iter().map(|agent| agent.id).collect();
        assert_eq!(ids.len(), AGENTS.len());
        for agent in AGENTS {
            let is_known = |path: &str| path.starts_with(['~', '$', '.', '/']) || path.is_empty();
            assert!(is_known(agent.user), "{}", agent.id);
            assert!(
                agent.signs.iter().all(|sign| is_known(sign)),
                "{}",
                agent.id
            );
            assert!(!agent.project.starts_with('/') && !agent.project.contains(".."));
        }
    }
}
