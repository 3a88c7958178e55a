//! The whole program from outside: started as a person or a client starts it, judged by what it says.
//!
//! Knows no type of gongfu: only its command line, its files and the protocol.

#[cfg(target_os = "linux")]
#[cfg(test)]
mod accounts;
mod add;
mod adopt;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod agent_context;
#[cfg(test)]
mod approve;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod built_in;
#[cfg(test)]
mod catalogue;
#[cfg(test)]
mod cli;
#[cfg(test)]
mod client;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod confined;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod connection;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod content_of_servers;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod distrust;
#[cfg(test)]
mod fixture;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod foreign_approval;
#[cfg(test)]
mod grant;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod http;
mod layer;
#[cfg(test)]
mod live;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod local_user;
#[cfg(test)]
mod many;
#[cfg(test)]
mod operator;
mod project;
#[cfg(test)]
mod protocol;
#[cfg(test)]
mod publication;
#[cfg(test)]
mod run;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod sets;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod shared_servers;
#[cfg(test)]
mod site;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod skills_of_servers;
#[cfg(test)]
mod skills_words;
#[cfg(test)]
mod stdio;
#[cfg(test)]
mod story;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod tool_script;
#[cfg(target_os = "linux")]
#[cfg(test)]
mod trust;
#[cfg(test)]
mod uninstall;
mod update;
