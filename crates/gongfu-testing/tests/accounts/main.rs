//! Accounts over records in memory: users, sign-ins, API tokens, and who a credential is.
#![expect(clippy::unwrap_used, reason = "a test fails on what can't happen")]

mod durable;
mod fixture;
mod sign_in;
mod skills;
mod token;
mod user;
