//! Names of files as JSON: text, or numbers where a name is no text.

use std::ffi::{CStr, CString};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize as _, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) fn serialize<S: Serializer>(name: &CStr, serializer: S) -> Result<S::Ok, S::Error> {
    match name.to_str() {
        Ok(text) => text.serialize(serializer),
        Err(_) => name.to_bytes().serialize(serializer),
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CString, D::Error> {
    let name = match Name::deserialize(deserializer)? {
        Name::Text(text) => CString::new(text),
        Name::Bytes(bytes) => CString::new(bytes),
    };
    name.map_err(D::Error::custom)
}
