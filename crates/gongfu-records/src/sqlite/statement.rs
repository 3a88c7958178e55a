//! The statements, all of them: another database needs its own and nothing else.

/// A read of every table, which fails where one is missing.
pub(super) const TABLES: &str = "SELECT EXISTS (SELECT 1 FROM record), EXISTS (SELECT 1 FROM log)";

/// The value of a record.
pub(super) const RECORD: &str = "SELECT value, version FROM record WHERE scope = $1 AND key = $2";

/// A page of records: one of this key (2), then those in the range from (4) to (5), after (3), at most (6).
pub(super) const PAGE: &str = "
    SELECT key, value, version FROM record WHERE scope = $1 AND key = $2 AND key > $3
    UNION ALL
    SELECT key, value, version FROM record WHERE scope = $1 AND key > $4 AND key < $5
    ORDER BY key LIMIT $6";

/// A new record: no row where there is one.
pub(super) const INSERT: &str = "
    INSERT INTO record (scope, key, value, version) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING";

/// Another value: no row where there is another version.
pub(super) const UPDATE: &str = "
    UPDATE record SET value = $3, version = $4
    WHERE scope = $1 AND key = $2 AND version = $5";

/// A record that is removed: no row where there is another version.
pub(super) const DELETE: &str = "DELETE FROM record WHERE scope = $1 AND key = $2 AND version = $3";

/// The last entries of a log, the newest first.
pub(super) const LAST_ENTRIES: &str = "
    SELECT entry FROM log WHERE scope = $1 AND log = $2
    ORDER BY number DESC LIMIT $3";

/// The entries of a log after a number.
pub(super) const ENTRIES_AFTER: &str = "
    SELECT number, entry, hash FROM log WHERE scope = $1 AND log = $2 AND number > $3
    ORDER BY number LIMIT $4";

/// The end of a log.
pub(super) const HEAD: &str = "
    SELECT number, hash FROM log WHERE scope = $1 AND log = $2
    ORDER BY number DESC LIMIT 1";

/// A new entry of a log.
pub(super) const APPEND: &str =
    "INSERT INTO log (scope, log, number, entry, hash) VALUES ($1, $2, $3, $4, $5)";

/// A copy of the whole database in a new file.
pub(super) const COPY: &str = "VACUUM INTO $1";

/// All entries of a log.
pub(super) const REMOVE_LOG: &str = "DELETE FROM log WHERE scope = $1 AND log = $2";

/// Every record of a scope.
pub(super) const REMOVE_RECORDS: &str = "DELETE FROM record WHERE scope = $1";

/// Every log of a scope.
pub(super) const REMOVE_LOGS: &str = "DELETE FROM log WHERE scope = $1";
