//! Opens a database by its URL: one line for each kind.

use std::path::Path;
use std::sync::Arc;

use gongfu_core::port::PortError;

use crate::database::Database;
use crate::sqlite::Sqlite;

/// Opens a database by its URL, such as `sqlite:/var/lib/gongfu/server.db`; creates it where it is missing.
///
/// # Errors
/// No such kind of database is known, or it can't be opened; the error says what to do.
pub async fn open_database(url: &str) -> Result<Arc<dyn Database>, PortError> {
    let (scheme, rest) = url.split_once(':').unwrap_or(("", url));
    let path = rest.strip_prefix("//").unwrap_or(rest);
    match scheme {
        "sqlite" if !path.is_empty() => Ok(Arc::new(Sqlite::open(Path::new(path)).await?)),
        // The rest of a URL may hold a password.
        _ => Err(PortError::Unavailable(format!(
            "there is no database of the kind `{scheme}`; use `sqlite:` and the path of a file"
        ))),
    }
}

#[cfg(test)]
mod tests;
