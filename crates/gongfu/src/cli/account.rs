//! The commands about accounts of a server: users, teams and API tokens.

use clap::{Args, Subcommand};
use gongfu_core::account::{Email, Scope, TeamName, Username};
use gongfu_hub::Profile;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// Create a user
    ///
    /// The password is asked for on a terminal. In a script, pass it on standard input with --password-stdin.
    #[command(alias = "create", alias = "new")]
    Add(UserAddArguments),
    /// List users
    #[command(alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Disable a user, or enable them again with --undo
    ///
    /// Every session and token of theirs is refused at once. Their skills stay.
    Disable {
        /// The user, by name, e-mail address or id
        user: String,
        /// Enable the user again
        #[arg(long)]
        undo: bool,
    },
    /// Set the password of a user; their sessions end, their tokens stay
    #[command(alias = "password")]
    Passwd {
        /// The user, by name, e-mail address or id
        user: String,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Create a link by which a user sets a password, such as one who lost theirs; good for a day
    Link {
        /// The user, by name, e-mail address or id
        user: String,
    },
    /// Create a link by which somebody creates their account; good for a week
    ///
    /// The settings must let people with a link register: `accounts.registration = "invited"`.
    Invite {
        /// Let the user manage users and the server
        #[arg(long)]
        admin: bool,
    },
    /// Delete a user with all their skills and files
    #[command(alias = "rm", alias = "remove")]
    Delete {
        /// The user, by name, e-mail address or id
        user: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct UserAddArguments {
    /// The user's name: 3 to 64 letters, digits, `.`, `_` or `-`
    #[arg(value_parser = Username::new)]
    pub(crate) name: Username,
    /// The user's e-mail address
    #[arg(long, value_name = "ADDRESS", value_parser = Email::new)]
    pub(crate) email: Email,
    /// Let the user manage users and the server
    #[arg(long)]
    pub(crate) admin: bool,
    #[command(flatten)]
    pub(crate) password: NewPassword,
    #[arg(from_global)]
    pub(crate) json: bool,
}

/// The password of a new user; without either, it is asked for.
#[derive(Debug, Args)]
pub(crate) struct NewPassword {
    /// Read the password from standard input
    #[arg(long)]
    pub(crate) password_stdin: bool,
    /// Create them without a password: they sign in by the company's provider
    #[arg(long, conflicts_with = "password_stdin")]
    pub(crate) no_password: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TeamCommand {
    /// Create a team with its first maintainer
    #[command(alias = "create", alias = "new")]
    Add {
        /// The team's name: 2 to 40 lower-case letters, digits and single hyphens
        #[arg(value_parser = TeamName::new)]
        name: TeamName,
        /// The user who manages the team, by name, e-mail address or id
        #[arg(long, value_name = "USER")]
        maintainer: String,
        #[arg(from_global)]
        json: bool,
    },
    /// List teams with their members
    #[command(alias = "ls")]
    List {
        #[arg(from_global)]
        json: bool,
    },
    /// Rename a team
    Rename {
        /// The team, by name or id
        team: String,
        /// Its new name
        #[arg(value_parser = TeamName::new)]
        name: TeamName,
    },
    /// Add a user to a team, or change the role of a member
    AddMember {
        /// The team, by name or id
        team: String,
        /// The user, by name, e-mail address or id
        user: String,
        /// Let the user change the team's skills and manage the team
        #[arg(long)]
        maintainer: bool,
    },
    /// Remove a user from a team
    RemoveMember {
        /// The team, by name or id
        team: String,
        /// The user, by name, e-mail address or id
        user: String,
    },
    /// Delete a team with all its skills
    #[command(alias = "rm", alias = "remove")]
    Delete {
        /// The team, by name or id
        team: String,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create an API token of a user; it is shown this once
    #[command(alias = "add", alias = "new")]
    Create(TokenCreateArguments),
    /// List the API tokens of a user
    #[command(alias = "ls")]
    List {
        /// The user, by name, e-mail address or id
        #[arg(long)]
        user: String,
        #[arg(from_global)]
        json: bool,
    },
    /// Revoke an API token; it is refused at once
    #[command(alias = "rm", alias = "delete")]
    Revoke {
        /// The id of the token, which `gongfu token list` shows
        id: String,
        /// The user, by name, e-mail address or id
        #[arg(long)]
        user: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct TokenCreateArguments {
    /// The user, by name, e-mail address or id
    #[arg(long)]
    pub(crate) user: String,
    /// A name for the token, such as the machine that uses it
    #[arg(long)]
    pub(crate) name: String,
    /// A permission of the token [default: skills:read, skills:write and skills:run]
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',')]
    pub(crate) scopes: Vec<Scope>,
    /// The only skills that it reaches, by full name; `pdf-tools` is short for `own/pdf-tools` [default: all]
    #[arg(long = "skill", value_name = "SKILL", value_delimiter = ',')]
    pub(crate) skills: Vec<String>,
    /// The profile of tools of its connections [default: the server's]
    #[arg(long)]
    pub(crate) profile: Option<Profile>,
    /// Expires after so long, such as 12h or 30d, or at a time such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "AGE|TIME")]
    pub(crate) expires: Option<String>,
    /// The global flag says it: print the token alone
    #[arg(from_global)]
    pub(crate) quiet: bool,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Verify that no entry of any audit was changed or removed; exit 1 if one was
    ///
    /// Each audit is a chain of hashes. The last entries can be cut off without breaking it, so keep the heads that
    /// --json prints somewhere else, and compare them.
    Verify {
        #[arg(from_global)]
        json: bool,
    },
    /// Print audits as JSON lines, with the number and the hash of each entry
    Export {
        /// Only the audit of this user [default: that of the server, and of all users]
        #[arg(long)]
        user: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The folder of the backup, which must be new or empty
    #[arg(value_name = "DIR")]
    pub(crate) folder: std::path::PathBuf,
    #[arg(from_global)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArguments {
    /// The folder that `gongfu backup` wrote
    #[arg(value_name = "DIR")]
    pub(crate) folder: std::path::PathBuf,
    #[arg(from_global)]
    pub(crate) json: bool,
}
