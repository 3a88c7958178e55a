//! The token of `gongfu serve`: a file of the home that only its owner may read.

use std::io::{self, Read as _};

use anyhow::{Context as _, anyhow, bail};
use gongfu_core::skill::SkillPath;
use gongfu_files::Home;
use gongfu_files::disk::Root;
use gongfu_server::Token;

const FILE: &str = "token";
/// More than a token and a line break.
const LIMIT: u64 = 100;

/// Reads the token; makes it at the first need.
pub(crate) fn read_or_make(home: &Home) -> anyhow::Result<Token> {
    if let Some(token) = read(home)? {
        return Ok(token);
    }
    let mut bits = [0; 32];
    getrandom::fill(&mut bits)
        .map_err(|error| anyhow!("the system has no random numbers: {error}"))?;
    let token = Token::of(&bits);
    let made = home
        .open()
        .and_then(|root| root.create_private_file(FILE, token.as_str().as_bytes()));
    match made {
        Ok(()) => Ok(token),
        // Another gongfu was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            read(home)?.ok_or_else(|| anyhow!("the token was removed at the same time; try again"))
        }
        Err(error) => Err(error).with_context(|| {
            let file = home.path().join(FILE);
            format!("can't create {}", file.display())
        }),
    }
}

/// Reads the token; `None` before it was made.
pub(crate) fn read(home: &Home) -> anyhow::Result<Option<Token>> {
    let name = SkillPath::new(FILE)?;
    let opened = Root::open(home.path()).and_then(|root| root.open_file(&name));
    let shown = home.path().join(FILE);
    let shown = shown.display();
    let file = match opened {
        Ok((file, _)) => file.into_std(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("{shown} can't be read")),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            bail!("{shown} is readable by others; remove it to create a new one");
        }
    }
    let mut text = String::new();
    let read = file.take(LIMIT).read_to_string(&mut text);
    match Token::parse(text.trim_end()) {
        Some(token) if read.is_ok() => Ok(Some(token)),
        _ => bail!("{shown} contains no token; remove it to create a new one"),
    }
}
