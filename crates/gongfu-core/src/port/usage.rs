//! Tokens of models, and their cost.

use serde::{Deserialize, Serialize};

/// Tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Those of the request.
    pub input: u64,
    /// Those of the request that came from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Those of the answer.
    pub output: u64,
    /// Their cost in billionths of a dollar, in JSON in dollars; 0 where no price is known.
    #[serde(default, with = "dollars", skip_serializing_if = "is_zero")]
    pub cost: u64,
}

/// The price of a model, in dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// Of a request.
    pub input: f64,
    /// Of a request's tokens that came from the provider's cache.
    pub cached: f64,
    /// Of an answer.
    pub output: f64,
}

impl Price {
    /// The cost of these tokens, in billionths of a dollar.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float converts to the nearest number that there is"
    )]
    pub fn cost(self, usage: Usage) -> u64 {
        let of = |tokens: u64, price: f64| tokens as f64 * price * 1_000.0;
        let read = usage.input.saturating_sub(usage.cached);
        let all = of(read, self.input) + of(usage.cached, self.cached);
        (all + of(usage.output, self.output)).round() as u64
    }
}

/// Billionths of a dollar, as dollars in JSON.
mod dollars {
    use serde::{Deserialize as _, Deserializer, Serializer};

    const UNIT: f64 = 1e9;

    #[expect(
        clippy::cast_precision_loss,
        clippy::trivially_copy_pass_by_ref,
        reason = "serde hands a reference, and costs are small"
    )]
    pub(super) fn serialize<S: Serializer>(cost: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*cost as f64 / UNIT)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float converts to the nearest number that there is"
    )]
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        f64::deserialize(deserializer).map(|dollars| (dollars * UNIT).round() as u64)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl Usage {
    /// The tokens of a request and its answer.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.cached = self.cached.saturating_add(other.cached);
        self.output = self.output.saturating_add(other.output);
        self.cost = self.cost.saturating_add(other.cost);
    }
}

#[cfg(test)]
mod tests {
    use super::{Price, Usage};

    #[test]
    fn cost_is_of_all_tokens_and_survives_json() {
        let price = Price {
            input: 3.0,
            cached: 0.3,
            output: 15.0,
        };
        let mut usage = Usage {
            input: 1_000,
            cached: 400,
            output: 10,
            cost: 0,
        };
        assert_eq!(serde_json::to_value(usage).unwrap().get("cost"), None);
        usage.cost = price.cost(usage);
        // 600 × 3 + 400 × 0.3 + 10 × 15 millionths of a dollar.
        assert_eq!(usage.cost, 2_070_000);
        let text = serde_json::to_string(&usage).unwrap();
        assert!(text.ends_with("\"cost\":0.00207}"), "{text}");
        assert_eq!(serde_json::from_str::<Usage>(&text).unwrap(), usage);
    }
}
