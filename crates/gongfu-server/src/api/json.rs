//! JSON of strangers: UTF-8, no key twice in an object, not too deep.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The most arrays and objects inside each other.
const MAX_DEPTH: usize = 32;

/// Reads an object.
///
/// # Errors
/// The reason why it isn't one, for people.
pub(super) fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the body isn't UTF-8".to_owned())?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let depth = Cell::new(0);
    let value = Strict(&depth)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value))
        .map_err(|error| format!("the body isn't JSON: {error}"))?;
    match value {
        Value::Object(object) => Ok(object),
        _ => Err("the body isn't a JSON object".to_owned()),
    }
}

/// A value at a depth.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<usize>);

impl Strict<'_> {
    fn deeper<T, E: serde::de::Error>(
        self,
        read: impl FnOnce(Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let depth = self.0.get() + 1;
        if depth > MAX_DEPTH {
            return Err(E::custom(format!("it is deeper than {MAX_DEPTH} levels")));
        }
        self.0.set(depth);
        let read = read(self);
        self.0.set(depth - 1);
        read
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // 5.0 is an integer (JSON Schema, section 6.1.1).
        let text = format!("{value}");
        if let Ok(whole) = text.parse::<i64>() {
            return Ok(whole.into());
        }
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.deeper(|inner| {
            let mut all = Vec::new();
            while let Some(item) = items.next_element_seed(inner)? {
                all.push(item);
            }
            Ok(Value::Array(all))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.deeper(|inner| {
            let mut all = Map::new();
            while let Some(key) = entries.next_key::<String>()? {
                let value = entries.next_value_seed(inner)?;
                if all.insert(key, value).is_some() {
                    return Err(A::Error::custom("a key is there twice"));
                }
            }
            Ok(Value::Object(all))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_DEPTH, object};

    #[test]
    fn objects_are_read_strictly() {
        let read = object(br#" {"a": [1.0, -2, 0.5, "x", null, true], "b": {"a": {}}} "#).unwrap();
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(text, r#"{"a":[1,-2,0.5,"x",null,true],"b":{"a":{}}}"#);
        let nested = |depth: usize| {
            let (open, close) = ("[".repeat(depth - 1), "]".repeat(depth - 1));
            object(format!(r#"{{"a":{open}{close}}}"#).as_bytes())
        };
        assert!(nested(MAX_DEPTH).is_ok());
        for (wrong, why) in [
            (&br#"{"a":1,"a":2}"#[..], "twice"),
            (br#"{"b":{"a":1,"\u0061":2}}"#, "twice"),
            (b"[]", "object"),
            (b"", "JSON"),
            (b"{} {}", "JSON"),
            (b"{\"a\":\"\xff\"}", "UTF-8"),
            (b"{\"a\":1,}", "JSON"),
            (b"{\"a\":NaN}", "JSON"),
            (b"\xef\xbb\xbf{}", "JSON"),
        ] {
            let refused = object(wrong).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(nested(MAX_DEPTH + 1).unwrap_err().contains("deeper"));
        assert!(nested(100_000).is_err());
    }
}
