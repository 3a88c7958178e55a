//! Accounts over records in memory: users, sign-ins, API tokens, and who a credential is.
#![expect(clippy::unwrap_used, reason = "a test fails on what can't happen")]

mod browser;
mod durable;
mod fixture;
mod newcomer;
mod oauth;
mod sign_in;
mod skills;
mod sso;
mod team;
mod token;
mod user;
